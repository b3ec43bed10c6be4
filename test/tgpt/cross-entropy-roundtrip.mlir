// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @dynamic_batch
// CHECK: tgpt.cross_entropy %{{.+}}, %{{.+}} : (tensor<?x6x24xf32>, tensor<?x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<?x6xf32>)
func.func @dynamic_batch(%logits: tensor<?x6x24xf32>, %labels: tensor<?x6xi32>) {
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels : (tensor<?x6x24xf32>, tensor<?x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<?x6xf32>)
  return
}

// CHECK-LABEL: @bf16
// CHECK: tgpt.cross_entropy %{{.+}}, %{{.+}} : (tensor<4x6x24xbf16>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
func.func @bf16(%logits: tensor<4x6x24xbf16>, %labels: tensor<4x6xi32>) {
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels : (tensor<4x6x24xbf16>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// Each rank sums the losses of its part of the batch.
// CHECK-LABEL: @batch_sharded
// CHECK: tgpt.cross_entropy %{{.+}}, %{{.+}} : (tensor<4x6x24xf32, #dist.layout<[dp, -, -]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>) -> (tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>)
func.func @batch_sharded(%logits: tensor<4x6x24xf32, #dist.layout<[dp, -, -]>>, %labels: tensor<4x6xi32, #dist.layout<[dp, -]>>) {
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels : (tensor<4x6x24xf32, #dist.layout<[dp, -, -]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>) -> (tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>)
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @batch_sharded_local
// CHECK: tgpt.cross_entropy %{{.+}}, %{{.+}} : (tensor<2x6x24xf32, #dist.layout<[dp, -, -], of = [4, 6, 24]>>, tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>) -> (tensor<f32, #dist.layout<[], partial = [dp], of = []>>, tensor<f32, #dist.layout<[], partial = [dp], of = []>>, tensor<2x6xf32, #dist.layout<[dp, -], of = [4, 6]>>)
func.func @batch_sharded_local(%logits: tensor<2x6x24xf32, #dist.layout<[dp, -, -], of = [4, 6, 24]>>, %labels: tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>) {
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels : (tensor<2x6x24xf32, #dist.layout<[dp, -, -], of = [4, 6, 24]>>, tensor<2x6xi32, #dist.layout<[dp, -], of = [4, 6]>>) -> (tensor<f32, #dist.layout<[], partial = [dp], of = []>>, tensor<f32, #dist.layout<[], partial = [dp], of = []>>, tensor<2x6xf32, #dist.layout<[dp, -], of = [4, 6]>>)
  return
}

// CHECK-LABEL: @terms
// CHECK: tgpt.cross_entropy %{{.+}}, %{{.+}} {label_smoothing = 1.000000e-01 : f64, z_loss = 1.000000e-04 : f64} : (tensor<4x6x24xf32>, tensor<4x6xi32>)
func.func @terms(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>) {
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels {label_smoothing = 1.000000e-01 : f64, z_loss = 1.000000e-04 : f64} : (tensor<4x6x24xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}
