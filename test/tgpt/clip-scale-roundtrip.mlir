// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @plain
// CHECK: tgpt.clip_scale %{{.+}}, %{{.+}} {max_norm = 1.000000e+00 : f64} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
func.func @plain(%squares: tensor<f32>, %count: tensor<f32>) {
  %0, %1 = tgpt.clip_scale %squares, %count {max_norm = 1.000000e+00 : f64} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// CHECK-LABEL: @no_clipping
// CHECK: tgpt.clip_scale %{{.+}}, %{{.+}} {max_norm = 0.000000e+00 : f64} : (tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
func.func @no_clipping(%squares: tensor<f64>, %count: tensor<f64>) {
  %0, %1 = tgpt.clip_scale %squares, %count {max_norm = 0.000000e+00 : f64} : (tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
  return
}

// CHECK-LABEL: @scaled_loss
// CHECK: tgpt.clip_scale %{{.+}}, %{{.+}}, %{{.+}} {max_norm = 1.000000e+00 : f64} : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
func.func @scaled_loss(%squares: tensor<f32>, %count: tensor<f32>, %scale: tensor<f32>) {
  %0, %1 = tgpt.clip_scale %squares, %count, %scale {max_norm = 1.000000e+00 : f64} : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// CHECK-LABEL: @replicated
// CHECK: tgpt.clip_scale %{{.+}}, %{{.+}} {max_norm = 1.000000e+00 : f64} : (tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>) -> (tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>)
func.func @replicated(%squares: tensor<f32, #dist.layout<[]>>, %count: tensor<f32, #dist.layout<[]>>) {
  %0, %1 = tgpt.clip_scale %squares, %count {max_norm = 1.000000e+00 : f64} : (tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>) -> (tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>)
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @replicated_local
// CHECK: tgpt.clip_scale %{{.+}}, %{{.+}} {max_norm = 1.000000e+00 : f64} : (tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>) -> (tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>)
func.func @replicated_local(%squares: tensor<f32, #dist.layout<[], of = []>>, %count: tensor<f32, #dist.layout<[], of = []>>) {
  %0, %1 = tgpt.clip_scale %squares, %count {max_norm = 1.000000e+00 : f64} : (tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>) -> (tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>)
  return
}
