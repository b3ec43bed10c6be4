// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// The batch of a model file is not known.
// CHECK-LABEL: @dynamic_batch
// CHECK: tgpt.embedding %{{.+}}, %{{.+}} : (tensor<?x6xi32>, tensor<24x12xf32>) -> tensor<?x6x12xf32>
func.func @dynamic_batch(%ids: tensor<?x6xi32>, %table: tensor<24x12xf32>) {
  %0 = tgpt.embedding %ids, %table : (tensor<?x6xi32>, tensor<24x12xf32>) -> tensor<?x6x12xf32>
  return
}

// The vocabulary is sharded: a rank gives zeros for rows it does not hold.
// CHECK-LABEL: @vocabulary_sharded
// CHECK: tgpt.embedding %{{.+}}, %{{.+}} : (tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<24x12xbf16, #dist.layout<[tp, -]>>) -> tensor<4x6x12xbf16, #dist.layout<[dp, -, -], partial = [tp]>>
func.func @vocabulary_sharded(%ids: tensor<4x6xi32, #dist.layout<[dp, -]>>, %table: tensor<24x12xbf16, #dist.layout<[tp, -]>>) {
  %0 = tgpt.embedding %ids, %table : (tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<24x12xbf16, #dist.layout<[tp, -]>>) -> tensor<4x6x12xbf16, #dist.layout<[dp, -, -], partial = [tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @vocabulary_sharded_local
// CHECK: tgpt.embedding %{{.+}}, %{{.+}} : (tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>, tensor<8x12xbf16, #dist.layout<[tp, -], of = [24, 12]>>) -> tensor<2x6x12xbf16, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 12]>>
func.func @vocabulary_sharded_local(%ids: tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>, %table: tensor<8x12xbf16, #dist.layout<[tp, -], of = [24, 12]>>) {
  %0 = tgpt.embedding %ids, %table : (tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>, tensor<8x12xbf16, #dist.layout<[tp, -], of = [24, 12]>>) -> tensor<2x6x12xbf16, #dist.layout<[dp, -, -], partial = [tp], of = [4, 6, 12]>>
  return
}
