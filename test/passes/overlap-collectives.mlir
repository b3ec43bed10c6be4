// RUN: tgpt-opt %s --dist-overlap-collectives -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --dist-overlap-collectives="window=4" -split-input-file | FileCheck %s --check-prefix=WINDOW
// RUN: tgpt-opt %s --dist-overlap-collectives="prefetch=1" -split-input-file | FileCheck %s --check-prefix=PREFETCH
// RUN: tgpt-opt %s --dist-overlap-collectives --tgpt-pass-statistics -split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNTS

// COUNTS: dist-overlap-collectives
// COUNTS-NEXT: {{^ +}}8 started
// COUNTS-NEXT: {{^ +}}2 declined-without-work
// COUNTS-NEXT: {{^ +}}1 declined-across-stages
// COUNTS-NEXT: {{^ +}}1 declined-of-one-rank

// Backward of two column-parallel linears on one input (gate and up): the sum over tp of
// the input's gradient needs both dgrads and neither wgrad, so both run beside it.
// CHECK-LABEL: func.func @column_parallel
// CHECK:      dist.segment backward stage 0 {
// CHECK-NEXT:   %[[UP:.+]] = tgpt.read @up :
// CHECK-NEXT:   %[[GATE:.+]] = tgpt.read @gate :
// CHECK-NEXT:   %[[DX1:.+]] = tgpt.linear_dgrad %{{.+}}, %[[UP]]
// CHECK-NEXT:   %[[DX2:.+]] = tgpt.linear_dgrad %{{.+}}, %[[GATE]]
// CHECK-NEXT:   %[[ADDENDS:.+]] = tgpt.add %[[DX1]], %[[DX2]]
// CHECK-NEXT:   %[[PENDING:.+]] = dist.all_reduce sum %[[ADDENDS]] over ["tp"] : {{.+}} to !dist.pending<tensor<2x4x8xf32, #dist.layout<[-, -, -], of = [2, 4, 8]>>>
// CHECK-NEXT:   %[[DUP:.+]] = tgpt.linear_wgrad
// CHECK-NEXT:   tgpt.accumulate %[[DUP]], @up.gradient
// CHECK-NEXT:   %[[DGATE:.+]] = tgpt.linear_wgrad
// CHECK-NEXT:   tgpt.accumulate %[[DGATE]], @gate.gradient
// CHECK-NEXT:   %[[DX:.+]] = dist.wait %[[PENDING]]
// CHECK-NEXT:   tgpt.gelu_grad %[[DX]]
// With a window of 4 the first wgrad is out of reach.
// WINDOW-LABEL: func.func @column_parallel
// WINDOW:      tgpt.linear_dgrad
// WINDOW-NEXT: tgpt.linear_wgrad
// WINDOW-NEXT: tgpt.accumulate {{.*}} @up.gradient
// WINDOW-NEXT: tgpt.linear_dgrad
// WINDOW-NEXT: tgpt.add
// WINDOW-NEXT: dist.all_reduce {{.+}} to !dist.pending
// WINDOW-NEXT: tgpt.linear_wgrad
// WINDOW-NEXT: tgpt.accumulate {{.*}} @gate.gradient
// WINDOW-NEXT: dist.wait
!dy = tensor<2x4x3xf32, #dist.layout<[-, -, tp], of = [2, 4, 6]>>
!w = tensor<3x8xf32, #dist.layout<[tp, -], of = [6, 8]>>
!x = tensor<2x4x8xf32, #dist.layout<[-, -, -], of = [2, 4, 8]>>
!addends = tensor<2x4x8xf32, #dist.layout<[-, -, -], partial = [tp], of = [2, 4, 8]>>
module {
  dist.mesh @mesh (tp = 2)
  tgpt.parameter @up : !w = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @gate : !w = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @up.gradient of @up : !w {transient}
  tgpt.state gradient @gate.gradient of @gate : !w {transient}
  func.func @column_parallel(%dup: !dy, %dgate: !dy, %x: !x) {
    %0 = dist.segment backward stage 0 {
      %up = tgpt.read @up : !w
      %gate = tgpt.read @gate : !w
      %dx1 = tgpt.linear_dgrad %dup, %up : (!dy, !w) -> !addends
      %dw1 = tgpt.linear_wgrad %dup, %x : (!dy, !x) -> !w
      tgpt.accumulate %dw1, @up.gradient : !w
      %dx2 = tgpt.linear_dgrad %dgate, %gate : (!dy, !w) -> !addends
      %addends = tgpt.add %dx1, %dx2 : (!addends, !addends) -> !addends
      %dw2 = tgpt.linear_wgrad %dgate, %x : (!dy, !x) -> !w
      tgpt.accumulate %dw2, @gate.gradient : !w
      %dx = dist.all_reduce sum %addends over ["tp"] : !addends to !x
      %dz = tgpt.gelu_grad %dx, %x : (!x, !x) -> !x
      dist.yield %dz : !x
    } : !x
    return
  }
}

