// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @plain
// CHECK: tgpt.divide %{{.+}}, %{{.+}} : (tensor<f32>, tensor<f32>) -> tensor<f32>
func.func @plain(%x: tensor<f32>, %y: tensor<f32>) {
  %0 = tgpt.divide %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// CHECK-LABEL: @replicated
// CHECK: tgpt.divide %{{.+}}, %{{.+}} : (tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>) -> tensor<f32, #dist.layout<[]>>
func.func @replicated(%x: tensor<f32, #dist.layout<[]>>, %y: tensor<f32, #dist.layout<[]>>) {
  %0 = tgpt.divide %x, %y : (tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>) -> tensor<f32, #dist.layout<[]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @replicated_local
// CHECK: tgpt.divide %{{.+}}, %{{.+}} : (tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>) -> tensor<f32, #dist.layout<[], of = []>>
func.func @replicated_local(%x: tensor<f32, #dist.layout<[], of = []>>, %y: tensor<f32, #dist.layout<[], of = []>>) {
  %0 = tgpt.divide %x, %y : (tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>) -> tensor<f32, #dist.layout<[], of = []>>
  return
}
