// RUN: tgpt-opt %s --dist-split-weight-gradients -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --dist-split-weight-gradients --tgpt-pass-statistics -split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNTS
// RUN: tgpt-opt %s --dist-split-weight-gradients -split-input-file --remarks-filter=dist-split-weight-gradients --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Bytes: what was received and what the forward kept is there anyway; a tensor of 2x4x8 f32 has 256, the norm's gradient 32.
// REMARK-DAG: remark: [Analysis] weight-gradient | Category:dist-split-weight-gradients | chunk=1, keptBytesPerMicroBatch=0, opsMoved=4, stage=0
// REMARK-DAG: remark: [Analysis] weight-gradient | Category:dist-split-weight-gradients | chunk=0, keptBytesPerMicroBatch=288, opsMoved=4, stage=0

// COUNTS: dist-split-weight-gradients
// COUNTS-NEXT: {{^ +}}5 backwards-split
// COUNTS-NEXT: {{^ +}}3 declined-whole
// COUNTS-NEXT: {{^ +}}17 ops-moved
// COUNTS-NEXT: {{^ +}}5 values-kept

// The gradients of weight and bias are put off; the input's, which is sent on, is not. What was received may be used later.
// CHECK-LABEL: func.func @linear_with_bias
// CHECK:      %[[DY:.+]] = dist.send_recv
// CHECK:      %[[DX:.+]] = dist.segment backward stage 0 chunk 1 {
// CHECK-NEXT:   %[[W:.+]] = tgpt.read @w
// CHECK-NEXT:   %[[D:.+]] = tgpt.linear_dgrad %[[DY]], %[[W]]
// CHECK-NEXT:   dist.yield %[[D]]
// CHECK-NEXT: } : tensor<2x4x8xf32>
// CHECK-NEXT: dist.segment weight_gradient stage 0 chunk 1 {
// CHECK-NEXT:   %[[DW:.+]] = tgpt.linear_wgrad %[[DY]], %arg0
// CHECK-NEXT:   tgpt.accumulate %[[DW]], @w.gradient
// CHECK-NEXT:   %[[DB:.+]] = tgpt.sum_leading %[[DY]]
// CHECK-NEXT:   tgpt.accumulate %[[DB]], @b.gradient
// CHECK-NEXT: }
// CHECK-NEXT: dist.send_recv %[[DX]] from 0 chunk 1 to 1
module {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  tgpt.parameter @w : tensor<6x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @b : tensor<6xf32> = #tgpt.init<mean = 0.0, stddev = 0.0>
  tgpt.state gradient @w.gradient of @w : tensor<6x8xf32> {transient}
  tgpt.state gradient @b.gradient of @b : tensor<6xf32> {transient}
  func.func @linear_with_bias(%x: tensor<2x4x8xf32>, %y: tensor<2x4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = dist.segment backward stage 1 chunk 1 {
      %1 = tgpt.gelu %y : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
      dist.yield %1 : tensor<2x4x6xf32>
    } : tensor<2x4x6xf32>
    %dy = dist.send_recv %0 from 1 chunk 1 to 0 chunk 1 : tensor<2x4x6xf32>
    %2 = dist.segment backward stage 0 chunk 1 {
      %w = tgpt.read @w : tensor<6x8xf32>
      %dw = tgpt.linear_wgrad %dy, %x : (tensor<2x4x6xf32>, tensor<2x4x8xf32>) -> tensor<6x8xf32>
      tgpt.accumulate %dw, @w.gradient : tensor<6x8xf32>
      %db = tgpt.sum_leading %dy : (tensor<2x4x6xf32>) -> tensor<6xf32>
      tgpt.accumulate %db, @b.gradient : tensor<6xf32>
      %dx = tgpt.linear_dgrad %dy, %w : (tensor<2x4x6xf32>, tensor<6x8xf32>) -> tensor<2x4x8xf32>
      dist.yield %dx : tensor<2x4x8xf32>
    } : tensor<2x4x8xf32>
    %3 = dist.send_recv %2 from 0 chunk 1 to 1 : tensor<2x4x8xf32>
    return
  }
}

// -----