// -----

// Forward of a row-parallel linear: all that follows needs the sum, so it stays whole.
// CHECK-LABEL: func.func @row_parallel
// CHECK:      tgpt.linear
// CHECK-NEXT: %[[SUM:.+]] = dist.all_reduce sum %{{.+}} over ["tp"] : {{.+}} to tensor<
// CHECK-NEXT: tgpt.add %{{.+}}, %[[SUM]]
!h = tensor<2x4x3xf32, #dist.layout<[-, -, tp], of = [2, 4, 6]>>
!w = tensor<8x3xf32, #dist.layout<[-, tp], of = [8, 6]>>
!x = tensor<2x4x8xf32, #dist.layout<[-, -, -], of = [2, 4, 8]>>
!addends = tensor<2x4x8xf32, #dist.layout<[-, -, -], partial = [tp], of = [2, 4, 8]>>
module {
  dist.mesh @mesh (tp = 2)
  tgpt.parameter @down : !w = #tgpt.init<mean = 0.0, stddev = 0.02>
  func.func @row_parallel(%h: !h, %x: !x) {
    %0 = dist.segment forward stage 0 {
      %down = tgpt.read @down : !w
      %y = tgpt.linear %h, %down : (!h, !w) -> !addends
      %sum = dist.all_reduce sum %y over ["tp"] : !addends to !x
      %out = tgpt.add %x, %sum : (!x, !x) -> !x
      dist.yield %out : !x
    } : !x
    return
  }
}

// -----

