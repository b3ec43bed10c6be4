// RUN: tgpt-opt %s --dist-verify-partitioned -split-input-file -verify-diagnostics

// The ways in which other systems have computed something else than they were asked to, each as
// the smallest program that makes the mistake. None is valid IR: the layouts do not add up, and
// the error has a note at the value that is not what it was taken for.

// Under sequence parallelism each tp rank has seen a part of the sequence, so the gradient of a
// norm's weight is a sum over tp too. It is summed over dp only, and the optimizer takes it.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!w = tensor<6xf32, #dist.layout<[-], of = [6]>>
!scalar = tensor<f32, #dist.layout<[], of = []>>
!over_tp = tensor<6xf32, #dist.layout<[-], partial = [tp], of = [6]>>
!over_both = tensor<6xf32, #dist.layout<[-], partial = [dp, tp], of = [6]>>
!x = tensor<2x4x6xf32, #dist.layout<[dp, tp, -], of = [4, 8, 6]>>
!rstd = tensor<2x4xf32, #dist.layout<[dp, tp], of = [4, 8]>>
func.func @norm_gradient_not_summed_over_tp(%dy: !x, %x: !x, %w: !w, %rstd: !rstd, %m: !w, %v: !w, %s: !scalar) {
  %dx, %dw = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (!x, !x, !w, !rstd) -> (!x, !over_both)
  // expected-note @+1 {{operand 1 comes from here, with layout #dist.layout<[-], partial = [tp], of = [6]>}}
  %sum = dist.all_reduce sum %dw over ["dp"] : !over_both to !over_tp
  // expected-error @+1 {{operand 1 is partial over "tp" but the op is not linear in it}}
  %w_1, %m_1, %v_1 = tgpt.adamw %w, %sum, %m, %v, %s, %s, %s {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (!w, !over_tp, !w, !w, !scalar, !scalar, !scalar) -> (!w, !w, !w)
  return
}

// -----

// The same gradient, said to be whole in its type: the sum over tp is forgotten where it arises.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!w = tensor<6xf32, #dist.layout<[-], of = [6]>>
!over_dp = tensor<6xf32, #dist.layout<[-], partial = [dp], of = [6]>>
!x = tensor<2x4x6xf32, #dist.layout<[dp, tp, -], of = [4, 8, 6]>>
!rstd = tensor<2x4xf32, #dist.layout<[dp, tp], of = [4, 8]>>
func.func @norm_gradient_claimed_whole_over_tp(%dy: !x, %x: !x, %w: !w, %rstd: !rstd) {
  // expected-error @+1 {{result 1 must be partial over "tp", which shards factor 'b' of the operands, but is not}}
  %dx, %dw = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (!x, !x, !w, !rstd) -> (!x, !over_dp)
  return
}

// -----

// The squares of a weight that tp shards add up over tp; those of one that every tp rank has do
// not. Added up before the reduction, the second would count tp times.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!scalar = tensor<f32, #dist.layout<[], of = []>>
!addend = tensor<f32, #dist.layout<[], partial = [tp], of = []>>
func.func @replicated_gradient_counted_tp_times(%sharded: tensor<4x6xf32, #dist.layout<[tp, -], of = [8, 6]>>, %whole: tensor<6xf32, #dist.layout<[-], of = [6]>>) {
  %a = tgpt.sum_squares %sharded : (tensor<4x6xf32, #dist.layout<[tp, -], of = [8, 6]>>) -> !addend
  // expected-note @+1 {{operand 1 comes from here, with layout #dist.layout<[], of = []>}}
  %b = tgpt.sum_squares %whole : (tensor<6xf32, #dist.layout<[-], of = [6]>>) -> !scalar
  // expected-error @+1 {{operand 0 is partial over "tp" but operand 1 is not}}
  %c = tgpt.add_n %a, %b : (!addend, !scalar) -> !addend
  return
}

// -----

// The other half of it: the squares of a sharded weight, never summed over tp. The norm would
// be that of the rank's own part.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!scalar = tensor<f32, #dist.layout<[], of = []>>
!addend = tensor<f32, #dist.layout<[], partial = [tp], of = []>>
func.func @norm_of_a_shard(%sharded: tensor<4x6xf32, #dist.layout<[tp, -], of = [8, 6]>>, %count: !scalar) {
  // expected-note @+1 {{operand 0 comes from here, with layout #dist.layout<[], partial = [tp], of = []>}}
  %a = tgpt.sum_squares %sharded : (tensor<4x6xf32, #dist.layout<[tp, -], of = [8, 6]>>) -> !addend
  // expected-error @+1 {{operand 0 is partial over "tp" but the op is not linear in it}}
  %norm, %clip = tgpt.clip_scale %a, %count {max_norm = 1.0 : f64} : (!addend, !scalar) -> (!scalar, !scalar)
  return
}

// -----

// Each pipeline stage clips by the norm of its own gradients.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!scalar = tensor<f32, #dist.layout<[], of = []>>
!addend = tensor<f32, #dist.layout<[], partial = [pp], of = []>>
func.func @norm_of_a_stage(%squares: !scalar, %count: !scalar) {
  // expected-note @+1 {{operand 0 comes from here, with layout #dist.layout<[], partial = [pp], of = []>}}
  %own = dist.stage_addend %squares : !scalar to !addend
  // expected-error @+1 {{operand 0 is partial over "pp" but the op is not linear in it}}
  %norm, %clip = tgpt.clip_scale %own, %count {max_norm = 1.0 : f64} : (!addend, !scalar) -> (!scalar, !scalar)
  return
}

// -----

// Each tp rank takes the logarithm of the sum over its own part of the vocabulary for the whole one's: with
// equal parts the loss is off by log(tp).
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!logits = tensor<2x3x5xf32, #dist.layout<[dp, -, tp], of = [4, 3, 10]>>
!ids = tensor<2x3xi32, #dist.layout<[dp, -], of = [4, 3]>>
!rows = tensor<2x3xf32, #dist.layout<[dp, -], of = [4, 3]>>
!own = tensor<1x2x2x3xf32, #dist.layout<[tp, -, dp, -], of = [2, 2, 4, 3]>>
!loss = tensor<f32, #dist.layout<[], partial = [dp], of = []>>
func.func @loss_off_by_log_tp(%logits: !logits, %labels: !ids) {
  // expected-note @+1 {{operand 1 comes from here, with layout #dist.layout<[tp, -, dp, -], of = [2, 2, 4, 3]>}}
  %statistics = tgpt.loss_statistics %logits, %labels : (!logits, !ids) -> !own
  // expected-error @+1 {{factor 'c' must not be sharded but operand 1 dim 0 is sharded by "tp"}}
  %loss, %count, %lse = tgpt.token_loss %labels, %statistics : (!ids, !own) -> (!loss, !loss, !rows)
  return
}

// -----

// The statistics of each rank's part are added up over tp as if they were addends: the sum of the logarithms
// is not the logarithm of the sum.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!logits = tensor<2x3x5xf32, #dist.layout<[dp, -, tp], of = [4, 3, 10]>>
!ids = tensor<2x3xi32, #dist.layout<[dp, -], of = [4, 3]>>
!own = tensor<1x2x2x3xf32, #dist.layout<[tp, -, dp, -], of = [2, 2, 4, 3]>>
!sum = tensor<1x2x2x3xf32, #dist.layout<[-, -, dp, -], of = [1, 2, 4, 3]>>
func.func @sum_of_logarithms(%logits: !logits, %labels: !ids) {
  // expected-note @+1 {{operand comes from here, with layout #dist.layout<[tp, -, dp, -], of = [2, 2, 4, 3]>}}
  %statistics = tgpt.loss_statistics %logits, %labels : (!logits, !ids) -> !own
  // expected-error @+1 {{operand is not partial over "tp"}}
  %sum = dist.all_reduce sum %statistics over ["tp"] : !own to !sum
  return
}

// -----

// The fused loss on a part of the vocabulary.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!logits = tensor<2x3x5xf32, #dist.layout<[dp, -, tp], of = [4, 3, 10]>>
!ids = tensor<2x3xi32, #dist.layout<[dp, -], of = [4, 3]>>
!rows = tensor<2x3xf32, #dist.layout<[dp, -], of = [4, 3]>>
!loss = tensor<f32, #dist.layout<[], partial = [dp], of = []>>
func.func @loss_of_the_local_vocabulary(%x: tensor<2x3x6xf32, #dist.layout<[dp, -, -], of = [4, 3, 6]>>, %head: tensor<5x6xf32, #dist.layout<[tp, -], of = [10, 6]>>, %labels: !ids) {
  // expected-note @+1 {{operand 0 comes from here, with layout #dist.layout<[dp, -, tp], of = [4, 3, 10]>}}
  %logits = tgpt.linear %x, %head : (tensor<2x3x6xf32, #dist.layout<[dp, -, -], of = [4, 3, 6]>>, tensor<5x6xf32, #dist.layout<[tp, -], of = [10, 6]>>) -> !logits
  // expected-error @+1 {{factor 'V' must not be sharded but operand 0 dim 2 is sharded by "tp"}}
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (!logits, !ids) -> (!loss, !loss, !rows)
  return
}

// -----

// A gradient that dp has summed is summed over the whole world: tp times too large.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!w = tensor<4x6xf32, #dist.layout<[tp, -], of = [8, 6]>>
!addend = tensor<4x6xf32, #dist.layout<[tp, -], partial = [dp], of = [8, 6]>>
!dy = tensor<2x3x4xf32, #dist.layout<[dp, -, tp], of = [4, 3, 8]>>
!x = tensor<2x3x6xf32, #dist.layout<[dp, -, -], of = [4, 3, 6]>>
func.func @gradient_scaled_by_the_world_size(%dy: !dy, %x: !x) {
  // expected-note @+1 {{operand comes from here, with layout #dist.layout<[tp, -], partial = [dp], of = [8, 6]>}}
  %dw = tgpt.linear_wgrad %dy, %x : (!dy, !x) -> !addend
  // expected-error @+1 {{operand is not partial over "tp" but over "dp"}}
  %sum = dist.all_reduce sum %dw over ["dp", "tp"] : !addend to !w
  return
}

// -----

// Each dp rank divides its loss by its own number of valid tokens.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!addend = tensor<f32, #dist.layout<[], partial = [dp], of = []>>
!labels = tensor<2x3xi32, #dist.layout<[dp, -], of = [4, 3]>>
!rows = tensor<2x3xf32, #dist.layout<[dp, -], of = [4, 3]>>
!statistics = tensor<2x2x2x3xf32, #dist.layout<[-, -, dp, -], of = [2, 2, 4, 3]>>
func.func @loss_averaged_per_rank(%labels: !labels, %statistics: !statistics) {
  // expected-note @+1 {{operand 0 comes from here, with layout #dist.layout<[], partial = [dp], of = []>}}
  %loss, %count, %lse = tgpt.token_loss %labels, %statistics : (!labels, !statistics) -> (!addend, !addend, !rows)
  // expected-error @+1 {{operand 0 is partial over "dp" but the op is not linear in it}}
  %mean = tgpt.divide %loss, %count : (!addend, !addend) -> !addend
  return
}

// -----

// The loss is summed over dp, but divided by the rank's own number of valid tokens.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!scalar = tensor<f32, #dist.layout<[], of = []>>
!addend = tensor<f32, #dist.layout<[], partial = [dp], of = []>>
!labels = tensor<2x3xi32, #dist.layout<[dp, -], of = [4, 3]>>
!rows = tensor<2x3xf32, #dist.layout<[dp, -], of = [4, 3]>>
!statistics = tensor<2x2x2x3xf32, #dist.layout<[-, -, dp, -], of = [2, 2, 4, 3]>>
func.func @loss_divided_by_the_local_count(%labels: !labels, %statistics: !statistics) {
  // expected-note @+1 {{operand 1 comes from here, with layout #dist.layout<[], partial = [dp], of = []>}}
  %loss, %count, %lse = tgpt.token_loss %labels, %statistics : (!labels, !statistics) -> (!addend, !addend, !rows)
  %total = dist.all_reduce sum %loss over ["dp"] : !addend to !scalar
  // expected-error @+1 {{operand 1 is partial over "dp" but the op is not linear in it}}
  %mean = tgpt.divide %total, %count : (!scalar, !addend) -> !scalar
  return
}

// -----

// The product of a row-parallel linear, read by a norm as if it were whole.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!x = tensor<2x3x4xf32, #dist.layout<[dp, -, tp], of = [4, 3, 8]>>
!w = tensor<6x4xf32, #dist.layout<[-, tp], of = [6, 8]>>
!scale = tensor<6xf32, #dist.layout<[-], of = [6]>>
!addend = tensor<2x3x6xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 3, 6]>>
!y = tensor<2x3x6xf32, #dist.layout<[dp, -, -], of = [4, 3, 6]>>
!rstd = tensor<2x3xf32, #dist.layout<[dp, -], of = [4, 3]>>
func.func @partial_read_as_replicated(%x: !x, %w: !w, %scale: !scale) {
  // expected-note @+1 {{operand 0 comes from here, with layout #dist.layout<[dp, -, -], partial = [tp], of = [4, 3, 6]>}}
  %y = tgpt.linear %x, %w : (!x, !w) -> !addend
  // expected-error @+1 {{operand 0 is partial over "tp" but the op is not linear in it}}
  %n, %rstd = tgpt.rms_norm %y, %scale {epsilon = 1.0e-5 : f64} : (!addend, !scale) -> (!y, !rstd)
  return
}

// -----

// The bias of a row-parallel linear, added by every tp rank before the sum.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!addend = tensor<2x3x6xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 3, 6]>>
func.func @bias_added_before_the_sum(%x: tensor<2x3x4xf32, #dist.layout<[dp, -, tp], of = [4, 3, 8]>>, %w: tensor<6x4xf32, #dist.layout<[-, tp], of = [6, 8]>>, %bias: tensor<6xf32, #dist.layout<[-], of = [6]>>) {
  %y = tgpt.linear %x, %w : (tensor<2x3x4xf32, #dist.layout<[dp, -, tp], of = [4, 3, 8]>>, tensor<6x4xf32, #dist.layout<[-, tp], of = [6, 8]>>) -> !addend
  // expected-error @+1 {{operand 0 is partial over "tp" but operand 1 is not}}
  %z = tgpt.add %y, %bias : (!addend, tensor<6xf32, #dist.layout<[-], of = [6]>>) -> !addend
  return
}

// -----

// The same within the linear.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!addend = tensor<2x3x6xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 3, 6]>>
func.func @bias_in_a_row_parallel_linear(%x: tensor<2x3x4xf32, #dist.layout<[dp, -, tp], of = [4, 3, 8]>>, %w: tensor<6x4xf32, #dist.layout<[-, tp], of = [6, 8]>>, %bias: tensor<6xf32, #dist.layout<[-], of = [6]>>) {
  // expected-error @+1 {{factor 'K' must not be sharded but operand 0 dim 2 is sharded by "tp"}}
  %y = tgpt.linear %x, %w, %bias : (tensor<2x3x4xf32, #dist.layout<[dp, -, tp], of = [4, 3, 8]>>, tensor<6x4xf32, #dist.layout<[-, tp], of = [6, 8]>>, tensor<6xf32, #dist.layout<[-], of = [6]>>) -> !addend
  return
}

// -----

// Summed over tp, and once more.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!whole = tensor<4xf32, #dist.layout<[-], of = [4]>>
!addend = tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>
func.func @reduced_twice(%x: !addend) {
  // expected-note @+1 {{operand comes from here, with layout #dist.layout<[-], of = [4]>}}
  %0 = dist.all_reduce sum %x over ["tp"] : !addend to !whole
  // expected-error @+1 {{operand is not partial over "tp" but over no axis}}
  %1 = dist.all_reduce sum %0 over ["tp"] : !whole to !whole
  return
}

// -----

// Summed over tp, and then scattered as if it were not.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!whole = tensor<4xf32, #dist.layout<[-], of = [4]>>
!addend = tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>
!part = tensor<2xf32, #dist.layout<[tp], of = [4]>>
func.func @reduced_and_reduce_scattered(%x: !addend) {
  // expected-note @+1 {{operand comes from here, with layout #dist.layout<[-], of = [4]>}}
  %0 = dist.all_reduce sum %x over ["tp"] : !addend to !whole
  // expected-error @+1 {{operand is not partial over "tp" but over no axis}}
  %1 = dist.reduce_scatter %0 dim 0 over ["tp"] : !whole to !part
  return
}

// -----

// A gradient that nobody sums becomes a weight: the dp ranks drift apart.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!w = tensor<4x6xf32, #dist.layout<[-, -], of = [4, 6]>>
!addend = tensor<4x6xf32, #dist.layout<[-, -], partial = [dp], of = [4, 6]>>
// expected-note @+1 {{@w declared here}}
tgpt.parameter @w : !w = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @never_reduced(%dy: tensor<2x3x4xf32, #dist.layout<[dp, -, -], of = [4, 3, 4]>>, %x: tensor<2x3x6xf32, #dist.layout<[dp, -, -], of = [4, 3, 6]>>) {
  // expected-note @+1 {{value comes from here}}
  %dw = tgpt.linear_wgrad %dy, %x : (tensor<2x3x4xf32, #dist.layout<[dp, -, -], of = [4, 3, 4]>>, tensor<2x3x6xf32, #dist.layout<[dp, -, -], of = [4, 3, 6]>>) -> !addend
  // expected-error @+1 {{is not the declared}}
  tgpt.write %dw, @w : !addend
  return
}

// -----

// A gradient is accumulated that was summed already: with several micro-batches the others
// would be added to a sum, and be summed again.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!w = tensor<6xf32, #dist.layout<[-], of = [6]>>
!addend = tensor<6xf32, #dist.layout<[-], partial = [dp], of = [6]>>
tgpt.parameter @w : !w = #tgpt.init<mean = 0.0, stddev = 0.02>
// expected-note @+1 {{@w.gradient declared here}}
tgpt.state gradient @w.gradient of @w : !addend
func.func @reduced_before_accumulation(%dw: !addend) {
  // expected-note @+1 {{value comes from here}}
  %sum = dist.all_reduce sum %dw over ["dp"] : !addend to !w
  // expected-error @+1 {{is not the declared}}
  tgpt.accumulate %sum, @w.gradient : !w
  return
}

// -----

// A weight tied across stages: each stage takes a step with its own gradient, and the copies
// drift apart.
dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
!w = tensor<6xf32, #dist.layout<[-], of = [6]>>
!addend = tensor<6xf32, #dist.layout<[-], partial = [pp], of = [6]>>
!scalar = tensor<f32, #dist.layout<[], of = []>>
func.func @tied_gradient_not_summed(%g: !w, %w: !w, %m: !w, %v: !w, %s: !scalar) {
  // expected-note @+1 {{operand 1 comes from here, with layout #dist.layout<[-], partial = [pp], of = [6]>}}
  %own = dist.stage_addend %g : !w to !addend
  // expected-error @+1 {{operand 1 is partial over "pp" but the op is not linear in it}}
  %w_1, %m_1, %v_1 = tgpt.adamw %w, %own, %m, %v, %s, %s, %s {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (!w, !addend, !w, !w, !scalar, !scalar, !scalar) -> (!w, !w, !w)
  return
}

// -----

// Ranks that share a KV head: each holds addends of its gradient, from the query heads it has.
dist.mesh @mesh (dp = 1, pp = 1, tp = 2, tp_inner = 2)
!q = tensor<1x2x2xf32, #dist.layout<[-, -, {tp, tp_inner}], of = [1, 2, 8]>>
!k = tensor<1x2x2xf32, #dist.layout<[-, -, tp], of = [1, 2, 4]>>
!lse = tensor<1x1x2xf32, #dist.layout<[-, {tp, tp_inner}, -], of = [1, 4, 2]>>
func.func @gradient_of_a_shared_kv_head_taken_as_whole(%do: !q, %q: !q, %k: !k, %v: !k, %lse: !lse) {
  // expected-error @+1 {{result 1 must be partial over "tp_inner", which shards factor 'G' of the operands, but is not}}
  %dq, %dk, %dv = tgpt.attention_grad %do, %q, %k, %v, %q, %lse {head_dim = 2 : i64, scale = 1.0 : f64} : (!q, !q, !k, !k, !q, !lse) -> (!q, !k, !k)
  return
}

// -----

// The same, further on: the copies of the key weight would take different steps and drift apart.
dist.mesh @mesh (dp = 1, pp = 1, tp = 2, tp_inner = 2)
!q = tensor<1x2x2xf32, #dist.layout<[-, -, {tp, tp_inner}], of = [1, 2, 8]>>
!k = tensor<1x2x2xf32, #dist.layout<[-, -, tp], of = [1, 2, 4]>>
!dk = tensor<1x2x2xf32, #dist.layout<[-, -, tp], partial = [tp_inner], of = [1, 2, 4]>>
!lse = tensor<1x1x2xf32, #dist.layout<[-, {tp, tp_inner}, -], of = [1, 4, 2]>>
!x = tensor<1x2x6xf32, #dist.layout<[-, -, -], of = [1, 2, 6]>>
!w = tensor<2x6xf32, #dist.layout<[tp, -], of = [4, 6]>>
!dw = tensor<2x6xf32, #dist.layout<[tp, -], partial = [tp_inner], of = [4, 6]>>
!s = tensor<f32, #dist.layout<[], of = []>>
func.func @key_weight_steps_by_addends(%do: !q, %q: !q, %k: !k, %v: !k, %lse: !lse, %x: !x, %w: !w, %m: !w, %s: !s) {
  %dq, %dk, %dv = tgpt.attention_grad %do, %q, %k, %v, %q, %lse {head_dim = 2 : i64, scale = 1.0 : f64} : (!q, !q, !k, !k, !q, !lse) -> (!q, !dk, !dk)
  // expected-note @+1 {{operand 1 comes from here, with layout #dist.layout<[tp, -], partial = [tp_inner], of = [4, 6]>}}
  %dw = tgpt.linear_wgrad %dk, %x : (!dk, !x) -> !dw
  // expected-error @+1 {{operand 1 is partial over "tp_inner" but the op is not linear in it}}
  %w1, %m1, %v1 = tgpt.adamw %w, %dw, %m, %m, %s, %s, %s {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (!w, !dw, !w, !w, !s, !s, !s) -> (!w, !w, !w)
  return
}
