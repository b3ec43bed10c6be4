// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @bf16
// CHECK: tgpt.softmax_sums %{{.+}}, %{{.+}}, %{{.+}} : (tensor<4x6x24xbf16>, tensor<4x6xi32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
func.func @bf16(%logits: tensor<4x6x24xbf16>, %labels: tensor<4x6xi32>, %max: tensor<4x6xf32>) {
  %0, %1 = tgpt.softmax_sums %logits, %labels, %max : (tensor<4x6x24xbf16>, tensor<4x6xi32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  return
}

// CHECK-LABEL: @vocabulary_sharded
// CHECK: tgpt.softmax_sums %{{.+}}, %{{.+}}, %{{.+}} : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>) -> (tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>, tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>)
func.func @vocabulary_sharded(%logits: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, %labels: tensor<4x6xi32, #dist.layout<[dp, -]>>, %max: tensor<4x6xf32, #dist.layout<[dp, -]>>) {
  %0, %1 = tgpt.softmax_sums %logits, %labels, %max : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>) -> (tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>, tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>)
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @vocabulary_sharded_local
// CHECK: tgpt.softmax_sums %{{.+}}, %{{.+}}, %{{.+}} : (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>, tensor<2x6xf32, #dist.layout<[dp, -], of = [4, 6]>>) -> (tensor<2x6xf32, #dist.layout<[dp, -], partial = [tp], of = [4, 6]>>, tensor<2x6xf32, #dist.layout<[dp, -], partial = [tp], of = [4, 6]>>)
func.func @vocabulary_sharded_local(%logits: tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, %labels: tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>, %max: tensor<2x6xf32, #dist.layout<[dp, -], of = [4, 6]>>) {
  %0, %1 = tgpt.softmax_sums %logits, %labels, %max : (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>, tensor<2x6xf32, #dist.layout<[dp, -], of = [4, 6]>>) -> (tensor<2x6xf32, #dist.layout<[dp, -], partial = [tp], of = [4, 6]>>, tensor<2x6xf32, #dist.layout<[dp, -], partial = [tp], of = [4, 6]>>)
  return
}