// The update sums gradients that were there before: the squares of one are taken while
// the next two are summed, or with a prefetch of 1 no more than needed to keep the stream busy.
// CHECK-LABEL: func.func @gradients
// CHECK:      %[[GA:.+]] = tgpt.read @a.gradient
// CHECK-NEXT: %[[A:.+]] = dist.all_reduce sum %[[GA]] over ["dp"] : {{.+}} to tensor<
// CHECK-NEXT: %[[GB:.+]] = tgpt.read @b.gradient
// CHECK-NEXT: %[[PB:.+]] = dist.all_reduce sum %[[GB]] over ["dp"] : {{.+}} to !dist.pending
// CHECK-NEXT: %[[GC:.+]] = tgpt.read @c.gradient
// CHECK-NEXT: %[[PC:.+]] = dist.all_reduce sum %[[GC]] over ["dp"] : {{.+}} to !dist.pending
// CHECK-NEXT: tgpt.sum_squares %[[A]]
// CHECK-NEXT: %[[B:.+]] = dist.wait %[[PB]]
// CHECK-NEXT: tgpt.sum_squares %[[B]]
// CHECK-NEXT: %[[C:.+]] = dist.wait %[[PC]]
// CHECK-NEXT: tgpt.sum_squares %[[C]]
// PREFETCH-LABEL: func.func @gradients
// PREFETCH:      tgpt.read @a.gradient
// PREFETCH-NEXT: dist.all_reduce {{.+}} to tensor<
// PREFETCH-NEXT: tgpt.read @b.gradient
// PREFETCH-NEXT: %[[PB:.+]] = dist.all_reduce {{.+}} to !dist.pending
// PREFETCH-NEXT: tgpt.sum_squares
// PREFETCH-NEXT: tgpt.read @c.gradient
// PREFETCH-NEXT: %[[PC:.+]] = dist.all_reduce {{.+}} to !dist.pending
// PREFETCH-NEXT: dist.wait %[[PB]]
// PREFETCH-NEXT: tgpt.sum_squares
// PREFETCH-NEXT: dist.wait %[[PC]]
// PREFETCH-NEXT: tgpt.sum_squares
!w = tensor<6xf32, #dist.layout<[-], of = [6]>>
!addends = tensor<6xf32, #dist.layout<[-], partial = [dp], of = [6]>>
!scalar = tensor<f32, #dist.layout<[], of = []>>
module {
  dist.mesh @mesh (dp = 2)
  tgpt.parameter @a : !w = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @b : !w = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @c : !w = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @a.gradient of @a : !addends {transient}
  tgpt.state gradient @b.gradient of @b : !addends {transient}
  tgpt.state gradient @c.gradient of @c : !addends {transient}
  func.func @gradients() {
    %0 = dist.segment update stage 0 {
      %ga = tgpt.read @a.gradient : !addends
      %a = dist.all_reduce sum %ga over ["dp"] : !addends to !w
      %sa = tgpt.sum_squares %a : (!w) -> !scalar
      %gb = tgpt.read @b.gradient : !addends
      %b = dist.all_reduce sum %gb over ["dp"] : !addends to !w
      %sb = tgpt.sum_squares %b : (!w) -> !scalar
      %gc = tgpt.read @c.gradient : !addends
      %c = dist.all_reduce sum %gc over ["dp"] : !addends to !w
      %sc = tgpt.sum_squares %c : (!w) -> !scalar
      %s = tgpt.add_n %sa, %sb, %sc : (!scalar, !scalar, !scalar) -> !scalar
      dist.yield %s : !scalar
    } : !scalar
    return
  }
}

// -----

// A sum that is only added to a state is waited for, and added, behind what comes next:
// up to the next use of that state, which keeps its place.
// CHECK-LABEL: func.func @put_off
// CHECK:      %[[DW:.+]] = tgpt.linear_wgrad
// CHECK-NEXT: %[[P:.+]] = dist.reduce_scatter %[[DW]] dim 0 over ["dp"] : {{.+}} to !dist.pending
// CHECK-NEXT: tgpt.gelu_grad
// CHECK-NEXT: tgpt.gelu_grad
// CHECK-NEXT: %[[PIECE:.+]] = dist.wait %[[P]]
// CHECK-NEXT: tgpt.accumulate %[[PIECE]], @w.gradient
// CHECK-NEXT: tgpt.read @w.gradient
!dy = tensor<2x4x6xf32, #dist.layout<[dp, -, -], of = [4, 4, 6]>>
!x = tensor<2x4x8xf32, #dist.layout<[dp, -, -], of = [4, 4, 8]>>
!w = tensor<6x8xf32, #dist.layout<[-, -], of = [6, 8]>>
!addends = tensor<6x8xf32, #dist.layout<[-, -], partial = [dp], of = [6, 8]>>
!piece = tensor<3x8xf32, #dist.layout<[dp, -], of = [6, 8]>>
module {
  dist.mesh @mesh (dp = 2)
  tgpt.parameter @w : !w = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @w.gradient of @w : !piece {transient}
  func.func @put_off(%dy: !dy, %x: !x) {
    %0:2 = dist.segment backward stage 0 {
      %dw = tgpt.linear_wgrad %dy, %x : (!dy, !x) -> !addends
      %piece = dist.reduce_scatter %dw dim 0 over ["dp"] : !addends to !piece
      tgpt.accumulate %piece, @w.gradient : !piece
      %dz = tgpt.gelu_grad %dy, %dy : (!dy, !dy) -> !dy
      %du = tgpt.gelu_grad %dz, %dy : (!dy, !dy) -> !dy
      %now = tgpt.read @w.gradient : !piece
      dist.yield %du, %now : !dy, !piece
    } : !dy, !piece
    return
  }
}

