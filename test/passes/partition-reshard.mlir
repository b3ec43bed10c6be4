// RUN: tgpt-opt %s --dist-partition --dist-verify-partitioned | FileCheck %s

// Each pair of layouts and the collectives that lead from one to the other with the
// fewest bytes. Nothing but these is written: what follows the last is the return.

dist.mesh @mesh (dp = 2, pp = 1, tp = 3)

// Addends to the whole: one all_reduce.
// CHECK-LABEL: @sum_to_whole(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_reduce sum %[[X]] over ["tp"]
// CHECK-NEXT: return %[[A]]
func.func @sum_to_whole(%x: tensor<12x18xf32, #dist.layout<[-, -], partial = [tp]>>) -> tensor<12x18xf32, #dist.layout<[-, -]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[-, -], partial = [tp]>> to tensor<12x18xf32, #dist.layout<[-, -]>>
  return %0 : tensor<12x18xf32, #dist.layout<[-, -]>>
}

// Two axes are reduced at once.
// CHECK-LABEL: @sum_over_two_axes(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_reduce sum %[[X]] over ["dp", "tp"]
// CHECK-NEXT: return %[[A]]
func.func @sum_over_two_axes(%x: tensor<12x18xf32, #dist.layout<[-, -], partial = [dp, tp]>>) -> tensor<12x18xf32, #dist.layout<[-, -]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[-, -], partial = [dp, tp]>> to tensor<12x18xf32, #dist.layout<[-, -]>>
  return %0 : tensor<12x18xf32, #dist.layout<[-, -]>>
}

// An axis that the target is partial over stays.
// CHECK-LABEL: @sum_over_one_of_two_axes(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_reduce sum %[[X]] over ["tp"]
// CHECK-NEXT: return %[[A]]
func.func @sum_over_one_of_two_axes(%x: tensor<12x18xf32, #dist.layout<[-, -], partial = [dp, tp]>>) -> tensor<12x18xf32, #dist.layout<[-, -], partial = [dp]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[-, -], partial = [dp, tp]>> to tensor<12x18xf32, #dist.layout<[-, -], partial = [dp]>>
  return %0 : tensor<12x18xf32, #dist.layout<[-, -], partial = [dp]>>
}

// Addends to pieces: half the bytes of all_reduce and slice.
// CHECK-LABEL: @sum_to_pieces(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.reduce_scatter %[[X]] dim 1 over ["tp"]
// CHECK-NEXT: return %[[A]]
func.func @sum_to_pieces(%x: tensor<12x18xf32, #dist.layout<[-, -], partial = [tp]>>) -> tensor<12x18xf32, #dist.layout<[-, tp]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[-, -], partial = [tp]>> to tensor<12x18xf32, #dist.layout<[-, tp]>>
  return %0 : tensor<12x18xf32, #dist.layout<[-, tp]>>
}

// The new axis goes inside the one that is there.
// CHECK-LABEL: @sum_to_inner_pieces(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.reduce_scatter %[[X]] dim 0 over ["tp"]
// CHECK-NEXT: return %[[A]]
func.func @sum_to_inner_pieces(%x: tensor<12x18xf32, #dist.layout<[dp, -], partial = [tp]>>) -> tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[dp, -], partial = [tp]>> to tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>>
  return %0 : tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>>
}

// Both axes in one step.
// CHECK-LABEL: @sum_to_pieces_over_two_axes(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.reduce_scatter %[[X]] dim 0 over ["tp", "dp"]
// CHECK-NEXT: return %[[A]]
func.func @sum_to_pieces_over_two_axes(%x: tensor<12x18xf32, #dist.layout<[-, -], partial = [dp, tp]>>) -> tensor<12x18xf32, #dist.layout<[{tp, dp}, -]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[-, -], partial = [dp, tp]>> to tensor<12x18xf32, #dist.layout<[{tp, dp}, -]>>
  return %0 : tensor<12x18xf32, #dist.layout<[{tp, dp}, -]>>
}

// Both axes, a dim each.
// CHECK-LABEL: @sum_to_pieces_of_two_dims(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.reduce_scatter %[[X]] dim 0 over ["dp"]
// CHECK-NEXT: %[[B:.+]] = dist.reduce_scatter %[[A]] dim 1 over ["tp"]
// CHECK-NEXT: return %[[B]]
func.func @sum_to_pieces_of_two_dims(%x: tensor<12x18xf32, #dist.layout<[-, -], partial = [dp, tp]>>) -> tensor<12x18xf32, #dist.layout<[dp, tp]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[-, -], partial = [dp, tp]>> to tensor<12x18xf32, #dist.layout<[dp, tp]>>
  return %0 : tensor<12x18xf32, #dist.layout<[dp, tp]>>
}

