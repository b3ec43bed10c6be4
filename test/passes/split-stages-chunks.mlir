// RUN: split-file %s %t
// RUN: tgpt-opt %t/chain.mlir --dist-split-stages | FileCheck %s --check-prefix=CHAIN
// RUN: tgpt-opt %t/one-stage.mlir --dist-split-stages | FileCheck %s --check-prefix=ALONE
// RUN: tgpt-opt %t/empty.mlir --dist-split-stages | FileCheck %s --check-prefix=EMPTY --implicit-check-not="dist.segment forward" --implicit-check-not="dist.segment backward" --implicit-check-not=send_recv
// RUN: tgpt-opt %t/tied.mlir --dist-split-stages | FileCheck %s --check-prefix=TIED --implicit-check-not=all_reduce
// RUN: tgpt-opt %t/tied-across.mlir --dist-split-stages | FileCheck %s --check-prefix=ACROSS
// RUN: not tgpt-opt %t/against.mlir --dist-split-stages 2>&1 | FileCheck %s --check-prefix=AGAINST

// Layers go to virtual stages in order: stage 0, stage 1, and again with the next chunk.
// A value of a chunk stays for its own backward; to every other chunk it is sent.
// CHAIN: func.func @micro_batch(%[[X:.+]]: tensor
// CHAIN: %[[F0:.+]] = dist.segment forward stage 0 {
// CHAIN-NEXT: gelu %[[X]]
// CHAIN: %[[S0:.+]] = dist.send_recv %[[F0]] from 0 to 1 :
// CHAIN: dist.segment forward stage 1 {
// CHAIN-NEXT: gelu %[[S0]]
// CHAIN: %[[S1:.+]] = dist.send_recv {{.+}} from 1 to 0 chunk 1 :
// CHAIN: dist.segment forward stage 0 chunk 1 {
// CHAIN-NEXT: gelu %[[S1]]
// CHAIN: %[[S2:.+]] = dist.send_recv {{.+}} from 0 chunk 1 to 1 chunk 1 :
// CHAIN: dist.segment forward stage 1 chunk 1 {
// CHAIN: %[[B3:.+]] = dist.segment backward stage 1 chunk 1 {
// CHAIN: gelu_grad %{{.+}}, %[[S2]]
// CHAIN: %[[T3:.+]] = dist.send_recv %[[B3]] from 1 chunk 1 to 0 chunk 1 :
// CHAIN: %[[B2:.+]] = dist.segment backward stage 0 chunk 1 {
// CHAIN-NEXT: gelu_grad %[[T3]], %[[S1]]
// CHAIN: %[[T2:.+]] = dist.send_recv %[[B2]] from 0 chunk 1 to 1 :
// CHAIN: dist.segment backward stage 1 {
// CHAIN-NEXT: gelu_grad %[[T2]], %[[S0]]
// CHAIN: dist.send_recv {{.+}} from 1 to 0 :
// CHAIN: dist.segment backward stage 0 {

// Between chunks of one stage too: each has slots of its own.
// ALONE: dist.segment forward stage 0 {
// ALONE: %[[S0:.+]] = dist.send_recv {{.+}} from 0 to 0 chunk 1 :
// ALONE: dist.segment forward stage 0 chunk 1 {
// ALONE: %[[S1:.+]] = dist.send_recv {{.+}} from 0 chunk 1 to 0 chunk 3 :
// ALONE: dist.segment forward stage 0 chunk 3 {
// ALONE: dist.segment backward stage 0 chunk 3 {
// ALONE: gelu_grad %{{.+}}, %[[S1]]

// Virtual stages without layers have no segments, and values pass them by. What comes
// before the layers is on the first, what comes after them on the last.
// EMPTY: dist.segment forward stage 0 {
// EMPTY: dist.send_recv {{.+}} from 0 to 0 chunk 1 :
// EMPTY: dist.segment forward stage 0 chunk 1 {
// EMPTY: dist.send_recv {{.+}} from 0 chunk 1 to 1 chunk 2 :
// EMPTY: dist.segment forward stage 1 chunk 2 {
// EMPTY: dist.segment backward stage 1 chunk 2 {
// EMPTY: dist.send_recv {{.+}} from 1 chunk 2 to 0 chunk 1 :
// EMPTY: dist.segment backward stage 0 chunk 1 {
// EMPTY: dist.send_recv {{.+}} from 0 chunk 1 to 0 :
// EMPTY: dist.segment backward stage 0 {
// EMPTY: dist.segment update stage 0 {
// EMPTY: dist.segment update stage 1 {

// Two chunks of one stage use one weight: both add to its one gradient.
// TIED: dist.segment backward stage 0 chunk 1 {
// TIED: tgpt.accumulate %{{.+}}, @w.gradient
// TIED: dist.segment backward stage 1 {
// TIED: dist.segment backward stage 0 {
// TIED: tgpt.accumulate %{{.+}}, @w.gradient
// TIED: dist.segment update stage 0 {
// TIED: tgpt.read @w.gradient
// TIED: tgpt.write
// TIED: dist.segment update stage 1 {
// TIED-NOT: @w

// Three of two stages: each stage has the sum of its chunks, and the update adds up those.
// ACROSS: dist.segment backward stage 1 chunk 1 {
// ACROSS: tgpt.accumulate %{{.+}}, @w.gradient
// ACROSS: dist.segment backward stage 0 chunk 1 {
// ACROSS: tgpt.accumulate %{{.+}}, @w.gradient
// ACROSS: dist.segment backward stage 0 {
// ACROSS: tgpt.accumulate %{{.+}}, @w.gradient
// ACROSS: dist.segment update stage 0 {
// ACROSS: dist.all_reduce sum %{{.+}} over ["pp"]
// ACROSS: dist.segment update stage 1 {
// ACROSS: dist.all_reduce sum %{{.+}} over ["pp"]

