// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// Layouts that no op may have: each case breaks one rule of VerifyLayouts.cpp.

dist.mesh @mesh (dp = 2, tp = 2)

// All of these are right.
func.func @column_then_row(%x: tensor<4x8x6xf32, #dist.layout<[dp, -, -]>>, %up: tensor<10x6xf32, #dist.layout<[tp, -]>>,
                           %down: tensor<6x10xf32, #dist.layout<[-, tp]>>, %r: tensor<4x8x6xf32, #dist.layout<[dp, -, -], partial = [tp]>>) {
  %0 = tgpt.linear %x, %up : (tensor<4x8x6xf32, #dist.layout<[dp, -, -]>>, tensor<10x6xf32, #dist.layout<[tp, -]>>) -> tensor<4x8x10xf32, #dist.layout<[dp, -, tp]>>
  %1 = tgpt.linear %0, %down : (tensor<4x8x10xf32, #dist.layout<[dp, -, tp]>>, tensor<6x10xf32, #dist.layout<[-, tp]>>) -> tensor<4x8x6xf32, #dist.layout<[dp, -, -], partial = [tp]>>
  %2 = tgpt.add %1, %r : (tensor<4x8x6xf32, #dist.layout<[dp, -, -], partial = [tp]>>, tensor<4x8x6xf32, #dist.layout<[dp, -, -], partial = [tp]>>) -> tensor<4x8x6xf32, #dist.layout<[dp, -, -], partial = [tp]>>
  %3 = tgpt.linear_wgrad %2, %0 : (tensor<4x8x6xf32, #dist.layout<[dp, -, -], partial = [tp]>>, tensor<4x8x10xf32, #dist.layout<[dp, -, tp]>>) -> tensor<6x10xf32, #dist.layout<[-, tp], partial = [dp]>>
  // expected-error @-1 {{operand 0 is partial over "tp", which shards factor 'K': only sums over it can be taken apart}}
  // expected-note @-3 {{operand 0 comes from here, with layout #dist.layout<[dp, -, -], partial = [tp]>}}
  return
}

// -----

func.func @l1_some_without_layout(%x: tensor<4x6xf32, #dist.layout<[-, -]>>, %w: tensor<10x6xf32>) {
  // expected-error @+1 {{operand 1 has no layout but other operands or results have one}}
  %0 = tgpt.linear %x, %w : (tensor<4x6xf32, #dist.layout<[-, -]>>, tensor<10x6xf32>) -> tensor<4x10xf32, #dist.layout<[-, -]>>
  return
}

// -----

func.func @l1_local_and_global(%x: tensor<4x6xf32, #dist.layout<[-, -]>>, %w: tensor<10x6xf32, #dist.layout<[-, -], of = [10, 6]>>) {
  // expected-error @+1 {{operand 1 is local but operand 0 is global}}
  %0 = tgpt.linear %x, %w : (tensor<4x6xf32, #dist.layout<[-, -]>>, tensor<10x6xf32, #dist.layout<[-, -], of = [10, 6]>>) -> tensor<4x10xf32, #dist.layout<[-, -]>>
  return
}

// -----

// Row-parallel weight, but the activation was never split.
func.func @l2_contracted_dim_half_sharded(%x: tensor<4x6xf32, #dist.layout<[-, -]>>, %w: tensor<10x6xf32, #dist.layout<[-, tp]>>) {
  // expected-error @+1 {{factor 'K' is sharded by "tp" in operand 1 but not in operand 0}}
  %0 = tgpt.linear %x, %w : (tensor<4x6xf32, #dist.layout<[-, -]>>, tensor<10x6xf32, #dist.layout<[-, tp]>>) -> tensor<4x10xf32, #dist.layout<[-, -], partial = [tp]>>
  return
}

// -----

func.func @l2_wrong_axis(%x: tensor<4x6xf32, #dist.layout<[-, dp]>>, %w: tensor<10x6xf32, #dist.layout<[-, tp]>>) {
  // expected-error @+1 {{factor 'K' is sharded by "dp" in operand 0 but by "tp" in operand 1}}
  %0 = tgpt.linear %x, %w : (tensor<4x6xf32, #dist.layout<[-, dp]>>, tensor<10x6xf32, #dist.layout<[-, tp]>>) -> tensor<4x10xf32, #dist.layout<[-, -], partial = [tp]>>
  return
}

// -----

// Both the batch and the vocabulary: a rank would look up some tokens in some rows.
func.func @l3_axis_shards_two_factors(%ids: tensor<4x6xi32, #dist.layout<[tp, -]>>, %table: tensor<10x3xf32, #dist.layout<[tp, -]>>) {
  // expected-error @+1 {{axis "tp" shards factor 'a' and factor 'V'}}
  %0 = tgpt.embedding %ids, %table : (tensor<4x6xi32, #dist.layout<[tp, -]>>, tensor<10x3xf32, #dist.layout<[tp, -]>>) -> tensor<4x6x3xf32, #dist.layout<[tp, -, -]>>
  return
}

// -----

// A norm needs the whole row.
func.func @l4_blocked(%x: tensor<4x6xf32, #dist.layout<[-, tp]>>, %w: tensor<6xf32, #dist.layout<[tp]>>) {
  // expected-error @+1 {{factor 'D' must not be sharded but operand 0 dim 1 is sharded by "tp"}}
  %0, %1 = tgpt.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<6xf32, #dist.layout<[tp]>>) -> (tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<4xf32, #dist.layout<[-]>>)
  return
}

// -----

dist.mesh @mesh (tp = 4)
func.func @l5_divides(%x: tensor<4x6xf32, #dist.layout<[-, tp]>>) {
  // expected-error @+1 {{operand 0 dim 1 has 6 elements but "tp" = 4 does not divide them; nearest legal number is 4}}
  %0 = tgpt.gelu %x : (tensor<4x6xf32, #dist.layout<[-, tp]>>) -> tensor<4x6xf32, #dist.layout<[-, tp]>>
  return
}

// -----

// 24 elements would divide by 4, but they are 3 heads.
dist.mesh @mesh (tp = 4)
func.func @l5_divides_in_heads(%x: tensor<1x2x24xf32, #dist.layout<[-, -, tp]>>) {
  // expected-error @+1 {{operand 0 dim 2 has 3 heads of 8 elements but "tp" = 4 does not divide them; nearest legal number is 4}}
  %0 = tgpt.rope %x {head_dim = 8 : i64, theta = 1.0e4 : f64} : (tensor<1x2x24xf32, #dist.layout<[-, -, tp]>>) -> tensor<1x2x24xf32, #dist.layout<[-, -, tp]>>
  return
}

// -----

dist.mesh @mesh (tp = 2)
func.func @claim_of_another_size(%x: tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 8]>>) {
  // expected-error @+1 {{operand 0 dim 1 holds 2 of 8 elements but "tp" = 2 makes shards of another size}}
  %0 = tgpt.gelu %x : (tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 8]>>) -> tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 8]>>
  return
}

// -----

dist.mesh @mesh (tp = 2)
func.func @axis_of_the_mesh(%x: tensor<4x8xf32, #dist.layout<[-, ep]>>) {
  // expected-error @+1 {{operand 0 dim 1 is sharded by "ep", which is not an axis of the mesh}}
  %0 = tgpt.gelu %x : (tensor<4x8xf32, #dist.layout<[-, ep]>>) -> tensor<4x8xf32, #dist.layout<[-, ep]>>
  return
}

// -----

// A partial sum read as if it were whole: the missing all_reduce.
func.func @l6_partial_read_as_whole(%x: tensor<4x6xf32, #dist.layout<[-, tp]>>, %w: tensor<10x6xf32, #dist.layout<[-, tp]>>) {
  // expected-note @+1 {{operand 0 comes from here, with layout #dist.layout<[-, -], partial = [tp]>}}
  %0 = tgpt.linear %x, %w : (tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<10x6xf32, #dist.layout<[-, tp]>>) -> tensor<4x10xf32, #dist.layout<[-, -], partial = [tp]>>
  // expected-error @+1 {{operand 0 is partial over "tp" but the op is not linear in it}}
  %1 = tgpt.gelu %0 : (tensor<4x10xf32, #dist.layout<[-, -], partial = [tp]>>) -> tensor<4x10xf32, #dist.layout<[-, -]>>
  return
}

// -----

// x + partial(y) would count x once a rank.
func.func @l6_sum_of_whole_and_partial(%x: tensor<4xf32, #dist.layout<[-]>>, %y: tensor<4xf32, #dist.layout<[-], partial = [tp]>>) {
  // expected-error @+1 {{operand 1 is partial over "tp" but operand 0 is not}}
  %0 = tgpt.add %x, %y : (tensor<4xf32, #dist.layout<[-]>>, tensor<4xf32, #dist.layout<[-], partial = [tp]>>) -> tensor<4xf32, #dist.layout<[-], partial = [tp]>>
  return
}

// -----

func.func @l6_sum_of_different_partials(%x: tensor<4xf32, #dist.layout<[-], partial = [dp]>>, %y: tensor<4xf32, #dist.layout<[-], partial = [tp]>>) {
  // expected-error @+1 {{operand 1 is partial over "tp" but operand 0 is over "dp"}}
  %0 = tgpt.add %x, %y : (tensor<4xf32, #dist.layout<[-], partial = [dp]>>, tensor<4xf32, #dist.layout<[-], partial = [tp]>>) -> tensor<4xf32, #dist.layout<[-], partial = [dp, tp]>>
  return
}

// -----

func.func @l6_sum_of_maxima(%x: tensor<4xf32, #dist.layout<[-], partial = max [tp]>>) {
  // expected-error @+1 {{operand 0 is a partial maximum over "tp" but the op is linear only in sums}}
  %0 = tgpt.add %x, %x : (tensor<4xf32, #dist.layout<[-], partial = max [tp]>>, tensor<4xf32, #dist.layout<[-], partial = max [tp]>>) -> tensor<4xf32, #dist.layout<[-], partial = max [tp]>>
  return
}

// -----

// The contracted dim is sharded, so the result is a partial sum, whatever one writes.
func.func @l7_forgotten_partial(%x: tensor<4x6xf32, #dist.layout<[-, tp]>>, %w: tensor<10x6xf32, #dist.layout<[-, tp]>>) {
  // expected-error @+1 {{result 0 must be partial over "tp", which shards factor 'K' of the operands, but is not}}
  %0 = tgpt.linear %x, %w : (tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<10x6xf32, #dist.layout<[-, tp]>>) -> tensor<4x10xf32, #dist.layout<[-, -]>>
  return
}

// -----

func.func @l7_dropped_partial(%x: tensor<4xf32, #dist.layout<[-], partial = [tp]>>) {
  // expected-error @+1 {{result 0 must be partial over "tp", as the operands are, but is not}}
  %0 = tgpt.add %x, %x : (tensor<4xf32, #dist.layout<[-], partial = [tp]>>, tensor<4xf32, #dist.layout<[-], partial = [tp]>>) -> tensor<4xf32, #dist.layout<[-]>>
  return
}

// -----

// A whole value taken for a partial one would be reduced once too often.
func.func @l7_whole_taken_for_partial(%x: tensor<4x6xf32, #dist.layout<[-, -]>>, %w: tensor<10x6xf32, #dist.layout<[-, -]>>) {
  // expected-error @+1 {{result 0 is partial over "tp" but the operands give its whole value}}
  %0 = tgpt.linear %x, %w : (tensor<4x6xf32, #dist.layout<[-, -]>>, tensor<10x6xf32, #dist.layout<[-, -]>>) -> tensor<4x10xf32, #dist.layout<[-, -], partial = [tp]>>
  return
}

// -----

// The addends of a product are no maxima.
func.func @l7_kind(%x: tensor<2x4x6xf32, #dist.layout<[-, -, tp]>>, %w: tensor<10x6xf32, #dist.layout<[-, tp]>>) {
  // expected-error @+1 {{result 0 is a partial max but the op reduces by sum}}
  %0 = tgpt.linear %x, %w : (tensor<2x4x6xf32, #dist.layout<[-, -, tp]>>, tensor<10x6xf32, #dist.layout<[-, tp]>>) -> tensor<2x4x10xf32, #dist.layout<[-, -, -], partial = max [tp]>>
  return
}

// -----

// Under sequence parallelism a norm's weight gradient is a sum over tp as well.
func.func @l7_norm_gradient_under_sp(%dy: tensor<2x4x6xf32, #dist.layout<[dp, tp, -]>>, %x: tensor<2x4x6xf32, #dist.layout<[dp, tp, -]>>,
                                     %w: tensor<6xf32, #dist.layout<[-]>>, %rstd: tensor<2x4xf32, #dist.layout<[dp, tp]>>) {
  // expected-error @+1 {{result 1 must be partial over "tp", which shards factor 'b' of the operands, but is not}}
  %0:2 = tgpt.rms_norm_grad %dy, %x, %w, %rstd
      : (tensor<2x4x6xf32, #dist.layout<[dp, tp, -]>>, tensor<2x4x6xf32, #dist.layout<[dp, tp, -]>>, tensor<6xf32, #dist.layout<[-]>>, tensor<2x4xf32, #dist.layout<[dp, tp]>>)
      -> (tensor<2x4x6xf32, #dist.layout<[dp, tp, -]>>, tensor<6xf32, #dist.layout<[-], partial = [dp]>>)
  return
}

// -----

// A fill of 0 may stand for a partial value; of 1 it may not.
func.func @l7_fill() {
  %0 = tgpt.fill {value = 0.0 : f64} : () -> tensor<4xf32, #dist.layout<[-], partial = [tp]>>
  // expected-error @+1 {{result 0 is partial over "tp" but the operands give its whole value}}
  %1 = tgpt.fill {value = 1.0 : f64} : () -> tensor<4xf32, #dist.layout<[-], partial = [tp]>>
  return
}

// -----

// A gradient that nobody reduces: the state would take addends for the sum.
tgpt.parameter @w : tensor<4x6xf32, #dist.layout<[-, -]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
// expected-note @+1 {{@w.gradient declared here}}
tgpt.state gradient @w.gradient of @w : tensor<4x6xf32, #dist.layout<[-, -]>>
func.func @never_reduced_at_accumulate(%g: tensor<4x6xf32, #dist.layout<[-, -], partial = [dp]>>) {
  // expected-error @+1 {{'tgpt.accumulate' op}}
  tgpt.accumulate %g, @w.gradient : tensor<4x6xf32, #dist.layout<[-, -], partial = [dp]>>
  return
}

// -----

// expected-note @+1 {{@w declared here}}
tgpt.parameter @w : tensor<4x6xf32, #dist.layout<[-, -]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @never_reduced_at_write(%g: tensor<4x6xf32, #dist.layout<[-, -], partial = [dp]>>) {
  // expected-error @+1 {{'tgpt.write' op}}
  tgpt.write %g, @w : tensor<4x6xf32, #dist.layout<[-, -], partial = [dp]>>
  return
}

// -----

// Reduced twice: what is whole cannot be reduced again.
dist.mesh @mesh (dp = 2, tp = 2)
func.func @reduced_twice(%x: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>) {
  // expected-note @+1 {{operand comes from here, with layout #dist.layout<[-], of = [4]>}}
  %0 = dist.all_reduce sum %x over ["tp"] : tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
  // expected-error @+1 {{operand is not partial over "tp" but over no axis}}
  %1 = dist.all_reduce sum %0 over ["tp"] : tensor<4xf32, #dist.layout<[-], of = [4]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
  return
}

// -----

// Products of factors: axes are dealt out to KV heads, then to the query heads of each.
dist.mesh @mesh (dp = 2, tp = 2, tp_inner = 2)
!q = tensor<2x3x16xf32, #dist.layout<[dp, -, {tp, tp_inner}]>>
!k = tensor<2x3x8xf32, #dist.layout<[dp, -, tp]>>
!lse = tensor<2x4x3xf32, #dist.layout<[dp, {tp, tp_inner}, -]>>
!dk = tensor<2x3x8xf32, #dist.layout<[dp, -, tp], partial = [tp_inner]>>
!x = tensor<2x3x6xf32, #dist.layout<[dp, -, -]>>
func.func @shared_kv_heads(%q: !q, %k: !k, %x: !x, %wk: tensor<8x6xf32, #dist.layout<[tp, -]>>) {
  %o, %lse = tgpt.attention %q, %k, %k {head_dim = 4 : i64, scale = 1.0 : f64} : (!q, !k, !k) -> (!q, !lse)
  %dq, %dk, %dv = tgpt.attention_grad %o, %q, %k, %k, %o, %lse {head_dim = 4 : i64, scale = 1.0 : f64} : (!q, !q, !k, !k, !q, !lse) -> (!q, !dk, !dk)
  // Linear ops pass the addends on, and reductions of their own join them.
  %r = tgpt.rope %dk {head_dim = 4 : i64, theta = 1.0e4 : f64, inverse = true} : (!dk) -> !dk
  %dx = tgpt.linear_dgrad %r, %wk : (!dk, tensor<8x6xf32, #dist.layout<[tp, -]>>) -> tensor<2x3x6xf32, #dist.layout<[dp, -, -], partial = [tp, tp_inner]>>
  %dw = tgpt.linear_wgrad %r, %x : (!dk, !x) -> tensor<8x6xf32, #dist.layout<[tp, -], partial = [dp, tp_inner]>>
  // expected-error @+1 {{result 0 must be partial over "tp_inner", as operand 0 is, but is not}}
  %lost = tgpt.linear_wgrad %r, %x : (!dk, !x) -> tensor<8x6xf32, #dist.layout<[tp, -], partial = [dp]>>
  return
}

// -----

dist.mesh @mesh (tp = 2, tp_inner = 2)
!q = tensor<2x3x32xf32, #dist.layout<[-, -, {tp, tp_inner}]>>
!k = tensor<2x3x16xf32, #dist.layout<[-, -, tp]>>
!lse = tensor<2x8x3xf32, #dist.layout<[-, {tp, tp_inner}, -]>>
func.func @l2_query_heads_without_their_kv_heads(%q: !q, %k: !k) {
  // 4 KV heads: both axes cut them in the queries, one in the keys.
  // expected-error @+1 {{factor 'H' is sharded by "tp", "tp_inner" in operand 0 but by "tp" in operand 1}}
  %o, %lse = tgpt.attention %q, %k, %k {head_dim = 4 : i64, scale = 1.0 : f64} : (!q, !k, !k) -> (!q, !lse)
  return
}

// -----

dist.mesh @mesh (tp = 2, tp_inner = 2)
!q = tensor<2x3x24xf32, #dist.layout<[-, -, {tp, tp_inner}]>>
!k = tensor<2x3x8xf32, #dist.layout<[-, -, tp]>>
!lse = tensor<2x6x3xf32, #dist.layout<[-, -, -]>>
func.func @l5_divides_query_heads_of_a_kv_head(%q: !q, %k: !k) {
  // expected-error @+1 {{operand 0 dim 2 has 3 query heads (factor 'G') but "tp_inner" = 2 does not divide them; nearest legal number is 2}}
  %o, %lse = tgpt.attention %q, %k, %k {head_dim = 4 : i64, scale = 1.0 : f64} : (!q, !k, !k) -> (!q, !lse)
  return
}

// -----

dist.mesh @mesh (tp = 2, tp_inner = 2)
!q = tensor<2x3x48xf32, #dist.layout<[-, -, {tp, tp_inner}]>>
!k = tensor<2x3x24xf32, #dist.layout<[-, -, -]>>
!lse = tensor<2x12x3xf32, #dist.layout<[-, -, -]>>
func.func @l5_divides_kv_heads(%q: !q, %k: !k) {
  // expected-error @+1 {{operand 0 dim 2 has 6 KV heads (factor 'H') but "tp", "tp_inner" = 4 does not divide them; nearest legal number is 4}}
  %o, %lse = tgpt.attention %q, %k, %k {head_dim = 4 : i64, scale = 1.0 : f64} : (!q, !k, !k) -> (!q, !lse)
  return
}

// -----

dist.mesh @mesh (tp = 2, tp_inner = 2)
!q = tensor<2x3x16xf32, #dist.layout<[-, -, {tp, tp_inner}]>>
!k = tensor<2x3x8xf32, #dist.layout<[-, -, {tp, tp_inner}]>>
!lse = tensor<2x4x3xf32, #dist.layout<[-, {tp, tp_inner}, -]>>
func.func @l4_elements_of_a_head_are_blocked(%q: !q, %k: !k) {
  // expected-error @+1 {{factor 'D' is sharded by "tp_inner" in operand 1 but not in operand 0}}
  %o, %lse = tgpt.attention %q, %k, %k {head_dim = 4 : i64, scale = 1.0 : f64} : (!q, !k, !k) -> (!q, !lse)
  return
}

// -----

dist.mesh @mesh (tp = 2, dp = 2)
!dy = tensor<4x8xf32, #dist.layout<[-, -], partial = [tp]>>
!w = tensor<8x6xf32, #dist.layout<[-, -], partial = [tp]>>
func.func @l6_product_of_sums(%dy: !dy, %w: !w) {
  // expected-error @+1 {{operand 0 and operand 1 are both partial over "tp": a product of sums is no sum of products}}
  %dx = tgpt.linear_dgrad %dy, %w : (!dy, !w) -> tensor<4x6xf32, #dist.layout<[-, -], partial = [tp]>>
  return
}
