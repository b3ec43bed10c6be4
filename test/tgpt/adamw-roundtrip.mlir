// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @matrix
// CHECK: tgpt.adamw %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (tensor<4x6xf64>, tensor<4x6xf64>, tensor<4x6xf64>, tensor<4x6xf64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4x6xf64>, tensor<4x6xf64>, tensor<4x6xf64>)
func.func @matrix(%p: tensor<4x6xf64>, %g: tensor<4x6xf64>, %m: tensor<4x6xf64>, %v: tensor<4x6xf64>, %scale: tensor<f64>, %lr: tensor<f64>, %step: tensor<f64>) {
  %0, %1, %2 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %step {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (tensor<4x6xf64>, tensor<4x6xf64>, tensor<4x6xf64>, tensor<4x6xf64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4x6xf64>, tensor<4x6xf64>, tensor<4x6xf64>)
  return
}

// CHECK-LABEL: @sharded
// CHECK: tgpt.adamw %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>) -> (tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<4x6xf32, #dist.layout<[-, tp]>>)
func.func @sharded(%p: tensor<4x6xf32, #dist.layout<[-, tp]>>, %g: tensor<4x6xf32, #dist.layout<[-, tp]>>, %m: tensor<4x6xf32, #dist.layout<[-, tp]>>, %v: tensor<4x6xf32, #dist.layout<[-, tp]>>, %scale: tensor<f32, #dist.layout<[]>>, %lr: tensor<f32, #dist.layout<[]>>, %step: tensor<f32, #dist.layout<[]>>) {
  %0, %1, %2 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %step {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>) -> (tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<4x6xf32, #dist.layout<[-, tp]>>, tensor<4x6xf32, #dist.layout<[-, tp]>>)
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @sharded_local
// CHECK: tgpt.adamw %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>) -> (tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>)
func.func @sharded_local(%p: tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, %g: tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, %m: tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, %v: tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, %scale: tensor<f32, #dist.layout<[], of = []>>, %lr: tensor<f32, #dist.layout<[], of = []>>, %step: tensor<f32, #dist.layout<[], of = []>>) {
  %0, %1, %2 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %step {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>) -> (tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>, tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>)
  return
}