// AGAINST: error: in the forward, stage 1 uses a value of stage 0 chunk 1, against the direction of the pipeline

//--- chain.mlir
module attributes {dist.stages = array<i64: 1, 1, 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %1 = tgpt.gelu %0 {tgpt.layer = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %2 = tgpt.gelu %1 {tgpt.layer = 2 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %3 = tgpt.gelu %2 {tgpt.layer = 3 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    tgpt.begin_backward
    %4 = tgpt.gelu_grad %3, %3 {tgpt.layer = 4 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %5 = tgpt.gelu_grad %4, %2 {tgpt.layer = 3 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %6 = tgpt.gelu_grad %5, %1 {tgpt.layer = 2 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %7 = tgpt.gelu_grad %6, %0 {tgpt.layer = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %8 = tgpt.gelu_grad %7, %x {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    return
  }
}
//--- one-stage.mlir
module attributes {dist.stages = array<i64: 1, 1, 0, 0>} {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %1 = tgpt.gelu %0 {tgpt.layer = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %2 = tgpt.gelu %1 {tgpt.layer = 2 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    tgpt.begin_backward
    %3 = tgpt.gelu_grad %2, %1 {tgpt.layer = 2 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    return
  }
}
//--- empty.mlir
module attributes {dist.stages = array<i64: 0, 0, 1, 0, 0, 0>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  tgpt.state metric @loss_sum : tensor<f32>
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x {tgpt.layer = -1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %1 = tgpt.gelu %0 {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %2 = tgpt.sum_squares %1 {tgpt.layer = 1 : i64} : (tensor<4x6xf32>) -> tensor<f32>
    tgpt.accumulate %2, @loss_sum {tgpt.layer = 1 : i64} : tensor<f32>
    tgpt.begin_backward
    %3 = tgpt.gelu_grad %1, %1 {tgpt.layer = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %4 = tgpt.gelu_grad %3, %0 {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %5 = tgpt.gelu_grad %4, %x {tgpt.layer = -1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    return
  }
  func.func @update() attributes {tgpt.phase = "update"} {
    %0 = tgpt.read @loss_sum : tensor<f32>
    return
  }
}
//--- tied.mlir
module attributes {dist.stages = array<i64: 1, 1, 1, 0>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  tgpt.parameter @w : tensor<4x6xf32> = #tgpt.init<mean = 0.0, stddev = 1.0>
  tgpt.state gradient @w.gradient of @w : tensor<4x6xf32>
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %w = tgpt.read @w : tensor<4x6xf32>
    %0 = tgpt.gelu %w {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %1 = tgpt.gelu %0 {tgpt.layer = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %2 = tgpt.gelu_grad %1, %w {tgpt.layer = 2 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %last = tgpt.gelu %2 {tgpt.layer = 3 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    tgpt.begin_backward
    %3 = tgpt.gelu_grad %2, %w {tgpt.layer = 2 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %4 = tgpt.gelu_grad %3, %0 {tgpt.layer = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %5 = tgpt.gelu_grad %4, %w {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %6 = tgpt.add %3, %5 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    tgpt.accumulate %6, @w.gradient : tensor<4x6xf32>
    return
  }
  func.func @update() attributes {tgpt.phase = "update"} {
    %0 = tgpt.read @w.gradient : tensor<4x6xf32>
    tgpt.write %0, @w : tensor<4x6xf32>
    return
  }
}
//--- tied-across.mlir
!t = tensor<4x6xf32, #dist.layout<[-, -], of = [4, 6]>>
module attributes {dist.stages = array<i64: 1, 0, 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  tgpt.parameter @w : !t = #tgpt.init<mean = 0.0, stddev = 1.0>
  tgpt.state gradient @w.gradient of @w : !t
  func.func @micro_batch(%x: !t) attributes {tgpt.phase = "micro_batch"} {
    %w = tgpt.read @w : !t
    %0 = tgpt.gelu %w {tgpt.layer = 0 : i64} : (!t) -> !t
    %1 = tgpt.gelu_grad %0, %w {tgpt.layer = 1 : i64} : (!t, !t) -> !t
    %2 = tgpt.gelu_grad %1, %w {tgpt.layer = 2 : i64} : (!t, !t) -> !t
    tgpt.begin_backward
    %3 = tgpt.gelu_grad %2, %w {tgpt.layer = 3 : i64} : (!t, !t) -> !t
    %4 = tgpt.gelu_grad %3, %w {tgpt.layer = 1 : i64} : (!t, !t) -> !t
    %5 = tgpt.gelu_grad %4, %w {tgpt.layer = 0 : i64} : (!t, !t) -> !t
    %6 = tgpt.add %3, %4 : (!t, !t) -> !t
    %7 = tgpt.add %6, %5 : (!t, !t) -> !t
    tgpt.accumulate %7, @w.gradient : !t
    return
  }
  func.func @update() attributes {tgpt.phase = "update"} {
    %0 = tgpt.read @w.gradient : !t
    tgpt.write %0, @w : !t
    return
  }
}
//--- against.mlir
module attributes {dist.stages = array<i64: 1, 1, 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x {tgpt.layer = 2 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %1 = tgpt.gelu %0 {tgpt.layer = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %2 = tgpt.gelu %1 {tgpt.layer = 4 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    tgpt.begin_backward
    return
  }
}
