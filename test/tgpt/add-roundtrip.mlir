// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// A residual connection.
// CHECK-LABEL: @same_shape
// CHECK: tgpt.add %{{.+}}, %{{.+}} : (tensor<?x6x12xf32>, tensor<?x6x12xf32>) -> tensor<?x6x12xf32>
func.func @same_shape(%x: tensor<?x6x12xf32>, %y: tensor<?x6x12xf32>) {
  %0 = tgpt.add %x, %y : (tensor<?x6x12xf32>, tensor<?x6x12xf32>) -> tensor<?x6x12xf32>
  return
}

// A position table.
// CHECK-LABEL: @broadcast
// CHECK: tgpt.add %{{.+}}, %{{.+}} : (tensor<4x6x12xbf16>, tensor<6x12xbf16>) -> tensor<4x6x12xbf16>
func.func @broadcast(%x: tensor<4x6x12xbf16>, %y: tensor<6x12xbf16>) {
  %0 = tgpt.add %x, %y : (tensor<4x6x12xbf16>, tensor<6x12xbf16>) -> tensor<4x6x12xbf16>
  return
}

// CHECK-LABEL: @scalar
// CHECK: tgpt.add %{{.+}}, %{{.+}} : (tensor<4x6x12xf64>, tensor<f64>) -> tensor<4x6x12xf64>
func.func @scalar(%x: tensor<4x6x12xf64>, %y: tensor<f64>) {
  %0 = tgpt.add %x, %y : (tensor<4x6x12xf64>, tensor<f64>) -> tensor<4x6x12xf64>
  return
}

// CHECK-LABEL: @sharded
// CHECK: tgpt.add %{{.+}}, %{{.+}} : (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<6x12xf32, #dist.layout<[tp, -]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>
func.func @sharded(%x: tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, %y: tensor<6x12xf32, #dist.layout<[tp, -]>>) {
  %0 = tgpt.add %x, %y : (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<6x12xf32, #dist.layout<[tp, -]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @sharded_local
// CHECK: tgpt.add %{{.+}}, %{{.+}} : (tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, tensor<2x12xf32, #dist.layout<[tp, -], of = [6, 12]>>) -> tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>
func.func @sharded_local(%x: tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, %y: tensor<2x12xf32, #dist.layout<[tp, -], of = [6, 12]>>) {
  %0 = tgpt.add %x, %y : (tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, tensor<2x12xf32, #dist.layout<[tp, -], of = [6, 12]>>) -> tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>
  return
}

// The sum of addends is an addend of the sum.
// CHECK-LABEL: @partial
// CHECK: tgpt.add %{{.+}}, %{{.+}} : (tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>
func.func @partial(%x: tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>, %y: tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>) {
  %0 = tgpt.add %x, %y : (tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @partial_local
// CHECK: tgpt.add %{{.+}}, %{{.+}} : (tensor<2x6x12xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 12]>>, tensor<2x6x12xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 12]>>) -> tensor<2x6x12xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 12]>>
func.func @partial_local(%x: tensor<2x6x12xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 12]>>, %y: tensor<2x6x12xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 12]>>) {
  %0 = tgpt.add %x, %y : (tensor<2x6x12xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 12]>>, tensor<2x6x12xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 12]>>) -> tensor<2x6x12xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 12]>>
  return
}