// Scatter first, so that the other axis reduces less.
// CHECK-LABEL: @sum_one_axis_scatter_the_other(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.reduce_scatter %[[X]] dim 0 over ["tp"]
// CHECK-NEXT: %[[B:.+]] = dist.all_reduce sum %[[A]] over ["dp"]
// CHECK-NEXT: return %[[B]]
func.func @sum_one_axis_scatter_the_other(%x: tensor<12x18xf32, #dist.layout<[-, -], partial = [dp, tp]>>) -> tensor<12x18xf32, #dist.layout<[tp, -]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[-, -], partial = [dp, tp]>> to tensor<12x18xf32, #dist.layout<[tp, -]>>
  return %0 : tensor<12x18xf32, #dist.layout<[tp, -]>>
}

// A slice costs nothing and makes the reduction smaller.
// CHECK-LABEL: @slice_before_sum(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.slice %[[X]] dim 0 over ["dp"]
// CHECK-NEXT: %[[B:.+]] = dist.all_reduce sum %[[A]] over ["tp"]
// CHECK-NEXT: return %[[B]]
func.func @slice_before_sum(%x: tensor<12x18xf32, #dist.layout<[-, -], partial = [tp]>>) -> tensor<12x18xf32, #dist.layout<[dp, -]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[-, -], partial = [tp]>> to tensor<12x18xf32, #dist.layout<[dp, -]>>
  return %0 : tensor<12x18xf32, #dist.layout<[dp, -]>>
}

// A maximum can only be reduced, then sliced.
// CHECK-LABEL: @max_to_pieces(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_reduce max %[[X]] over ["tp"]
// CHECK-NEXT: %[[B:.+]] = dist.slice %[[A]] dim 0 over ["tp"]
// CHECK-NEXT: return %[[B]]
func.func @max_to_pieces(%x: tensor<12x18xf32, #dist.layout<[-, -], partial = max [tp]>>) -> tensor<12x18xf32, #dist.layout<[tp, -]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[-, -], partial = max [tp]>> to tensor<12x18xf32, #dist.layout<[tp, -]>>
  return %0 : tensor<12x18xf32, #dist.layout<[tp, -]>>
}

// Pieces to the whole.
// CHECK-LABEL: @pieces_to_whole(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_gather %[[X]] dim 1 over ["tp"]
// CHECK-NEXT: return %[[A]]
func.func @pieces_to_whole(%x: tensor<12x18xf32, #dist.layout<[-, tp]>>) -> tensor<12x18xf32, #dist.layout<[-, -]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[-, tp]>> to tensor<12x18xf32, #dist.layout<[-, -]>>
  return %0 : tensor<12x18xf32, #dist.layout<[-, -]>>
}

// Both axes of a dim are gathered at once.
// CHECK-LABEL: @pieces_of_two_axes_to_whole(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_gather %[[X]] dim 0 over ["dp", "tp"]
// CHECK-NEXT: return %[[A]]
func.func @pieces_of_two_axes_to_whole(%x: tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>>) -> tensor<12x18xf32, #dist.layout<[-, -]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>> to tensor<12x18xf32, #dist.layout<[-, -]>>
  return %0 : tensor<12x18xf32, #dist.layout<[-, -]>>
}

// The inner axis alone.
// CHECK-LABEL: @inner_pieces_to_outer(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_gather %[[X]] dim 0 over ["tp"]
// CHECK-NEXT: return %[[A]]
func.func @inner_pieces_to_outer(%x: tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>>) -> tensor<12x18xf32, #dist.layout<[dp, -]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>> to tensor<12x18xf32, #dist.layout<[dp, -]>>
  return %0 : tensor<12x18xf32, #dist.layout<[dp, -]>>
}

// An outer axis can go only with the inner one, which is sliced again.
// CHECK-LABEL: @outer_pieces_leave(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_gather %[[X]] dim 0 over ["dp", "tp"]
// CHECK-NEXT: %[[B:.+]] = dist.slice %[[A]] dim 0 over ["tp"]
// CHECK-NEXT: return %[[B]]
func.func @outer_pieces_leave(%x: tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>>) -> tensor<12x18xf32, #dist.layout<[tp, -]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>> to tensor<12x18xf32, #dist.layout<[tp, -]>>
  return %0 : tensor<12x18xf32, #dist.layout<[tp, -]>>
}

