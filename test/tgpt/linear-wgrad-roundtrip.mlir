// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// The gradient has the accumulation type.
// CHECK-LABEL: @accumulation_type
// CHECK: tgpt.linear_wgrad %{{.+}}, %{{.+}} : (tensor<4x6x9xbf16>, tensor<4x6x12xbf16>) -> tensor<9x12xf32>
func.func @accumulation_type(%dy: tensor<4x6x9xbf16>, %x: tensor<4x6x12xbf16>) {
  %0 = tgpt.linear_wgrad %dy, %x : (tensor<4x6x9xbf16>, tensor<4x6x12xbf16>) -> tensor<9x12xf32>
  return
}

// Each rank sums over its part of the batch.
// CHECK-LABEL: @column_parallel
// CHECK: tgpt.linear_wgrad %{{.+}}, %{{.+}} : (tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>) -> tensor<9x12xf32, #dist.layout<[tp, -], partial = [dp]>>
func.func @column_parallel(%dy: tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>>, %x: tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>) {
  %0 = tgpt.linear_wgrad %dy, %x : (tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>) -> tensor<9x12xf32, #dist.layout<[tp, -], partial = [dp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @column_parallel_local
// CHECK: tgpt.linear_wgrad %{{.+}}, %{{.+}} : (tensor<2x6x3xf32, #dist.layout<[dp, -, tp], of = [4, 6, 9]>>, tensor<2x6x12xf32, #dist.layout<[dp, -, -], of = [4, 6, 12]>>) -> tensor<3x12xf32, #dist.layout<[tp, -], partial = [dp], of = [9, 12]>>
func.func @column_parallel_local(%dy: tensor<2x6x3xf32, #dist.layout<[dp, -, tp], of = [4, 6, 9]>>, %x: tensor<2x6x12xf32, #dist.layout<[dp, -, -], of = [4, 6, 12]>>) {
  %0 = tgpt.linear_wgrad %dy, %x : (tensor<2x6x3xf32, #dist.layout<[dp, -, tp], of = [4, 6, 9]>>, tensor<2x6x12xf32, #dist.layout<[dp, -, -], of = [4, 6, 12]>>) -> tensor<3x12xf32, #dist.layout<[tp, -], partial = [dp], of = [9, 12]>>
  return
}
