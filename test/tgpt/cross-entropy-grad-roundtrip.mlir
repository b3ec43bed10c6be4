// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @bf16
// CHECK: tgpt.cross_entropy_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : (tensor<4x6x24xbf16>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6x24xbf16>
func.func @bf16(%logits: tensor<4x6x24xbf16>, %labels: tensor<4x6xi32>, %lse: tensor<4x6xf32>, %dloss: tensor<f32>) {
  %0 = tgpt.cross_entropy_grad %logits, %labels, %lse, %dloss : (tensor<4x6x24xbf16>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6x24xbf16>
  return
}

// Local, whatever shards the vocabulary.
// CHECK-LABEL: @vocabulary_sharded
// CHECK: tgpt.cross_entropy_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>, tensor<f32, #dist.layout<[]>>) -> tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>
func.func @vocabulary_sharded(%logits: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, %labels: tensor<4x6xi32, #dist.layout<[dp, -]>>, %lse: tensor<4x6xf32, #dist.layout<[dp, -]>>, %dloss: tensor<f32, #dist.layout<[]>>) {
  %0 = tgpt.cross_entropy_grad %logits, %labels, %lse, %dloss : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>, tensor<f32, #dist.layout<[]>>) -> tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @vocabulary_sharded_local
// CHECK: tgpt.cross_entropy_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>, tensor<2x6xf32, #dist.layout<[dp, -], of = [4, 6]>>, tensor<f32, #dist.layout<[], of = []>>) -> tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>
func.func @vocabulary_sharded_local(%logits: tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, %labels: tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>, %lse: tensor<2x6xf32, #dist.layout<[dp, -], of = [4, 6]>>, %dloss: tensor<f32, #dist.layout<[], of = []>>) {
  %0 = tgpt.cross_entropy_grad %logits, %labels, %lse, %dloss : (tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>, tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>, tensor<2x6xf32, #dist.layout<[dp, -], of = [4, 6]>>, tensor<f32, #dist.layout<[], of = []>>) -> tensor<2x6x8xf32, #dist.layout<[dp, -, tp], of = [4, 6, 24]>>
  return
}

// CHECK-LABEL: @terms
// CHECK: tgpt.cross_entropy_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} {label_smoothing = 1.000000e-01 : f64, z_loss = 1.000000e-04 : f64} : (tensor<4x6x24xf32>
func.func @terms(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>, %lse: tensor<4x6xf32>, %dloss: tensor<f32>) {
  %0 = tgpt.cross_entropy_grad %logits, %labels, %lse, %dloss {label_smoothing = 1.000000e-01 : f64, z_loss = 1.000000e-04 : f64} : (tensor<4x6x24xf32>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6x24xf32>
  return
}
