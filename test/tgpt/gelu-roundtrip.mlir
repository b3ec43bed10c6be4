// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @dynamic_batch
// CHECK: tgpt.gelu %{{.+}} : (tensor<?x6x12xf32>) -> tensor<?x6x12xf32>
func.func @dynamic_batch(%x: tensor<?x6x12xf32>) {
  %0 = tgpt.gelu %x : (tensor<?x6x12xf32>) -> tensor<?x6x12xf32>
  return
}

// CHECK-LABEL: @bf16
// CHECK: tgpt.gelu %{{.+}} : (tensor<4x6x12xbf16>) -> tensor<4x6x12xbf16>
func.func @bf16(%x: tensor<4x6x12xbf16>) {
  %0 = tgpt.gelu %x : (tensor<4x6x12xbf16>) -> tensor<4x6x12xbf16>
  return
}

// Every dim may be sharded.
// CHECK-LABEL: @sharded
// CHECK: tgpt.gelu %{{.+}} : (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>
func.func @sharded(%x: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>) {
  %0 = tgpt.gelu %x : (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @sharded_local
// CHECK: tgpt.gelu %{{.+}} : (tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>) -> tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>
func.func @sharded_local(%x: tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>) {
  %0 = tgpt.gelu %x : (tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>) -> tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>
  return
}
