// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// The weight's gradient is f32 where all else is bf16.
// CHECK-LABEL: @bf16
// CHECK: tgpt.head_norm_grad %{{.+}}, %{{.+}}, %{{.+}} {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xbf16>, tensor<4x6x12xbf16>, tensor<4xbf16>) -> (tensor<4x6x12xbf16>, tensor<4xf32>)
func.func @bf16(%dy: tensor<4x6x12xbf16>, %x: tensor<4x6x12xbf16>, %w: tensor<4xbf16>) {
  %0, %1 = tgpt.head_norm_grad %dy, %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xbf16>, tensor<4x6x12xbf16>, tensor<4xbf16>) -> (tensor<4x6x12xbf16>, tensor<4xf32>)
  return
}

// Each rank adds up its own rows and heads.
// CHECK-LABEL: @heads_sharded
// CHECK: tgpt.head_norm_grad %{{.+}}, %{{.+}}, %{{.+}} {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4xf32, #dist.layout<[-]>>) -> (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4xf32, #dist.layout<[-], partial = [dp, tp]>>)
func.func @heads_sharded(%dy: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, %x: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, %w: tensor<4xf32, #dist.layout<[-]>>) {
  %0, %1 = tgpt.head_norm_grad %dy, %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4xf32, #dist.layout<[-]>>) -> (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4xf32, #dist.layout<[-], partial = [dp, tp]>>)
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @heads_sharded_local
// CHECK: tgpt.head_norm_grad %{{.+}}, %{{.+}}, %{{.+}} {epsilon = 1.000000e-05 : f64} : (tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<4xf32, #dist.layout<[-], of = [4]>>) -> (tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<4xf32, #dist.layout<[-], partial = [dp, tp], of = [4]>>)
func.func @heads_sharded_local(%dy: tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, %x: tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, %w: tensor<4xf32, #dist.layout<[-], of = [4]>>) {
  %0, %1 = tgpt.head_norm_grad %dy, %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<4xf32, #dist.layout<[-], of = [4]>>) -> (tensor<2x6x4xf32, #dist.layout<[dp, -, tp], of = [4, 6, 12]>>, tensor<4xf32, #dist.layout<[-], partial = [dp, tp], of = [4]>>)
  return
}
