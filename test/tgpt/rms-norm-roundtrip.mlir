// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// Statistics of bf16 rows are f32.
// CHECK-LABEL: @statistics
// CHECK: tgpt.rms_norm %{{.+}}, %{{.+}} {epsilon = 1.000000e-05 : f64} : (tensor<?x6x12xbf16>, tensor<12xbf16>) -> (tensor<?x6x12xbf16>, tensor<?x6xf32>)
func.func @statistics(%x: tensor<?x6x12xbf16>, %w: tensor<12xbf16>) {
  %0, %1 = tgpt.rms_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<?x6x12xbf16>, tensor<12xbf16>) -> (tensor<?x6x12xbf16>, tensor<?x6xf32>)
  return
}

// CHECK-LABEL: @double
// CHECK: tgpt.rms_norm %{{.+}}, %{{.+}} {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf64>, tensor<12xf64>) -> (tensor<4x6x12xf64>, tensor<4x6xf64>)
func.func @double(%x: tensor<4x6x12xf64>, %w: tensor<12xf64>) {
  %0, %1 = tgpt.rms_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf64>, tensor<12xf64>) -> (tensor<4x6x12xf64>, tensor<4x6xf64>)
  return
}

// Sequence parallel.
// CHECK-LABEL: @sequence_sharded
// CHECK: tgpt.rms_norm %{{.+}}, %{{.+}} {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<12xf32, #dist.layout<[-]>>) -> (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<4x6xf32, #dist.layout<[dp, tp]>>)
func.func @sequence_sharded(%x: tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, %w: tensor<12xf32, #dist.layout<[-]>>) {
  %0, %1 = tgpt.rms_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<12xf32, #dist.layout<[-]>>) -> (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<4x6xf32, #dist.layout<[dp, tp]>>)
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @sequence_sharded_local
// CHECK: tgpt.rms_norm %{{.+}}, %{{.+}} {epsilon = 1.000000e-05 : f64} : (tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, tensor<12xf32, #dist.layout<[-], of = [12]>>) -> (tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, tensor<2x2xf32, #dist.layout<[dp, tp], of = [4, 6]>>)
func.func @sequence_sharded_local(%x: tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, %w: tensor<12xf32, #dist.layout<[-], of = [12]>>) {
  %0, %1 = tgpt.rms_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, tensor<12xf32, #dist.layout<[-], of = [12]>>) -> (tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, tensor<2x2xf32, #dist.layout<[dp, tp], of = [4, 6]>>)
  return
}
