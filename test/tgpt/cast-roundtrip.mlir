// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @narrower
// CHECK: tgpt.cast %{{.+}} : (tensor<?x6xf32>) -> tensor<?x6xbf16>
func.func @narrower(%x: tensor<?x6xf32>) {
  %0 = tgpt.cast %x : (tensor<?x6xf32>) -> tensor<?x6xbf16>
  return
}

// CHECK-LABEL: @half
// CHECK: tgpt.cast %{{.+}} : (tensor<4x6xf32>) -> tensor<4x6xf16>
func.func @half(%x: tensor<4x6xf32>) {
  %0 = tgpt.cast %x : (tensor<4x6xf32>) -> tensor<4x6xf16>
  return
}

// CHECK-LABEL: @wider
// CHECK: tgpt.cast %{{.+}} : (tensor<4x6xf32>) -> tensor<4x6xf64>
func.func @wider(%x: tensor<4x6xf32>) {
  %0 = tgpt.cast %x : (tensor<4x6xf32>) -> tensor<4x6xf64>
  return
}

// CHECK-LABEL: @sharded
// CHECK: tgpt.cast %{{.+}} : (tensor<4x6xf32, #dist.layout<[dp, tp]>>) -> tensor<4x6xbf16, #dist.layout<[dp, tp]>>
func.func @sharded(%x: tensor<4x6xf32, #dist.layout<[dp, tp]>>) {
  %0 = tgpt.cast %x : (tensor<4x6xf32, #dist.layout<[dp, tp]>>) -> tensor<4x6xbf16, #dist.layout<[dp, tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @sharded_local
// CHECK: tgpt.cast %{{.+}} : (tensor<2x2xf32, #dist.layout<[dp, tp], of = [4, 6]>>) -> tensor<2x2xbf16, #dist.layout<[dp, tp], of = [4, 6]>>
func.func @sharded_local(%x: tensor<2x2xf32, #dist.layout<[dp, tp], of = [4, 6]>>) {
  %0 = tgpt.cast %x : (tensor<2x2xf32, #dist.layout<[dp, tp], of = [4, 6]>>) -> tensor<2x2xbf16, #dist.layout<[dp, tp], of = [4, 6]>>
  return
}