// Whole to pieces: no communication.
// CHECK-LABEL: @whole_to_pieces(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.slice %[[X]] dim 0 over ["tp"]
// CHECK-NEXT: %[[B:.+]] = dist.slice %[[A]] dim 1 over ["dp"]
// CHECK-NEXT: return %[[B]]
func.func @whole_to_pieces(%x: tensor<12x18xf32, #dist.layout<[-, -]>>) -> tensor<12x18xf32, #dist.layout<[tp, dp]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[-, -]>> to tensor<12x18xf32, #dist.layout<[tp, dp]>>
  return %0 : tensor<12x18xf32, #dist.layout<[tp, dp]>>
}

// Whole to pieces of two axes: one slice.
// CHECK-LABEL: @whole_to_pieces_of_two_axes(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.slice %[[X]] dim 0 over ["dp", "tp"]
// CHECK-NEXT: return %[[A]]
func.func @whole_to_pieces_of_two_axes(%x: tensor<12x18xf32, #dist.layout<[-, -]>>) -> tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[-, -]>> to tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>>
  return %0 : tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>>
}

// An axis moves between dims.
// CHECK-LABEL: @axis_moves(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_to_all %[[X]] split 1 concat 0 over ["tp"]
// CHECK-NEXT: return %[[A]]
func.func @axis_moves(%x: tensor<12x18xf32, #dist.layout<[tp, -]>>) -> tensor<12x18xf32, #dist.layout<[-, tp]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[tp, -]>> to tensor<12x18xf32, #dist.layout<[-, tp]>>
  return %0 : tensor<12x18xf32, #dist.layout<[-, tp]>>
}

// Two axes move together.
// CHECK-LABEL: @two_axes_move(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_to_all %[[X]] split 1 concat 0 over ["dp", "tp"]
// CHECK-NEXT: return %[[A]]
func.func @two_axes_move(%x: tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>>) -> tensor<12x18xf32, #dist.layout<[-, {dp, tp}]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>> to tensor<12x18xf32, #dist.layout<[-, {dp, tp}]>>
  return %0 : tensor<12x18xf32, #dist.layout<[-, {dp, tp}]>>
}

// The inner axis moves, the outer stays.
// CHECK-LABEL: @inner_axis_moves(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_to_all %[[X]] split 1 concat 0 over ["tp"]
// CHECK-NEXT: return %[[A]]
func.func @inner_axis_moves(%x: tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>>) -> tensor<12x18xf32, #dist.layout<[dp, tp]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>> to tensor<12x18xf32, #dist.layout<[dp, tp]>>
  return %0 : tensor<12x18xf32, #dist.layout<[dp, tp]>>
}

// An axis moves inside another.
// CHECK-LABEL: @axis_moves_inside(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_to_all %[[X]] split 0 concat 1 over ["tp"]
// CHECK-NEXT: return %[[A]]
func.func @axis_moves_inside(%x: tensor<12x18xf32, #dist.layout<[dp, tp]>>) -> tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[dp, tp]>> to tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>>
  return %0 : tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>>
}

// The axis moves, then its new dim is sliced further: no other way does less.
// CHECK-LABEL: @slice_before_move(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_to_all %[[X]] split 1 concat 0 over ["tp"]
// CHECK-NEXT: %[[B:.+]] = dist.slice %[[A]] dim 1 over ["dp"]
// CHECK-NEXT: return %[[B]]
func.func @slice_before_move(%x: tensor<12x18xf32, #dist.layout<[tp, -]>>) -> tensor<12x18xf32, #dist.layout<[-, {tp, dp}]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[tp, -]>> to tensor<12x18xf32, #dist.layout<[-, {tp, dp}]>>
  return %0 : tensor<12x18xf32, #dist.layout<[-, {tp, dp}]>>
}

// Moving tp first makes room for dp to scatter.
// CHECK-LABEL: @sum_and_move(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_to_all %[[X]] split 0 concat 1 over ["tp"]
// CHECK-NEXT: %[[B:.+]] = dist.reduce_scatter %[[A]] dim 1 over ["dp"]
// CHECK-NEXT: return %[[B]]
func.func @sum_and_move(%x: tensor<12x18xf32, #dist.layout<[-, tp], partial = [dp]>>) -> tensor<12x18xf32, #dist.layout<[tp, dp]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[-, tp], partial = [dp]>> to tensor<12x18xf32, #dist.layout<[tp, dp]>>
  return %0 : tensor<12x18xf32, #dist.layout<[tp, dp]>>
}

