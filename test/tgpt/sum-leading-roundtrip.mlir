// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// A bias.
// CHECK-LABEL: @one_trailing_dim
// CHECK: tgpt.sum_leading %{{.+}} : (tensor<4x6x9xbf16>) -> tensor<9xf32>
func.func @one_trailing_dim(%dy: tensor<4x6x9xbf16>) {
  %0 = tgpt.sum_leading %dy : (tensor<4x6x9xbf16>) -> tensor<9xf32>
  return
}

// A position table.
// CHECK-LABEL: @two_trailing_dims
// CHECK: tgpt.sum_leading %{{.+}} : (tensor<4x6x9xf64>) -> tensor<6x9xf64>
func.func @two_trailing_dims(%dy: tensor<4x6x9xf64>) {
  %0 = tgpt.sum_leading %dy : (tensor<4x6x9xf64>) -> tensor<6x9xf64>
  return
}

// No dim is left.
// CHECK-LABEL: @scalar
// CHECK: tgpt.sum_leading %{{.+}} : (tensor<4x6xf32>) -> tensor<f32>
func.func @scalar(%dy: tensor<4x6xf32>) {
  %0 = tgpt.sum_leading %dy : (tensor<4x6xf32>) -> tensor<f32>
  return
}

// Each rank sums its part of the batch.
// CHECK-LABEL: @batch_sharded
// CHECK: tgpt.sum_leading %{{.+}} : (tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>>) -> tensor<9xf32, #dist.layout<[tp], partial = [dp]>>
func.func @batch_sharded(%dy: tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>>) {
  %0 = tgpt.sum_leading %dy : (tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>>) -> tensor<9xf32, #dist.layout<[tp], partial = [dp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @batch_sharded_local
// CHECK: tgpt.sum_leading %{{.+}} : (tensor<2x6x3xf32, #dist.layout<[dp, -, tp], of = [4, 6, 9]>>) -> tensor<3xf32, #dist.layout<[tp], partial = [dp], of = [9]>>
func.func @batch_sharded_local(%dy: tensor<2x6x3xf32, #dist.layout<[dp, -, tp], of = [4, 6, 9]>>) {
  %0 = tgpt.sum_leading %dy : (tensor<2x6x3xf32, #dist.layout<[dp, -, tp], of = [4, 6, 9]>>) -> tensor<3xf32, #dist.layout<[tp], partial = [dp], of = [9]>>
  return
}

// Linear: what is partial stays so.
// CHECK-LABEL: @partial_input
// CHECK: tgpt.sum_leading %{{.+}} : (tensor<4x6x9xf32, #dist.layout<[dp, -, -], partial = [tp]>>) -> tensor<9xf32, #dist.layout<[-], partial = [dp, tp]>>
func.func @partial_input(%dy: tensor<4x6x9xf32, #dist.layout<[dp, -, -], partial = [tp]>>) {
  %0 = tgpt.sum_leading %dy : (tensor<4x6x9xf32, #dist.layout<[dp, -, -], partial = [tp]>>) -> tensor<9xf32, #dist.layout<[-], partial = [dp, tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @partial_input_local
// CHECK: tgpt.sum_leading %{{.+}} : (tensor<2x6x9xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 9]>>) -> tensor<9xf32, #dist.layout<[-], partial = [dp, tp], of = [9]>>
func.func @partial_input_local(%dy: tensor<2x6x9xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 9]>>) {
  %0 = tgpt.sum_leading %dy : (tensor<2x6x9xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 9]>>) -> tensor<9xf32, #dist.layout<[-], partial = [dp, tp], of = [9]>>
  return
}
