// RUN: tgpt-opt %s --dist-propagate -split-input-file | FileCheck %s

// A column-parallel and a row-parallel linear: the features between them are sharded, the sum behind them
// is closed before it is added to the whole residual. The gradient state has its parameter's layout and
// stays partial over dp: it is reduced once a step.
dist.mesh @mesh (dp = 2, tp = 3)
// CHECK: tgpt.parameter @up : tensor<12x8xf32, #dist.layout<[tp, -]>>
// CHECK: tgpt.parameter @down : tensor<8x12xf32, #dist.layout<[-, tp]>>
// CHECK: gradient @up.gradient of @up : tensor<12x8xf32, #dist.layout<[tp, -], partial = [dp]>>
tgpt.parameter @up : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> {dist.layout = #dist.layout<[tp, -]>}
tgpt.parameter @down : tensor<8x12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> {dist.layout = #dist.layout<[-, tp]>}
tgpt.state gradient @up.gradient of @up : tensor<12x8xf32> {transient}
// CHECK-LABEL: func.func @micro_batch
// CHECK-SAME: (%[[X:.+]]: tensor<4x6x8xf32, #dist.layout<[dp, -, -]>> {tgpt.name = "x"})
func.func @micro_batch(%x: tensor<4x6x8xf32> {dist.layout = #dist.layout<[dp, -, -]>, tgpt.name = "x"}) attributes {tgpt.phase = "micro_batch"} {
  %up = tgpt.read @up : tensor<12x8xf32>
  // CHECK: %[[U:.+]] = tgpt.linear %[[X]], {{.*}} -> tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>
  %u = tgpt.linear %x, %up : (tensor<4x6x8xf32>, tensor<12x8xf32>) -> tensor<4x6x12xf32>
  // CHECK: %[[G:.+]] = tgpt.gelu %[[U]] : {{.*}} -> tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>
  %g = tgpt.gelu %u : (tensor<4x6x12xf32>) -> tensor<4x6x12xf32>
  %down = tgpt.read @down : tensor<8x12xf32>
  // CHECK: %[[D:.+]] = tgpt.linear %[[G]], %{{[^ ]+}} {tgpt.layer = 5 : i64} : {{.*}} -> tensor<4x6x8xf32, #dist.layout<[dp, -, -], partial = [tp]>>
  %d = tgpt.linear %g, %down {tgpt.layer = 5 : i64} : (tensor<4x6x12xf32>, tensor<8x12xf32>) -> tensor<4x6x8xf32>
  // The reduction belongs to the layer of the op that it ends.
  // CHECK: %[[SUM:.+]] = dist.reshard %[[D]] {tgpt.layer = 5 : i64} : {{.*}} to tensor<4x6x8xf32, #dist.layout<[dp, -, -]>>
  // CHECK: tgpt.add %[[X]], %[[SUM]] {tgpt.layer = 6 : i64}
  %y = tgpt.add %x, %d {tgpt.layer = 6 : i64} : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  // A second use shares the reduction, in the backward too.
  // CHECK: tgpt.begin_backward
  tgpt.begin_backward
  // CHECK-NOT: dist.reshard
  // CHECK: tgpt.gelu %[[SUM]] :
  %e = tgpt.gelu %d : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  // CHECK: %[[W:.+]] = tgpt.linear_wgrad %[[U]], %[[X]] : {{.*}} -> tensor<12x8xf32, #dist.layout<[tp, -], partial = [dp]>>
  // CHECK: tgpt.accumulate %[[W]], @up.gradient
  %dw = tgpt.linear_wgrad %u, %x : (tensor<4x6x12xf32>, tensor<4x6x8xf32>) -> tensor<12x8xf32>
  tgpt.accumulate %dw, @up.gradient : tensor<12x8xf32>
  // CHECK: return
  return
}

// In the update all is reduced: the norm over dp and tp, and the state of a scalar result.
// CHECK-LABEL: func.func @update
func.func @update() -> tensor<f32> attributes {tgpt.phase = "update"} {
  // CHECK: %[[G:.+]] = tgpt.read @up.gradient : tensor<12x8xf32, #dist.layout<[tp, -], partial = [dp]>>
  // CHECK: %[[WHOLE:.+]] = dist.reshard %[[G]] : {{.*}} to tensor<12x8xf32, #dist.layout<[tp, -]>>
  // CHECK: %[[S:.+]] = tgpt.sum_squares %[[WHOLE]] : {{.*}} -> tensor<f32, #dist.layout<[], partial = [tp]>>
  // CHECK: %[[NORM:.+]] = dist.reshard %[[S]] : {{.*}} to tensor<f32, #dist.layout<[]>>
  // CHECK: return %[[NORM]]
  %g = tgpt.read @up.gradient : tensor<12x8xf32>
  %s = tgpt.sum_squares %g : (tensor<12x8xf32>) -> tensor<f32>
  return %s : tensor<f32>
}

// -----

// Partial sums of two linears are added before they are reduced: one reduction, not two.
dist.mesh @mesh (tp = 2)
tgpt.parameter @a : tensor<8x12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> {dist.layout = #dist.layout<[-, tp]>}
tgpt.parameter @b : tensor<8x12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> {dist.layout = #dist.layout<[-, tp]>}
// CHECK-LABEL: func.func @sums_are_reduced_together
func.func @sums_are_reduced_together(%x: tensor<4x6x12xf32> {dist.layout = #dist.layout<[-, -, tp]>}) -> tensor<4x6x8xf32> attributes {tgpt.phase = "micro_batch"} {
  %a = tgpt.read @a : tensor<8x12xf32>
  %b = tgpt.read @b : tensor<8x12xf32>
  %y = tgpt.linear %x, %a : (tensor<4x6x12xf32>, tensor<8x12xf32>) -> tensor<4x6x8xf32>
  %z = tgpt.linear %x, %b : (tensor<4x6x12xf32>, tensor<8x12xf32>) -> tensor<4x6x8xf32>
  // CHECK-NOT: dist.reshard
  // CHECK: %[[S:.+]] = tgpt.add {{.*}} -> tensor<4x6x8xf32, #dist.layout<[-, -, -], partial = [tp]>>
  // CHECK-NEXT: %[[R:.+]] = dist.reshard %[[S]]
  // CHECK-NEXT: return %[[R]]
  %s = tgpt.add %y, %z : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  return %s : tensor<4x6x8xf32>
}

// -----

// The decision on the embedding scatters its sum over the sequence; the norm follows, the linear gathers.
// In the backward the input is gathered anew, so that only its shard is kept.
dist.mesh @mesh (dp = 2, tp = 3)
tgpt.parameter @table : tensor<9x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> {dist.layout = #dist.layout<[tp, -]>}
tgpt.parameter @up : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> {dist.layout = #dist.layout<[tp, -]>}
tgpt.parameter @norm : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0> {dist.layout = #dist.layout<[-]>}
tgpt.state gradient @up.gradient of @up : tensor<12x8xf32> {transient}
// The gradient of a norm's weight is a sum over the tokens of all ranks of dp and tp.
// CHECK: gradient @norm.gradient of @norm : tensor<8xf32, #dist.layout<[-], partial = [dp, tp]>>
tgpt.state gradient @norm.gradient of @norm : tensor<8xf32> {transient}
// CHECK-LABEL: func.func @sequence_parallel
func.func @sequence_parallel(%tokens: tensor<4x6xi32> {dist.layout = #dist.layout<[dp, -]>}) attributes {tgpt.phase = "micro_batch"} {
  %table = tgpt.read @table : tensor<9x8xf32>
  // CHECK: %[[E:.+]] = tgpt.embedding %{{[^ ]+}}, %{{[^ ]+}} : {{.*}} -> tensor<4x6x8xf32, #dist.layout<[dp, -, -], partial = [tp]>>
  // CHECK-NEXT: %[[X:.+]] = dist.reshard %[[E]] : {{.*}} to tensor<4x6x8xf32, #dist.layout<[dp, tp, -]>>
  %x = tgpt.embedding %tokens, %table {dist.layout = #dist.layout<[dp, tp, -]>} : (tensor<4x6xi32>, tensor<9x8xf32>) -> tensor<4x6x8xf32>
  %norm = tgpt.read @norm : tensor<8xf32>
  // CHECK: %[[N:.+]]:2 = tgpt.rms_norm %[[X]], {{.*}} -> (tensor<4x6x8xf32, #dist.layout<[dp, tp, -]>>, tensor<4x6xf32, #dist.layout<[dp, tp]>>)
  %n, %rstd = tgpt.rms_norm %x, %norm {epsilon = 1.0e-5 : f64} : (tensor<4x6x8xf32>, tensor<8xf32>) -> (tensor<4x6x8xf32>, tensor<4x6xf32>)
  %up = tgpt.read @up : tensor<12x8xf32>
  // CHECK: %[[FULL:.+]] = dist.reshard %[[N]]#0 : {{.*}} to tensor<4x6x8xf32, #dist.layout<[dp, -, -]>>
  // CHECK-NEXT: %[[U:.+]] = tgpt.linear %[[FULL]],
  %u = tgpt.linear %n, %up : (tensor<4x6x8xf32>, tensor<12x8xf32>) -> tensor<4x6x12xf32>
  // CHECK-NEXT: tgpt.linear %[[FULL]],
  %again = tgpt.linear %n, %up : (tensor<4x6x8xf32>, tensor<12x8xf32>) -> tensor<4x6x12xf32>
  // CHECK-NEXT: tgpt.begin_backward
  tgpt.begin_backward
  // CHECK-NEXT: %[[ANEW:.+]] = dist.reshard %[[N]]#0 : {{.*}} to tensor<4x6x8xf32, #dist.layout<[dp, -, -]>>
  // CHECK-NEXT: tgpt.linear_wgrad %[[U]], %[[ANEW]]
  %dw = tgpt.linear_wgrad %u, %n : (tensor<4x6x12xf32>, tensor<4x6x8xf32>) -> tensor<12x8xf32>
  tgpt.accumulate %dw, @up.gradient : tensor<12x8xf32>
  // CHECK: %[[DX:.+]] = tgpt.linear_dgrad {{.*}} -> tensor<4x6x8xf32, #dist.layout<[dp, -, -], partial = [tp]>>
  // CHECK-NEXT: %[[DN:.+]] = dist.reshard %[[DX]] : {{.*}} to tensor<4x6x8xf32, #dist.layout<[dp, tp, -]>>
  // CHECK-NEXT: tgpt.rms_norm_grad %[[DN]],
  %dn = tgpt.linear_dgrad %u, %up : (tensor<4x6x12xf32>, tensor<12x8xf32>) -> tensor<4x6x8xf32>
  %dx, %dnorm = tgpt.rms_norm_grad %dn, %x, %norm, %rstd : (tensor<4x6x8xf32>, tensor<4x6x8xf32>, tensor<8xf32>, tensor<4x6xf32>) -> (tensor<4x6x8xf32>, tensor<8xf32>)
  tgpt.accumulate %dnorm, @norm.gradient : tensor<8xf32>
  return
}

// -----

// Heads are sharded whole: 6 query heads and 3 KV heads of 2 elements over tp = 3, and the statistics with them.
dist.mesh @mesh (tp = 3)
// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x5x12xf32> {dist.layout = #dist.layout<[-, -, tp]>}, %k: tensor<2x5x6xf32> {dist.layout = #dist.layout<[-, -, tp]>},
                     %v: tensor<2x5x6xf32> {dist.layout = #dist.layout<[-, -, tp]>}) attributes {tgpt.phase = "micro_batch"} {
  // CHECK-NEXT: tgpt.attention {{.*}} -> (tensor<2x5x12xf32, #dist.layout<[-, -, tp]>>, tensor<2x6x5xf32, #dist.layout<[-, tp, -]>>)
  %o, %lse = tgpt.attention %q, %k, %v {head_dim = 2 : i64, scale = 0.5 : f64} : (tensor<2x5x12xf32>, tensor<2x5x6xf32>, tensor<2x5x6xf32>) -> (tensor<2x5x12xf32>, tensor<2x6x5xf32>)
  return
}

// -----

// Two KV heads cannot be split over tp = 3: the op declines the axis, and all of its operands become whole.
dist.mesh @mesh (tp = 3)
// CHECK-LABEL: func.func @declined
func.func @declined(%q: tensor<2x5x12xf32> {dist.layout = #dist.layout<[-, -, tp]>}, %k: tensor<2x5x4xf32>, %v: tensor<2x5x4xf32>) attributes {tgpt.phase = "micro_batch"} {
  // CHECK-NEXT: %[[Q:.+]] = dist.reshard %{{.+}} to tensor<2x5x12xf32, #dist.layout<[-, -, -]>>
  // CHECK-NEXT: tgpt.attention %[[Q]], {{.*}} -> (tensor<2x5x12xf32, #dist.layout<[-, -, -]>>, tensor<2x6x5xf32, #dist.layout<[-, -, -]>>)
  %o, %lse = tgpt.attention %q, %k, %v {head_dim = 2 : i64, scale = 0.5 : f64} : (tensor<2x5x12xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> (tensor<2x5x12xf32>, tensor<2x6x5xf32>)
  return
}

// -----

// But the query heads of one KV head, or of each of two over a further axis, can: the keys are whole over it, and
// their gradients addends, which linear ops pass on.
dist.mesh @mesh (tp = 2, tp_inner = 3)
// CHECK-LABEL: func.func @query_heads
func.func @query_heads(%q: tensor<2x5x12xf32> {dist.layout = #dist.layout<[-, -, {tp, tp_inner}]>}, %k: tensor<2x5x4xf32> {dist.layout = #dist.layout<[-, -, tp]>},
                       %w: tensor<4x7xf32> {dist.layout = #dist.layout<[tp, -]>}) attributes {tgpt.phase = "micro_batch"} {
  // CHECK-NEXT: tgpt.attention {{.*}} -> (tensor<2x5x12xf32, #dist.layout<[-, -, {tp, tp_inner}]>>, tensor<2x6x5xf32, #dist.layout<[-, {tp, tp_inner}, -]>>)
  %o, %lse = tgpt.attention %q, %k, %k {head_dim = 2 : i64, scale = 0.5 : f64} : (tensor<2x5x12xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> (tensor<2x5x12xf32>, tensor<2x6x5xf32>)
  // CHECK-NEXT: %[[G:.+]]:3 = tgpt.attention_grad {{.*}} -> (tensor<2x5x12xf32, #dist.layout<[-, -, {tp, tp_inner}]>>, tensor<2x5x4xf32, #dist.layout<[-, -, tp], partial = [tp_inner]>>, tensor<2x5x4xf32, #dist.layout<[-, -, tp], partial = [tp_inner]>>)
  %dq, %dk, %dv = tgpt.attention_grad %o, %q, %k, %k, %o, %lse {head_dim = 2 : i64, scale = 0.5 : f64} : (tensor<2x5x12xf32>, tensor<2x5x12xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>, tensor<2x5x12xf32>, tensor<2x6x5xf32>) -> (tensor<2x5x12xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>)
  // CHECK-NEXT: %[[R:.+]] = tgpt.rope %[[G]]#1 {{.*}} -> tensor<2x5x4xf32, #dist.layout<[-, -, tp], partial = [tp_inner]>>
  %r = tgpt.rope %dk {head_dim = 2 : i64, theta = 10000.0 : f64, inverse = true} : (tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  // CHECK-NEXT: tgpt.linear_dgrad %[[R]], {{.*}} -> tensor<2x5x7xf32, #dist.layout<[-, -, -], partial = [tp, tp_inner]>>
  %dx = tgpt.linear_dgrad %r, %w : (tensor<2x5x4xf32>, tensor<4x7xf32>) -> tensor<2x5x7xf32>
  // Gelu is not linear: here the addends must be summed.
  // CHECK-NEXT: %[[SUM:.+]] = dist.reshard %[[R]] : {{.*}} to tensor<2x5x4xf32, #dist.layout<[-, -, tp]>>
  // CHECK-NEXT: tgpt.gelu %[[SUM]]
  %g = tgpt.gelu %r : (tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
  return
}
