// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @forwards
// CHECK: tgpt.rope %{{.+}} {head_dim = 4 : i64, theta = 1.000000e+04 : f64} : (tensor<?x6x12xf32>) -> tensor<?x6x12xf32>
func.func @forwards(%x: tensor<?x6x12xf32>) {
  %0 = tgpt.rope %x {head_dim = 4 : i64, theta = 1.000000e+04 : f64} : (tensor<?x6x12xf32>) -> tensor<?x6x12xf32>
  return
}

// CHECK-LABEL: @backwards
// CHECK: tgpt.rope %{{.+}} {head_dim = 4 : i64, inverse = true, theta = 1.000000e+04 : f64} : (tensor<4x6x12xbf16>) -> tensor<4x6x12xbf16>
func.func @backwards(%x: tensor<4x6x12xbf16>) {
  %0 = tgpt.rope %x {head_dim = 4 : i64, inverse = true, theta = 1.000000e+04 : f64} : (tensor<4x6x12xbf16>) -> tensor<4x6x12xbf16>
  return
}

// Three heads, one a rank.
// CHECK-LABEL: @heads_sharded
// CHECK: tgpt.rope %{{.+}} {head_dim = 4 : i64, theta = 1.000000e+04 : f64} : (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>
func.func @heads_sharded(%x: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>) {
  %0 = tgpt.rope %x {head_dim = 4 : i64, theta = 1.000000e+04 : f64} : (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @heads_sharded_local
// CHECK: tgpt.rope %{{.+}} {head_dim = 4 : i64, theta = 1.000000e+04 : f64} : (tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>) -> tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>
func.func @heads_sharded_local(%x: tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>) {
  %0 = tgpt.rope %x {head_dim = 4 : i64, theta = 1.000000e+04 : f64} : (tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>) -> tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>
  return
}
