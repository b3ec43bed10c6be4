// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @bf16
// CHECK: tgpt.row_mean %{{.+}} : (tensor<4x6x24xbf16>) -> tensor<4x6xf32>
func.func @bf16(%logits: tensor<4x6x24xbf16>) {
  %0 = tgpt.row_mean %logits : (tensor<4x6x24xbf16>) -> tensor<4x6xf32>
  return
}

// Each rank has its logits' part of the mean.
// CHECK-LABEL: @vocabulary_sharded
// CHECK: tgpt.row_mean %{{.+}} : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>) -> tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>
func.func @vocabulary_sharded(%logits: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>) {
  %0 = tgpt.row_mean %logits : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>) -> tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @vocabulary_sharded_local
// CHECK: tgpt.row_mean %{{.+}} : (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>) -> tensor<2x6xf32, #dist.layout<[dp, -], partial = [tp], of = [4, 6]>>
func.func @vocabulary_sharded_local(%logits: tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>) {
  %0 = tgpt.row_mean %logits : (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>) -> tensor<2x6xf32, #dist.layout<[dp, -], partial = [tp], of = [4, 6]>>
  return
}
