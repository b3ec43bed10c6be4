// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// The table's gradient has the accumulation type.
// CHECK-LABEL: @accumulation_type
// CHECK: tgpt.embedding_grad %{{.+}}, %{{.+}} : (tensor<4x6xi32>, tensor<4x6x12xbf16>) -> tensor<24x12xf32>
func.func @accumulation_type(%ids: tensor<4x6xi32>, %dx: tensor<4x6x12xbf16>) {
  %0 = tgpt.embedding_grad %ids, %dx : (tensor<4x6xi32>, tensor<4x6x12xbf16>) -> tensor<24x12xf32>
  return
}

// Each rank adds the rows it holds, of its part of the batch.
// CHECK-LABEL: @vocabulary_sharded
// CHECK: tgpt.embedding_grad %{{.+}}, %{{.+}} : (tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>) -> tensor<24x12xf32, #dist.layout<[tp, -], partial = [dp]>>
func.func @vocabulary_sharded(%ids: tensor<4x6xi32, #dist.layout<[dp, -]>>, %dx: tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>) {
  %0 = tgpt.embedding_grad %ids, %dx : (tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>) -> tensor<24x12xf32, #dist.layout<[tp, -], partial = [dp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @vocabulary_sharded_local
// CHECK: tgpt.embedding_grad %{{.+}}, %{{.+}} : (tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>, tensor<2x6x12xf32, #dist.layout<[dp, -, -], of = [4, 6, 12]>>) -> tensor<8x12xf32, #dist.layout<[tp, -], partial = [dp], of = [24, 12]>>
func.func @vocabulary_sharded_local(%ids: tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>, %dx: tensor<2x6x12xf32, #dist.layout<[dp, -, -], of = [4, 6, 12]>>) {
  %0 = tgpt.embedding_grad %ids, %dx : (tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>, tensor<2x6x12xf32, #dist.layout<[dp, -, -], of = [4, 6, 12]>>) -> tensor<8x12xf32, #dist.layout<[tp, -], partial = [dp], of = [24, 12]>>
  return
}