// Two axes change places: gather the smaller, move the other, slice.
// CHECK-LABEL: @axes_swap(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_gather %[[X]] dim 0 over ["dp"]
// CHECK-NEXT: %[[B:.+]] = dist.all_to_all %[[A]] split 0 concat 1 over ["tp"]
// CHECK-NEXT: %[[C:.+]] = dist.slice %[[B]] dim 1 over ["dp"]
// CHECK-NEXT: return %[[C]]
func.func @axes_swap(%x: tensor<12x18xf32, #dist.layout<[dp, tp]>>) -> tensor<12x18xf32, #dist.layout<[tp, dp]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[dp, tp]>> to tensor<12x18xf32, #dist.layout<[tp, dp]>>
  return %0 : tensor<12x18xf32, #dist.layout<[tp, dp]>>
}

// Two axes of a dim change order.
// CHECK-LABEL: @axes_reorder(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_gather %[[X]] dim 0 over ["dp", "tp"]
// CHECK-NEXT: %[[B:.+]] = dist.slice %[[A]] dim 0 over ["tp", "dp"]
// CHECK-NEXT: return %[[B]]
func.func @axes_reorder(%x: tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>>) -> tensor<12x18xf32, #dist.layout<[{tp, dp}, -]>> {
  %0 = dist.reshard %x : tensor<12x18xf32, #dist.layout<[{dp, tp}, -]>> to tensor<12x18xf32, #dist.layout<[{tp, dp}, -]>>
  return %0 : tensor<12x18xf32, #dist.layout<[{tp, dp}, -]>>
}

// Sequence to heads, the dims of activations: dim 1 to dim 2.
// CHECK-LABEL: @middle_dim_to_last(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_to_all %[[X]] split 2 concat 1 over ["tp"]
// CHECK-NEXT: return %[[A]]
func.func @middle_dim_to_last(%x: tensor<4x6x9xf32, #dist.layout<[dp, tp, -]>>) -> tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>> {
  %0 = dist.reshard %x : tensor<4x6x9xf32, #dist.layout<[dp, tp, -]>> to tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>>
  return %0 : tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>>
}

// Sequence parallelism: the addends of a row-parallel linear.
// CHECK-LABEL: @sum_to_sequence(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.reduce_scatter %[[X]] dim 1 over ["tp"]
// CHECK-NEXT: return %[[A]]
func.func @sum_to_sequence(%x: tensor<4x6x9xf32, #dist.layout<[dp, -, -], partial = [tp]>>) -> tensor<4x6x9xf32, #dist.layout<[dp, tp, -]>> {
  %0 = dist.reshard %x : tensor<4x6x9xf32, #dist.layout<[dp, -, -], partial = [tp]>> to tensor<4x6x9xf32, #dist.layout<[dp, tp, -]>>
  return %0 : tensor<4x6x9xf32, #dist.layout<[dp, tp, -]>>
}

// ... and the way back.
// CHECK-LABEL: @sequence_to_whole(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_gather %[[X]] dim 1 over ["tp"]
// CHECK-NEXT: return %[[A]]
func.func @sequence_to_whole(%x: tensor<4x6x9xf32, #dist.layout<[dp, tp, -]>>) -> tensor<4x6x9xf32, #dist.layout<[dp, -, -]>> {
  %0 = dist.reshard %x : tensor<4x6x9xf32, #dist.layout<[dp, tp, -]>> to tensor<4x6x9xf32, #dist.layout<[dp, -, -]>>
  return %0 : tensor<4x6x9xf32, #dist.layout<[dp, -, -]>>
}

// A scalar has no dims to scatter.
// CHECK-LABEL: @scalar(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_reduce sum %[[X]] over ["dp", "tp"]
// CHECK-NEXT: return %[[A]]
func.func @scalar(%x: tensor<f32, #dist.layout<[], partial = [dp, tp]>>) -> tensor<f32, #dist.layout<[]>> {
  %0 = dist.reshard %x : tensor<f32, #dist.layout<[], partial = [dp, tp]>> to tensor<f32, #dist.layout<[]>>
  return %0 : tensor<f32, #dist.layout<[]>>
}

// The layer of the reshard is that of its collectives.
// CHECK-LABEL: @attributes_are_kept(
// CHECK: dist.slice {{.*}} {tgpt.layer = 7 : i64}
// CHECK: dist.all_reduce {{.*}} {tgpt.layer = 7 : i64}
func.func @attributes_are_kept(%x: tensor<12xf32, #dist.layout<[-], partial = [tp]>>) -> tensor<12xf32, #dist.layout<[dp]>> {
  %0 = dist.reshard %x {tgpt.layer = 7 : i64} : tensor<12xf32, #dist.layout<[-], partial = [tp]>> to tensor<12xf32, #dist.layout<[dp]>>
  return %0 : tensor<12xf32, #dist.layout<[dp]>>
}
