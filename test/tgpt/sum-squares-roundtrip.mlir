// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @matrix
// CHECK: tgpt.sum_squares %{{.+}} : (tensor<4x6xf64>) -> tensor<f64>
func.func @matrix(%gradient: tensor<4x6xf64>) {
  %0 = tgpt.sum_squares %gradient : (tensor<4x6xf64>) -> tensor<f64>
  return
}

// CHECK-LABEL: @scalar
// CHECK: tgpt.sum_squares %{{.+}} : (tensor<f32>) -> tensor<f32>
func.func @scalar(%gradient: tensor<f32>) {
  %0 = tgpt.sum_squares %gradient : (tensor<f32>) -> tensor<f32>
  return
}

// A shard gives its share of the sum.
// CHECK-LABEL: @sharded
// CHECK: tgpt.sum_squares %{{.+}} : (tensor<4x6xf32, #dist.layout<[dp, tp]>>) -> tensor<f32, #dist.layout<[], partial = [dp, tp]>>
func.func @sharded(%gradient: tensor<4x6xf32, #dist.layout<[dp, tp]>>) {
  %0 = tgpt.sum_squares %gradient : (tensor<4x6xf32, #dist.layout<[dp, tp]>>) -> tensor<f32, #dist.layout<[], partial = [dp, tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @sharded_local
// CHECK: tgpt.sum_squares %{{.+}} : (tensor<2x2xf32, #dist.layout<[dp, tp], of = [4, 6]>>) -> tensor<f32, #dist.layout<[], partial = [dp, tp], of = []>>
func.func @sharded_local(%gradient: tensor<2x2xf32, #dist.layout<[dp, tp], of = [4, 6]>>) {
  %0 = tgpt.sum_squares %gradient : (tensor<2x2xf32, #dist.layout<[dp, tp], of = [4, 6]>>) -> tensor<f32, #dist.layout<[], partial = [dp, tp], of = []>>
  return
}
