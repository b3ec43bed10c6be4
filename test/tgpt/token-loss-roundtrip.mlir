// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @plain
// CHECK: tgpt.token_loss %{{.+}}, %{{.+}} : (tensor<4x6xi32>, tensor<1x2x4x6xf64>) -> (tensor<f64>, tensor<f64>, tensor<4x6xf64>)
func.func @plain(%labels: tensor<4x6xi32>, %statistics: tensor<1x2x4x6xf64>) {
  %0, %1, %2 = tgpt.token_loss %labels, %statistics : (tensor<4x6xi32>, tensor<1x2x4x6xf64>) -> (tensor<f64>, tensor<f64>, tensor<4x6xf64>)
  return
}

// CHECK-LABEL: @batch_sharded
// CHECK: tgpt.token_loss %{{.+}}, %{{.+}} : (tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<3x2x4x6xf32, #dist.layout<[-, -, dp, -]>>) -> (tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>)
func.func @batch_sharded(%labels: tensor<4x6xi32, #dist.layout<[dp, -]>>, %statistics: tensor<3x2x4x6xf32, #dist.layout<[-, -, dp, -]>>) {
  %0, %1, %2 = tgpt.token_loss %labels, %statistics : (tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<3x2x4x6xf32, #dist.layout<[-, -, dp, -]>>) -> (tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>)
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @batch_sharded_local
// CHECK: tgpt.token_loss %{{.+}}, %{{.+}} : (tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>, tensor<3x2x2x6xf32, #dist.layout<[-, -, dp, -], of = [3, 2, 4, 6]>>) -> (tensor<f32, #dist.layout<[], partial = [dp], of = []>>, tensor<f32, #dist.layout<[], partial = [dp], of = []>>, tensor<2x6xf32, #dist.layout<[dp, -], of = [4, 6]>>)
func.func @batch_sharded_local(%labels: tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>, %statistics: tensor<3x2x2x6xf32, #dist.layout<[-, -, dp, -], of = [3, 2, 4, 6]>>) {
  %0, %1, %2 = tgpt.token_loss %labels, %statistics : (tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>, tensor<3x2x2x6xf32, #dist.layout<[-, -, dp, -], of = [3, 2, 4, 6]>>) -> (tensor<f32, #dist.layout<[], partial = [dp], of = []>>, tensor<f32, #dist.layout<[], partial = [dp], of = []>>, tensor<2x6xf32, #dist.layout<[dp, -], of = [4, 6]>>)
  return
}

// CHECK-LABEL: @smoothed
// CHECK: tgpt.token_loss %{{.+}}, %{{.+}} {label_smoothing = 1.000000e-01 : f64} : (tensor<4x6xi32>, tensor<3x3x4x6xf32>)
func.func @smoothed(%labels: tensor<4x6xi32>, %statistics: tensor<3x3x4x6xf32>) {
  %0, %1, %2 = tgpt.token_loss %labels, %statistics {label_smoothing = 1.000000e-01 : f64} : (tensor<4x6xi32>, tensor<3x3x4x6xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}