// What the backward computes and the gradient uses is kept. Under ZeRO the norm's gradient is packed with the linear's, so
// the whole bucket waits for the last of them.
// CHECK-LABEL: func.func @packed
// CHECK:      %[[OUT:.+]]:3 = dist.segment backward stage 0 {
// CHECK:        %[[D:.+]] = tgpt.linear_dgrad
// CHECK-NEXT:   %[[N:.+]]:2 = tgpt.rms_norm_grad
// CHECK-NEXT:   dist.yield %[[N]]#0, %[[D]], %[[N]]#1
// CHECK-NEXT: }
// CHECK-NEXT: dist.segment weight_gradient stage 0 {
// CHECK-NEXT:   %[[DW:.+]] = tgpt.linear_wgrad %[[OUT]]#1, %{{.+}}
// CHECK-NEXT:   %[[P:.+]] = dist.pack %[[DW]], %[[OUT]]#2
// CHECK-NEXT:   %[[R:.+]] = dist.reduce_scatter %[[P]] dim 0 over ["dp"]
// CHECK-NEXT:   tgpt.accumulate %[[R]], @bucket
// CHECK-NEXT: }
!whole = tensor<72xf32, #dist.layout<[-], partial = [dp], of = [72]>>
!piece = tensor<36xf32, #dist.layout<[dp], of = [72]>>
!act = tensor<2x4x8xf32, #dist.layout<[dp, -, -], of = [4, 4, 8]>>
!r = tensor<2x4xf32, #dist.layout<[dp, -], of = [4, 4]>>
!w = tensor<8x8xf32, #dist.layout<[-, -], of = [8, 8]>>
!n = tensor<8xf32, #dist.layout<[-], of = [8]>>
!dw = tensor<8x8xf32, #dist.layout<[-, -], partial = [dp], of = [8, 8]>>
!dn = tensor<8xf32, #dist.layout<[-], partial = [dp], of = [8]>>
module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.parameter @w : !w = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @n : !n = #tgpt.init<mean = 1.0, stddev = 0.0>
  tgpt.state gradient @w.gradient of @w : !dw {transient}
  tgpt.state gradient @n.gradient of @n : !dn {transient}
  tgpt.bucket @bucket of [@w.gradient, @n.gradient] at [0, 64] : !piece
  func.func @packed(%x: !act, %dy: !act, %r: !r) attributes {tgpt.phase = "micro_batch"} {
    %0 = dist.segment backward stage 0 {
      %w = tgpt.read @w : !w
      %n = tgpt.read @n : !n
      %d = tgpt.linear_dgrad %dy, %w : (!act, !w) -> !act
      %dx, %dn = tgpt.rms_norm_grad %d, %x, %n, %r : (!act, !act, !n, !r) -> (!act, !dn)
      %dw = tgpt.linear_wgrad %d, %x : (!act, !act) -> !dw
      %1 = dist.pack %dw, %dn at [0, 64] : !dw, !dn to !whole
      %2 = dist.reduce_scatter %1 dim 0 over ["dp"] : !whole to !piece
      tgpt.accumulate %2, @bucket : !piece
      dist.yield %dx : !act
    } : !act
    return
  }
}

// -----

// Sequence parallelism: the gather of the saved input serves the weight's gradient alone, and what it gathers is there
// already, so it goes along. The gather of dy serves both, so its result is kept.
// CHECK-LABEL: func.func @gathers
// CHECK:      %[[OUT:.+]]:2 = dist.segment backward stage 0 {
// CHECK-NEXT:   tgpt.read @w
// CHECK-NEXT:   %[[DY:.+]] = dist.all_gather %arg1
// CHECK-NEXT:   %[[D:.+]] = tgpt.linear_dgrad %[[DY]]
// CHECK-NEXT:   dist.yield %[[D]], %[[DY]]
// CHECK-NEXT: }
// CHECK-NEXT: dist.segment weight_gradient stage 0 {
// CHECK-NEXT:   %[[X:.+]] = dist.all_gather %arg0
// CHECK-NEXT:   tgpt.linear_wgrad %[[OUT]]#1, %[[X]]
!part = tensor<2x2x8xf32, #dist.layout<[-, tp, -], of = [2, 4, 8]>>
!all = tensor<2x4x8xf32, #dist.layout<[-, -, -], of = [2, 4, 8]>>
!w = tensor<8x8xf32, #dist.layout<[-, -], of = [8, 8]>>
module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 2)
  tgpt.parameter @w : !w = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @w.gradient of @w : !w {transient}
  func.func @gathers(%x: !part, %dy: !part) attributes {tgpt.phase = "micro_batch"} {
    %0 = dist.segment backward stage 0 {
      %w = tgpt.read @w : !w
      %1 = dist.all_gather %x dim 1 over ["tp"] : !part to !all
      %2 = dist.all_gather %dy dim 1 over ["tp"] : !part to !all
      %dw = tgpt.linear_wgrad %2, %1 : (!all, !all) -> !w
      tgpt.accumulate %dw, @w.gradient : !w
      %dx = tgpt.linear_dgrad %2, %w : (!all, !w) -> !all
      dist.yield %dx : !all
    } : !all
    return
  }
}

