// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @reshard_c1_layouts(%0: tensor<4x6xf32>) {
  // expected-error @+1 {{operand has no layout}}
  %1 = dist.reshard %0 : tensor<4x6xf32> to tensor<4x6xf32, #dist.layout<[tp, -]>>
  return
}

// -----

func.func @reshard_c2_no_axis_becomes_partial(%0: tensor<4x6xf32, #dist.layout<[-, -]>>) {
  // expected-error @+1 {{result is partial over "tp" but the operand is not}}
  %1 = dist.reshard %0 : tensor<4x6xf32, #dist.layout<[-, -]>> to tensor<4x6xf32, #dist.layout<[-, -], partial = [tp]>>
  return
}

// -----

func.func @reshard_c2_reduction_stays(%0: tensor<4xf32, #dist.layout<[-], partial = max [tp]>>) {
  // expected-error @+1 {{changes the reduction from max to sum}}
  %1 = dist.reshard %0 : tensor<4xf32, #dist.layout<[-], partial = max [tp]>> to tensor<4xf32, #dist.layout<[-], partial = [tp]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @all_reduce_c1_operand_partial(%0: tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>) {
  // expected-error @+1 {{operand is not partial over "tp" but over "dp"}}
  %1 = dist.all_reduce sum %0 over ["tp"] : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @all_reduce_c1_result_not_partial(%0: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>) {
  // expected-error @+1 {{result has layout #dist.layout<[-], partial = [tp], of = [4]> but #dist.layout<[-], of = [4]> follows}}
  %1 = dist.all_reduce sum %0 over ["tp"] : tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>> to tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @all_reduce_c1_kind(%0: tensor<4xf32, #dist.layout<[-], partial = max [tp], of = [4]>>) {
  // expected-error @+1 {{combines by sum but the operand is partial by max}}
  %1 = dist.all_reduce sum %0 over ["tp"] : tensor<4xf32, #dist.layout<[-], partial = max [tp], of = [4]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @all_reduce_c2_element_type(%0: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>) {
  // expected-error @+1 {{operand has element type 'f32' but the result has 'f64'}}
  %1 = dist.all_reduce sum %0 over ["tp"] : tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>> to tensor<4xf64, #dist.layout<[-], of = [4]>>
  return
}

// -----

dist.mesh @mesh (pp = 2, tp = 3)
func.func @all_reduce_c3_stage_in_range(%0: tensor<f32, #dist.layout<[], partial = [pp], of = []>>) {
  // expected-error @+1 {{stage 2 is not in the range of "pp" = 2}}
  %1 = dist.all_reduce sum %0 over ["pp"] stages [0, 2] : tensor<f32, #dist.layout<[], partial = [pp], of = []>> to tensor<f32, #dist.layout<[], of = []>>
  return
}

// -----

dist.mesh @mesh (pp = 2, tp = 3)
func.func @all_reduce_c3_stages_unique(%0: tensor<f32, #dist.layout<[], partial = [pp], of = []>>) {
  // expected-error @+1 {{names stage 1 twice}}
  %1 = dist.all_reduce sum %0 over ["pp"] stages [1, 1] : tensor<f32, #dist.layout<[], partial = [pp], of = []>> to tensor<f32, #dist.layout<[], of = []>>
  return
}

// -----

dist.mesh @mesh (pp = 2, tp = 3)
func.func @all_reduce_c3_stages_need_pp(%0: tensor<f32, #dist.layout<[], partial = [tp], of = []>>) {
  // expected-error @+1 {{has stages but no axis "pp"}}
  %1 = dist.all_reduce sum %0 over ["tp"] stages [0, 1] : tensor<f32, #dist.layout<[], partial = [tp], of = []>> to tensor<f32, #dist.layout<[], of = []>>
  return
}

// -----

func.func @collective_needs_mesh(%0: tensor<2xf32, #dist.layout<[tp], of = [4]>>) {
  // expected-error @+1 {{needs a dist.mesh in its module}}
  %1 = dist.all_gather %0 dim 0 over ["tp"] : tensor<2xf32, #dist.layout<[tp], of = [4]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
  return
}

// -----

dist.mesh @mesh (tp = 2)
func.func @collective_needs_claims(%0: tensor<4xf32, #dist.layout<[tp]>>) {
  // expected-error @+1 {{needs local types, whose layout says 'of' which global tensor they are a part}}
  %1 = dist.all_gather %0 dim 0 over ["tp"] : tensor<4xf32, #dist.layout<[tp]>> to tensor<4xf32, #dist.layout<[-]>>
  return
}

// -----

// expected-note @+1 {{mesh declared here}}
dist.mesh @mesh (tp = 2)
func.func @collective_axis_of_mesh(%0: tensor<2xf32, #dist.layout<[ep], of = [4]>>) {
  // expected-error @+1 {{axis "ep" is not an axis of the mesh}}
  %1 = dist.all_gather %0 dim 0 over ["ep"] : tensor<2xf32, #dist.layout<[ep], of = [4]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
  return
}

// -----

dist.mesh @mesh (tp = 2)
func.func @collective_axis_twice(%0: tensor<2xf32, #dist.layout<[tp], of = [4]>>) {
  // expected-error @+1 {{names axis "tp" twice}}
  %1 = dist.all_gather %0 dim 0 over ["tp", "tp"] : tensor<2xf32, #dist.layout<[tp], of = [4]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
  return
}

// -----

dist.mesh @mesh (tp = 2)
func.func @collective_without_axes(%0: tensor<2xf32, #dist.layout<[tp], of = [4]>>) {
  // expected-error @+1 {{needs at least one axis}}
  %1 = dist.all_gather %0 dim 0 over [] : tensor<2xf32, #dist.layout<[tp], of = [4]>> to tensor<2xf32, #dist.layout<[tp], of = [4]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @all_gather_c1_innermost(%0: tensor<2xf32, #dist.layout<[{dp, tp}], of = [12]>>) {
  // expected-error @+1 {{"dp" must be the innermost axes of operand dim 0, which is sharded by "dp", "tp"}}
  %1 = dist.all_gather %0 dim 0 over ["dp"] : tensor<2xf32, #dist.layout<[{dp, tp}], of = [12]>> to tensor<4xf32, #dist.layout<[tp], of = [12]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @all_gather_c1_result_loses_axes(%0: tensor<2xf32, #dist.layout<[tp], of = [6]>>) {
  // expected-error @+1 {{result has layout #dist.layout<[tp], of = [6]> but #dist.layout<[-], of = [6]> follows}}
  %1 = dist.all_gather %0 dim 0 over ["tp"] : tensor<2xf32, #dist.layout<[tp], of = [6]>> to tensor<2xf32, #dist.layout<[tp], of = [6]>>
  return
}

// -----

// expected-note @+1 {{mesh declared here}}
dist.mesh @mesh (dp = 2, tp = 3)
func.func @all_gather_c2_shape(%0: tensor<3xf32, #dist.layout<[tp], of = [6]>>) {
  // expected-error @+1 {{operand dim 0 is 3 but 6 over "tp" is 2}}
  %1 = dist.all_gather %0 dim 0 over ["tp"] : tensor<3xf32, #dist.layout<[tp], of = [6]>> to tensor<6xf32, #dist.layout<[-], of = [6]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @all_gather_dim_in_range(%0: tensor<2xf32, #dist.layout<[tp], of = [6]>>) {
  // expected-error @+1 {{dim is 1 but the tensor has 1 dims}}
  %1 = dist.all_gather %0 dim 1 over ["tp"] : tensor<2xf32, #dist.layout<[tp], of = [6]>> to tensor<6xf32, #dist.layout<[-], of = [6]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @reduce_scatter_c1_partial(%0: tensor<6xf32, #dist.layout<[-], of = [6]>>) {
  // expected-error @+1 {{operand is not partial over "tp" but over no axis}}
  %1 = dist.reduce_scatter %0 dim 0 over ["tp"] : tensor<6xf32, #dist.layout<[-], of = [6]>> to tensor<2xf32, #dist.layout<[tp], of = [6]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @reduce_scatter_c1_sum(%0: tensor<6xf32, #dist.layout<[-], partial = max [tp], of = [6]>>) {
  // expected-error @+1 {{combines by sum but the operand is partial by max}}
  %1 = dist.reduce_scatter %0 dim 0 over ["tp"] : tensor<6xf32, #dist.layout<[-], partial = max [tp], of = [6]>> to tensor<2xf32, #dist.layout<[tp], of = [6]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @reduce_scatter_c1_innermost(%0: tensor<6xf32, #dist.layout<[dp], partial = [tp], of = [12]>>) {
  // expected-error @+1 {{result has layout #dist.layout<[{tp, dp}], of = [12]> but #dist.layout<[{dp, tp}], of = [12]> follows}}
  %1 = dist.reduce_scatter %0 dim 0 over ["tp"] : tensor<6xf32, #dist.layout<[dp], partial = [tp], of = [12]>> to tensor<2xf32, #dist.layout<[{tp, dp}], of = [12]>>
  return
}

// -----

// expected-note @+1 {{mesh declared here}}
dist.mesh @mesh (dp = 2, tp = 3)
func.func @reduce_scatter_c2_divides(%0: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>) {
  // expected-error @+1 {{result dim 0 is 4 but "tp" = 3 does not divide it; nearest legal size is 3}}
  %1 = dist.reduce_scatter %0 dim 0 over ["tp"] : tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>> to tensor<2xf32, #dist.layout<[tp], of = [4]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @all_to_all_c1_concat_is_sharded(%0: tensor<6x9xf32, #dist.layout<[-, -], of = [6, 9]>>) {
  // expected-error @+1 {{"tp" must be the innermost axes of operand dim 0, which is sharded by no axis}}
  %1 = dist.all_to_all %0 split 1 concat 0 over ["tp"] : tensor<6x9xf32, #dist.layout<[-, -], of = [6, 9]>> to tensor<6x3xf32, #dist.layout<[-, tp], of = [6, 9]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @all_to_all_c1_split_is_sharded(%0: tensor<2x9xf32, #dist.layout<[tp, -], of = [6, 9]>>) {
  // expected-error @+1 {{result has layout #dist.layout<[-, -], of = [6, 9]> but #dist.layout<[-, tp], of = [6, 9]> follows}}
  %1 = dist.all_to_all %0 split 1 concat 0 over ["tp"] : tensor<2x9xf32, #dist.layout<[tp, -], of = [6, 9]>> to tensor<6x9xf32, #dist.layout<[-, -], of = [6, 9]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @all_to_all_c2_dims_differ(%0: tensor<2x9xf32, #dist.layout<[tp, -], of = [6, 9]>>) {
  // expected-error @+1 {{splits and concatenates the same dim 0}}
  %1 = dist.all_to_all %0 split 0 concat 0 over ["tp"] : tensor<2x9xf32, #dist.layout<[tp, -], of = [6, 9]>> to tensor<2x9xf32, #dist.layout<[tp, -], of = [6, 9]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @slice_c1_partial(%0: tensor<6xf32, #dist.layout<[-], partial = [tp], of = [6]>>) {
  // expected-error @+1 {{operand must be replicated over "tp" but is partial over it}}
  %1 = dist.slice %0 dim 0 over ["tp"] : tensor<6xf32, #dist.layout<[-], partial = [tp], of = [6]>> to tensor<2xf32, #dist.layout<[tp], of = [6]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @slice_c1_sharded(%0: tensor<2x6xf32, #dist.layout<[tp, -], of = [6, 6]>>) {
  // expected-error @+1 {{operand must be replicated over "tp" but its dim 0 is sharded by it}}
  %1 = dist.slice %0 dim 1 over ["tp"] : tensor<2x6xf32, #dist.layout<[tp, -], of = [6, 6]>> to tensor<6x2xf32, #dist.layout<[-, tp], of = [6, 6]>>
  return
}

// -----

// expected-note @+1 {{mesh declared here}}
dist.mesh @mesh (dp = 2, tp = 3)
func.func @slice_c2_shape(%0: tensor<6xf32, #dist.layout<[-], of = [6]>>) {
  // expected-error @+1 {{result dim 0 is 3 but 6 over "tp" is 2}}
  %1 = dist.slice %0 dim 0 over ["tp"] : tensor<6xf32, #dist.layout<[-], of = [6]>> to tensor<3xf32, #dist.layout<[tp], of = [6]>>
  return
}

// -----

// expected-note @+1 {{mesh declared here}}
dist.mesh @mesh (tp = 3)
func.func @stage_addend_c1_stages(%0: tensor<4xf32, #dist.layout<[-], of = [4]>>) {
  // expected-error @+1 {{axis "pp" is not an axis of the mesh}}
  %1 = dist.stage_addend %0 : tensor<4xf32, #dist.layout<[-], of = [4]>> to tensor<4xf32, #dist.layout<[-], partial = [pp], of = [4]>>
  return
}

// -----

dist.mesh @mesh (pp = 2, tp = 3)
func.func @stage_addend_c2_result(%0: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>) {
  // expected-error @+1 {{result has layout #dist.layout<[-], partial = [pp], of = [4]> but #dist.layout<[-], partial = [pp, tp], of = [4]> follows}}
  %1 = dist.stage_addend %0 : tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>> to tensor<4xf32, #dist.layout<[-], partial = [pp], of = [4]>>
  return
}

// -----

// A maximum over tp of which the stages hold addends: no order of reductions gives a value.
dist.mesh @mesh (pp = 2, tp = 3)
func.func @stage_addend_c2_sum(%0: tensor<4xf32, #dist.layout<[-], partial = max [tp], of = [4]>>) {
  // expected-error @+1 {{of which there is no sum over "pp"}}
  %1 = dist.stage_addend %0 : tensor<4xf32, #dist.layout<[-], partial = max [tp], of = [4]>> to tensor<4xf32, #dist.layout<[-], partial = [pp, tp], of = [4]>>
  return
}

// -----

// Summed over the stages though each holds the whole: the norm would count pp times.
dist.mesh @mesh (pp = 2, tp = 3)
func.func @all_reduce_c1_stages(%0: tensor<f32, #dist.layout<[], of = []>>) {
  // expected-error @+1 {{operand is not partial over "pp" but over no axis}}
  %1 = dist.all_reduce sum %0 over ["pp"] : tensor<f32, #dist.layout<[], of = []>> to tensor<f32, #dist.layout<[], of = []>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 2)
func.func @all_reduce_c4_max(%x: tensor<4xf32, #dist.layout<[-], partial = max [tp], of = [4]>>) {
  // expected-error @below {{adds in a tree but combines by max}}
  %0 = dist.all_reduce max %x over ["tp"] tree : tensor<4xf32, #dist.layout<[-], partial = max [tp], of = [4]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 2)
func.func @all_reduce_c4_axes(%x: tensor<4xf32, #dist.layout<[-], partial = [dp, tp], of = [4]>>) {
  // expected-error @below {{adds in a tree over axes in another order than the mesh's: "tp", "dp"}}
  %0 = dist.all_reduce sum %x over ["tp", "dp"] tree : tensor<4xf32, #dist.layout<[-], partial = [dp, tp], of = [4]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 2)
func.func @reduce_scatter_c3(%x: tensor<4xf32, #dist.layout<[-], partial = [dp, tp], of = [4]>>) {
  // expected-error @below {{adds in a tree over axes in another order than the mesh's: "tp", "dp"}}
  %0 = dist.reduce_scatter %x dim 0 over ["tp", "dp"] tree : tensor<4xf32, #dist.layout<[-], partial = [dp, tp], of = [4]>> to tensor<1xf32, #dist.layout<[{tp, dp}], of = [4]>>
  return
}
