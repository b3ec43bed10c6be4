// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @plain
// CHECK: tgpt.linear_dgrad %{{.+}}, %{{.+}} : (tensor<4x6x9xbf16>, tensor<9x12xbf16>) -> tensor<4x6x12xbf16>
func.func @plain(%dy: tensor<4x6x9xbf16>, %w: tensor<9x12xbf16>) {
  %0 = tgpt.linear_dgrad %dy, %w : (tensor<4x6x9xbf16>, tensor<9x12xbf16>) -> tensor<4x6x12xbf16>
  return
}

// Of a column-parallel linear: each rank has an addend.
// CHECK-LABEL: @column_parallel
// CHECK: tgpt.linear_dgrad %{{.+}}, %{{.+}} : (tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>>, tensor<9x12xf32, #dist.layout<[tp, -]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>
func.func @column_parallel(%dy: tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>>, %w: tensor<9x12xf32, #dist.layout<[tp, -]>>) {
  %0 = tgpt.linear_dgrad %dy, %w : (tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>>, tensor<9x12xf32, #dist.layout<[tp, -]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @column_parallel_local
// CHECK: tgpt.linear_dgrad %{{.+}}, %{{.+}} : (tensor<2x6x3xf32, #dist.layout<[dp, -, tp], of = [4, 6, 9]>>, tensor<3x12xf32, #dist.layout<[tp, -], of = [9, 12]>>) -> tensor<2x6x12xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 12]>>
func.func @column_parallel_local(%dy: tensor<2x6x3xf32, #dist.layout<[dp, -, tp], of = [4, 6, 9]>>, %w: tensor<3x12xf32, #dist.layout<[tp, -], of = [9, 12]>>) {
  %0 = tgpt.linear_dgrad %dy, %w : (tensor<2x6x3xf32, #dist.layout<[dp, -, tp], of = [4, 6, 9]>>, tensor<3x12xf32, #dist.layout<[tp, -], of = [9, 12]>>) -> tensor<2x6x12xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 12]>>
  return
}

// Of a row-parallel linear.
// CHECK-LABEL: @row_parallel
// CHECK: tgpt.linear_dgrad %{{.+}}, %{{.+}} : (tensor<4x6x9xf32, #dist.layout<[dp, -, -]>>, tensor<9x12xf32, #dist.layout<[-, tp]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>
func.func @row_parallel(%dy: tensor<4x6x9xf32, #dist.layout<[dp, -, -]>>, %w: tensor<9x12xf32, #dist.layout<[-, tp]>>) {
  %0 = tgpt.linear_dgrad %dy, %w : (tensor<4x6x9xf32, #dist.layout<[dp, -, -]>>, tensor<9x12xf32, #dist.layout<[-, tp]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @row_parallel_local
// CHECK: tgpt.linear_dgrad %{{.+}}, %{{.+}} : (tensor<2x6x9xf32, #dist.layout<[dp, -, -], of = [4, 6, 9]>>, tensor<9x4xf32, #dist.layout<[-, tp], of = [9, 12]>>) -> tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>
func.func @row_parallel_local(%dy: tensor<2x6x9xf32, #dist.layout<[dp, -, -], of = [4, 6, 9]>>, %w: tensor<9x4xf32, #dist.layout<[-, tp], of = [9, 12]>>) {
  %0 = tgpt.linear_dgrad %dy, %w : (tensor<2x6x9xf32, #dist.layout<[dp, -, -], of = [4, 6, 9]>>, tensor<9x4xf32, #dist.layout<[-, tp], of = [9, 12]>>) -> tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>
  return
}