// -----

// Two gradients of one weight are added to its state in the order they were: the second, which nothing else puts off,
// waits too. A fill that both segments need is repeated.
// CHECK-LABEL: func.func @same_state
// CHECK:      %[[OUT:.+]]:2 = dist.segment backward stage 0 {
// CHECK-NEXT:   %[[ZERO:.+]] = tgpt.fill
// CHECK-NEXT:   %[[G:.+]] = tgpt.gelu
// CHECK-NEXT:   %[[A:.+]] = tgpt.add %[[G]], %[[ZERO]]
// CHECK-NEXT:   dist.yield %[[A]], %[[G]]
// CHECK-NEXT: }
// CHECK-NEXT: dist.segment weight_gradient stage 0 {
// CHECK-NEXT:   %[[AGAIN:.+]] = tgpt.fill
// CHECK-NEXT:   %[[DW:.+]] = tgpt.linear_wgrad
// CHECK-NEXT:   tgpt.accumulate %[[DW]], @w.gradient
// CHECK-NEXT:   tgpt.accumulate %[[OUT]]#1, @w.gradient
// CHECK-NEXT:   %[[S:.+]] = tgpt.add %[[DW]], %[[AGAIN]]
// CHECK-NEXT:   tgpt.accumulate %[[S]], @w.gradient
module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
  tgpt.parameter @w : tensor<8x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @w.gradient of @w : tensor<8x8xf32> {transient}
  func.func @same_state(%x: tensor<2x4x8xf32>, %dy: tensor<2x4x8xf32>, %other: tensor<8x8xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = dist.segment backward stage 0 {
      %zero = tgpt.fill {value = 0.0 : f64} : () -> tensor<8x8xf32>
      %dw = tgpt.linear_wgrad %dy, %x : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<8x8xf32>
      tgpt.accumulate %dw, @w.gradient : tensor<8x8xf32>
      %g = tgpt.gelu %other : (tensor<8x8xf32>) -> tensor<8x8xf32>
      tgpt.accumulate %g, @w.gradient : tensor<8x8xf32>
      %sum = tgpt.add %dw, %zero : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      tgpt.accumulate %sum, @w.gradient : tensor<8x8xf32>
      %a = tgpt.add %g, %zero : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      dist.yield %a : tensor<8x8xf32>
    } : tensor<8x8xf32>
    return
  }
}

// -----

// A gradient that another stage waits for stays, with what it is computed from; what follows from it may wait.
// CHECK-LABEL: func.func @sent_on
// CHECK:      dist.segment backward stage 1 {
// CHECK-NEXT:   %[[DW:.+]] = tgpt.linear_wgrad
// CHECK-NEXT:   dist.yield %[[DW]]
// CHECK-NEXT: }
// CHECK-NEXT: dist.segment weight_gradient stage 1 {
// CHECK-NEXT:   tgpt.accumulate
module {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  tgpt.parameter @w : tensor<8x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @w.gradient of @w : tensor<8x8xf32> {transient}
  func.func @sent_on(%x: tensor<2x4x8xf32>, %dy: tensor<2x4x8xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = dist.segment backward stage 1 {
      %dw = tgpt.linear_wgrad %dy, %x : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<8x8xf32>
      tgpt.accumulate %dw, @w.gradient : tensor<8x8xf32>
      dist.yield %dw : tensor<8x8xf32>
    } : tensor<8x8xf32>
    %1 = dist.send_recv %0 from 1 to 0 : tensor<8x8xf32>
    return
  }
}

// -----

// A backward that does nothing else stays whole (stage 0: an embedding alone), as one that has no parameters (stage 1).
// CHECK-LABEL: func.func @whole
// CHECK-NOT: weight_gradient
module {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  tgpt.parameter @table : tensor<16x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @table.gradient of @table : tensor<16x8xf32> {transient}
  func.func @whole(%tokens: tensor<2x4xi32>, %x: tensor<2x4x8xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = dist.segment backward stage 1 {
      %1 = tgpt.gelu %x : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
      dist.yield %1 : tensor<2x4x8xf32>
    } : tensor<2x4x8xf32>
    %dx = dist.send_recv %0 from 1 to 0 : tensor<2x4x8xf32>
    dist.segment backward stage 0 {
      %dt = tgpt.embedding_grad %tokens, %dx : (tensor<2x4xi32>, tensor<2x4x8xf32>) -> tensor<16x8xf32>
      tgpt.accumulate %dt, @table.gradient : tensor<16x8xf32>
    }
    return
  }
}
