// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @dynamic_batch
// CHECK: tgpt.swiglu_grad %{{.+}}, %{{.+}}, %{{.+}} : (tensor<?x6x12xf32>, tensor<?x6x12xf32>, tensor<?x6x12xf32>) -> (tensor<?x6x12xf32>, tensor<?x6x12xf32>)
func.func @dynamic_batch(%dy: tensor<?x6x12xf32>, %gate: tensor<?x6x12xf32>, %up: tensor<?x6x12xf32>) {
  %0, %1 = tgpt.swiglu_grad %dy, %gate, %up : (tensor<?x6x12xf32>, tensor<?x6x12xf32>, tensor<?x6x12xf32>) -> (tensor<?x6x12xf32>, tensor<?x6x12xf32>)
  return
}

// CHECK-LABEL: @bf16
// CHECK: tgpt.swiglu_grad %{{.+}}, %{{.+}}, %{{.+}} : (tensor<4x6x12xbf16>, tensor<4x6x12xbf16>, tensor<4x6x12xbf16>) -> (tensor<4x6x12xbf16>, tensor<4x6x12xbf16>)
func.func @bf16(%dy: tensor<4x6x12xbf16>, %gate: tensor<4x6x12xbf16>, %up: tensor<4x6x12xbf16>) {
  %0, %1 = tgpt.swiglu_grad %dy, %gate, %up : (tensor<4x6x12xbf16>, tensor<4x6x12xbf16>, tensor<4x6x12xbf16>) -> (tensor<4x6x12xbf16>, tensor<4x6x12xbf16>)
  return
}

// Every dim may be sharded.
// CHECK-LABEL: @sharded
// CHECK: tgpt.swiglu_grad %{{.+}}, %{{.+}}, %{{.+}} : (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>) -> (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>)
func.func @sharded(%dy: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, %gate: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, %up: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>) {
  %0, %1 = tgpt.swiglu_grad %dy, %gate, %up : (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>) -> (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>)
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @sharded_local
// CHECK: tgpt.swiglu_grad %{{.+}}, %{{.+}}, %{{.+}} : (tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>) -> (tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>)
func.func @sharded_local(%dy: tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, %gate: tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, %up: tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>) {
  %0, %1 = tgpt.swiglu_grad %dy, %gate, %up : (tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>) -> (tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>)
  return
}
