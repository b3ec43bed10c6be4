// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s

// CHECK: dist.mesh @mesh (dp = 2, pp = 1, tp = 3)
dist.mesh @mesh (dp = 2, pp = 1, tp = 3)

// CHECK: @replicated(tensor<4x6xf32, #dist.layout<[-, -]>>)
func.func private @replicated(tensor<4x6xf32, #dist.layout<[-, -]>>)
// CHECK: @sharded(tensor<4x6xf32, #dist.layout<[dp, tp]>>)
func.func private @sharded(tensor<4x6xf32, #dist.layout<[dp, tp]>>)
// CHECK: @two_axes_in_one_dim(tensor<6x6xf32, #dist.layout<[{dp, tp}, -]>>)
func.func private @two_axes_in_one_dim(tensor<6x6xf32, #dist.layout<[{dp, tp}, -]>>)
// One axis in braces is that axis.
// CHECK: @braces_around_one_axis(tensor<6x6xf32, #dist.layout<[tp, -]>>)
func.func private @braces_around_one_axis(tensor<6x6xf32, #dist.layout<[{tp}, -]>>)
// CHECK: @partial(tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>)
func.func private @partial(tensor<4x6xf32, #dist.layout<[dp, -], partial = sum [tp]>>)
// CHECK: @partial_max(tensor<4xf32, #dist.layout<[dp], partial = max [tp]>>)
func.func private @partial_max(tensor<4xf32, #dist.layout<[dp], partial = max [tp]>>)
// The order of partial axes has no meaning, so both spellings are one type.
// CHECK: @partial_order(tensor<4xf32, #dist.layout<[-], partial = [dp, tp]>>, tensor<4xf32, #dist.layout<[-], partial = [dp, tp]>>)
func.func private @partial_order(tensor<4xf32, #dist.layout<[-], partial = [tp, dp]>>, tensor<4xf32, #dist.layout<[-], partial = [dp, tp]>>)
// CHECK: @scalar(tensor<f32, #dist.layout<[], partial = [dp, tp]>>)
func.func private @scalar(tensor<f32, #dist.layout<[], partial = [dp, tp]>>)
// CHECK: @local(tensor<2x6xf32, #dist.layout<[dp, -], partial = [tp], of = [4, 6]>>)
func.func private @local(tensor<2x6xf32, #dist.layout<[dp, -], partial = [tp], of = [4, 6]>>)
// CHECK: @local_scalar(tensor<f32, #dist.layout<[], of = []>>)
func.func private @local_scalar(tensor<f32, #dist.layout<[], of = []>>)
