// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @bf16
// CHECK: tgpt.loss_statistics %{{.+}}, %{{.+}} : (tensor<4x6x24xbf16>, tensor<4x6xi32>) -> tensor<8x2x4x6xf32>
func.func @bf16(%logits: tensor<4x6x24xbf16>, %labels: tensor<4x6xi32>) {
  %0 = tgpt.loss_statistics %logits, %labels : (tensor<4x6x24xbf16>, tensor<4x6xi32>) -> tensor<8x2x4x6xf32>
  return
}

// CHECK-LABEL: @smoothed_and_padded
// CHECK: tgpt.loss_statistics %{{.+}}, %{{.+}} {vocabulary = 22 : i64} : (tensor<4x6x24xf64>, tensor<4x6xi32>) -> tensor<1x3x4x6xf64>
func.func @smoothed_and_padded(%logits: tensor<4x6x24xf64>, %labels: tensor<4x6xi32>) {
  %0 = tgpt.loss_statistics %logits, %labels {vocabulary = 22 : i64} : (tensor<4x6x24xf64>, tensor<4x6xi32>) -> tensor<1x3x4x6xf64>
  return
}

// Each rank has the statistics of its own parts, whole.
// CHECK-LABEL: @vocabulary_sharded
// CHECK: tgpt.loss_statistics %{{.+}}, %{{.+}} : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>) -> tensor<6x2x4x6xf32, #dist.layout<[tp, -, dp, -]>>
func.func @vocabulary_sharded(%logits: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, %labels: tensor<4x6xi32, #dist.layout<[dp, -]>>) {
  %0 = tgpt.loss_statistics %logits, %labels : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>) -> tensor<6x2x4x6xf32, #dist.layout<[tp, -, dp, -]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @vocabulary_sharded_local
// CHECK: tgpt.loss_statistics %{{.+}}, %{{.+}} : (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>) -> tensor<2x2x2x6xf32, #dist.layout<[tp, -, dp, -], of = [6, 2, 4, 6]>>
func.func @vocabulary_sharded_local(%logits: tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, %labels: tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>) {
  %0 = tgpt.loss_statistics %logits, %labels : (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>) -> tensor<2x2x2x6xf32, #dist.layout<[tp, -, dp, -], of = [6, 2, 4, 6]>>
  return
}
