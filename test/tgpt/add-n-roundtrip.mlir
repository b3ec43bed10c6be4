// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @one
// CHECK: tgpt.add_n %{{.+}} : (tensor<4x6xf32>) -> tensor<4x6xf32>
func.func @one(%a: tensor<4x6xf32>) {
  %0 = tgpt.add_n %a : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// CHECK-LABEL: @three
// CHECK: tgpt.add_n %{{.+}}, %{{.+}}, %{{.+}} : (tensor<4x6xbf16>, tensor<4x6xbf16>, tensor<4x6xbf16>) -> tensor<4x6xbf16>
func.func @three(%a: tensor<4x6xbf16>, %b: tensor<4x6xbf16>, %c: tensor<4x6xbf16>) {
  %0 = tgpt.add_n %a, %b, %c : (tensor<4x6xbf16>, tensor<4x6xbf16>, tensor<4x6xbf16>) -> tensor<4x6xbf16>
  return
}

// CHECK-LABEL: @scalars
// CHECK: tgpt.add_n %{{.+}}, %{{.+}} : (tensor<f64>, tensor<f64>) -> tensor<f64>
func.func @scalars(%a: tensor<f64>, %b: tensor<f64>) {
  %0 = tgpt.add_n %a, %b : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return
}

// The sum of addends is an addend of the sum.
// CHECK-LABEL: @partial
// CHECK: tgpt.add_n %{{.+}}, %{{.+}} : (tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp]>>, tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp]>>) -> tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp]>>
func.func @partial(%a: tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp]>>, %b: tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp]>>) {
  %0 = tgpt.add_n %a, %b : (tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp]>>, tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp]>>) -> tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @partial_local
// CHECK: tgpt.add_n %{{.+}}, %{{.+}} : (tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp], of = [4, 6]>>, tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp], of = [4, 6]>>) -> tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp], of = [4, 6]>>
func.func @partial_local(%a: tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp], of = [4, 6]>>, %b: tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp], of = [4, 6]>>) {
  %0 = tgpt.add_n %a, %b : (tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp], of = [4, 6]>>, tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp], of = [4, 6]>>) -> tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp], of = [4, 6]>>
  return
}