// -----

// While a state is summed it must not change: the wait stays ahead of the accumulation,
// though nothing uses the sum before the end.
// CHECK-LABEL: func.func @state_in_flight
// CHECK:      %[[G:.+]] = tgpt.read @m
// CHECK-NEXT: %[[P:.+]] = dist.all_reduce sum %[[G]] over ["dp"] : {{.+}} to !dist.pending
// CHECK-NEXT: %[[S:.+]] = tgpt.sum_squares
// CHECK-NEXT: %[[SUM:.+]] = dist.wait %[[P]]
// CHECK-NEXT: tgpt.accumulate %[[S]], @m
// CHECK-NEXT: tgpt.gelu
// CHECK-NEXT: dist.yield %[[SUM]]
!x = tensor<4xf32, #dist.layout<[dp], of = [8]>>
!addends = tensor<f32, #dist.layout<[], partial = [dp], of = []>>
!scalar = tensor<f32, #dist.layout<[], of = []>>
module {
  dist.mesh @mesh (dp = 2)
  tgpt.state metric @m : !addends {transient}
  func.func @state_in_flight(%x: !x) {
    %0:2 = dist.segment update stage 0 {
      %g = tgpt.read @m : !addends
      %sum = dist.all_reduce sum %g over ["dp"] : !addends to !scalar
      %s = tgpt.sum_squares %x : (!x) -> !addends
      tgpt.accumulate %s, @m : !addends
      %y = tgpt.gelu %x : (!x) -> !x
      dist.yield %sum, %y : !scalar, !x
    } : !scalar, !x
    return
  }
}

// -----

// Under sequence parallelism the kept input is gathered for the wgrad: that runs beside
// the dgrad, and the wgrad beside the scattered sum.
// CHECK-LABEL: func.func @sequence_parallel
// CHECK:      %[[PX:.+]] = dist.all_gather %{{.+}} dim 1 over ["tp"] : {{.+}} to !dist.pending
// CHECK-NEXT: tgpt.read @w
// CHECK-NEXT: %[[DX:.+]] = tgpt.linear_dgrad
// CHECK-NEXT: %[[PDX:.+]] = dist.reduce_scatter %[[DX]] dim 1 over ["tp"] : {{.+}} to !dist.pending
// CHECK-NEXT: %[[X:.+]] = dist.wait %[[PX]]
// CHECK-NEXT: %[[DW:.+]] = tgpt.linear_wgrad %{{.+}}, %[[X]]
// CHECK-NEXT: tgpt.accumulate %[[DW]]
// CHECK-NEXT: %[[SHARD:.+]] = dist.wait %[[PDX]]
// CHECK-NEXT: tgpt.gelu_grad %[[SHARD]]
!dy = tensor<2x4x3xf32, #dist.layout<[-, -, tp], of = [2, 4, 6]>>
!w = tensor<3x8xf32, #dist.layout<[tp, -], of = [6, 8]>>
!x = tensor<2x4x8xf32, #dist.layout<[-, -, -], of = [2, 4, 8]>>
!shard = tensor<2x2x8xf32, #dist.layout<[-, tp, -], of = [2, 4, 8]>>
!addends = tensor<2x4x8xf32, #dist.layout<[-, -, -], partial = [tp], of = [2, 4, 8]>>
module {
  dist.mesh @mesh (tp = 2)
  tgpt.parameter @w : !w = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @w.gradient of @w : !w {transient}
  func.func @sequence_parallel(%dy: !dy, %kept: !shard) {
    %0 = dist.segment backward stage 0 {
      %w = tgpt.read @w : !w
      %dx = tgpt.linear_dgrad %dy, %w : (!dy, !w) -> !addends
      %x = dist.all_gather %kept dim 1 over ["tp"] : !shard to !x
      %dw = tgpt.linear_wgrad %dy, %x : (!dy, !x) -> !w
      tgpt.accumulate %dw, @w.gradient : !w
      %sum = dist.reduce_scatter %dx dim 1 over ["tp"] : !addends to !shard
      %dz = tgpt.gelu_grad %sum, %kept : (!shard, !shard) -> !shard
      dist.yield %dz : !shard
    } : !shard
    return
  }
}

