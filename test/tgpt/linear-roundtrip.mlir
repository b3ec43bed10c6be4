// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @without_bias
// CHECK: tgpt.linear %{{.+}}, %{{.+}} : (tensor<?x6x12xf32>, tensor<9x12xf32>) -> tensor<?x6x9xf32>
func.func @without_bias(%x: tensor<?x6x12xf32>, %w: tensor<9x12xf32>) {
  %0 = tgpt.linear %x, %w : (tensor<?x6x12xf32>, tensor<9x12xf32>) -> tensor<?x6x9xf32>
  return
}

// CHECK-LABEL: @with_bias
// CHECK: tgpt.linear %{{.+}}, %{{.+}}, %{{.+}} : (tensor<4x6x12xf64>, tensor<9x12xf64>, tensor<9xf64>) -> tensor<4x6x9xf64>
func.func @with_bias(%x: tensor<4x6x12xf64>, %w: tensor<9x12xf64>, %bias: tensor<9xf64>) {
  %0 = tgpt.linear %x, %w, %bias : (tensor<4x6x12xf64>, tensor<9x12xf64>, tensor<9xf64>) -> tensor<4x6x9xf64>
  return
}

// Rows without leading dims.
// CHECK-LABEL: @one_row
// CHECK: tgpt.linear %{{.+}}, %{{.+}} : (tensor<12xf32>, tensor<9x12xf32>) -> tensor<9xf32>
func.func @one_row(%x: tensor<12xf32>, %w: tensor<9x12xf32>) {
  %0 = tgpt.linear %x, %w : (tensor<12xf32>, tensor<9x12xf32>) -> tensor<9xf32>
  return
}

// The logits of a bf16 model may come in f32.
// CHECK-LABEL: @wider_result
// CHECK: tgpt.linear %{{.+}}, %{{.+}} : (tensor<4x6x12xbf16>, tensor<9x12xbf16>) -> tensor<4x6x9xf32>
func.func @wider_result(%x: tensor<4x6x12xbf16>, %w: tensor<9x12xbf16>) {
  %0 = tgpt.linear %x, %w : (tensor<4x6x12xbf16>, tensor<9x12xbf16>) -> tensor<4x6x9xf32>
  return
}

// Column-parallel: each rank computes its output features.
// CHECK-LABEL: @column_parallel
// CHECK: tgpt.linear %{{.+}}, %{{.+}}, %{{.+}} : (tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>, tensor<9x12xf32, #dist.layout<[tp, -]>>, tensor<9xf32, #dist.layout<[tp]>>) -> tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>>
func.func @column_parallel(%x: tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>, %w: tensor<9x12xf32, #dist.layout<[tp, -]>>, %bias: tensor<9xf32, #dist.layout<[tp]>>) {
  %0 = tgpt.linear %x, %w, %bias : (tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>, tensor<9x12xf32, #dist.layout<[tp, -]>>, tensor<9xf32, #dist.layout<[tp]>>) -> tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @column_parallel_local
// CHECK: tgpt.linear %{{.+}}, %{{.+}}, %{{.+}} : (tensor<2x6x12xf32, #dist.layout<[dp, -, -], of = [4, 6, 12]>>, tensor<3x12xf32, #dist.layout<[tp, -], of = [9, 12]>>, tensor<3xf32, #dist.layout<[tp], of = [9]>>) -> tensor<2x6x3xf32, #dist.layout<[dp, -, tp], of = [4, 6, 9]>>
func.func @column_parallel_local(%x: tensor<2x6x12xf32, #dist.layout<[dp, -, -], of = [4, 6, 12]>>, %w: tensor<3x12xf32, #dist.layout<[tp, -], of = [9, 12]>>, %bias: tensor<3xf32, #dist.layout<[tp], of = [9]>>) {
  %0 = tgpt.linear %x, %w, %bias : (tensor<2x6x12xf32, #dist.layout<[dp, -, -], of = [4, 6, 12]>>, tensor<3x12xf32, #dist.layout<[tp, -], of = [9, 12]>>, tensor<3xf32, #dist.layout<[tp], of = [9]>>) -> tensor<2x6x3xf32, #dist.layout<[dp, -, tp], of = [4, 6, 9]>>
  return
}

// Row-parallel: each rank has an addend of the result.
// CHECK-LABEL: @row_parallel
// CHECK: tgpt.linear %{{.+}}, %{{.+}} : (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<9x12xf32, #dist.layout<[-, tp]>>) -> tensor<4x6x9xf32, #dist.layout<[dp, -, -], partial = [tp]>>
func.func @row_parallel(%x: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, %w: tensor<9x12xf32, #dist.layout<[-, tp]>>) {
  %0 = tgpt.linear %x, %w : (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<9x12xf32, #dist.layout<[-, tp]>>) -> tensor<4x6x9xf32, #dist.layout<[dp, -, -], partial = [tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @row_parallel_local
// CHECK: tgpt.linear %{{.+}}, %{{.+}} : (tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<9x4xf32, #dist.layout<[-, tp], of = [9, 12]>>) -> tensor<2x6x9xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 9]>>
func.func @row_parallel_local(%x: tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, %w: tensor<9x4xf32, #dist.layout<[-, tp], of = [9, 12]>>) {
  %0 = tgpt.linear %x, %w : (tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<9x4xf32, #dist.layout<[-, tp], of = [9, 12]>>) -> tensor<2x6x9xf32, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 9]>>
  return
}