// -----

// Over "pp" nothing is started, and a group of one rank has nothing to exchange.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: dist.pending
// CHECK: return
!x = tensor<4xf32, #dist.layout<[-], of = [4]>>
!scalar = tensor<f32, #dist.layout<[], of = []>>
!addend = tensor<f32, #dist.layout<[], partial = [pp], of = []>>
!tpaddend = tensor<f32, #dist.layout<[], partial = [tp], of = []>>
module {
  dist.mesh @mesh (pp = 2, tp = 1)
  func.func @whole(%a: !addend, %b: !tpaddend, %x: !x) {
    %0:3 = dist.segment update stage 0 {
      %1 = dist.all_reduce sum %a over ["pp"] : !addend to !scalar
      %2 = dist.all_reduce sum %b over ["tp"] : !tpaddend to !scalar
      %3 = tgpt.gelu %x : (!x) -> !x
      dist.yield %1, %2, %3 : !scalar, !scalar, !x
    } : !scalar, !scalar, !x
    return
  }
}

// -----

// What the next stage waits for is not held back, though work could run beside it.
// CHECK-LABEL: func.func @sent
// CHECK:      tgpt.linear_dgrad
// CHECK-NEXT: dist.all_reduce {{.+}} to !dist.pending
// CHECK-NEXT: tgpt.gelu
// CHECK-NEXT: tgpt.linear_wgrad
// CHECK-NEXT: tgpt.accumulate
// CHECK-NEXT: dist.wait
// CHECK-NEXT: tgpt.sum_squares
!dy = tensor<2x4x3xf32, #dist.layout<[-, -, tp], of = [2, 4, 6]>>
!w = tensor<3x8xf32, #dist.layout<[tp, -], of = [6, 8]>>
!x = tensor<2x4x8xf32, #dist.layout<[-, -, -], of = [2, 4, 8]>>
!addends = tensor<2x4x8xf32, #dist.layout<[-, -, -], partial = [tp], of = [2, 4, 8]>>
!scalar = tensor<f32, #dist.layout<[], of = []>>
module {
  dist.mesh @mesh (pp = 2, tp = 2)
  tgpt.parameter @w : !w = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @w.gradient of @w : !w {transient}
  func.func @sent(%dy: !dy, %x: !x) {
    %0:2 = dist.segment backward stage 1 {
      %w = tgpt.read @w : !w
      %g = tgpt.gelu %x : (!x) -> !x
      %dx = tgpt.linear_dgrad %dy, %w : (!dy, !w) -> !addends
      %dw = tgpt.linear_wgrad %dy, %g : (!dy, !x) -> !w
      tgpt.accumulate %dw, @w.gradient : !w
      %sum = dist.all_reduce sum %dx over ["tp"] : !addends to !x
      %s = tgpt.sum_squares %x : (!x) -> !scalar
      dist.yield %sum, %s : !x, !scalar
    } : !x, !scalar
    %1 = dist.send_recv %0#0 from 1 to 0 : !x
    return
  }
}
