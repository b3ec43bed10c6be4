// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @accumulation_type
// CHECK: tgpt.rms_norm_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : (tensor<4x6x12xbf16>, tensor<4x6x12xbf16>, tensor<12xbf16>, tensor<4x6xf32>) -> (tensor<4x6x12xbf16>, tensor<12xf32>)
func.func @accumulation_type(%dy: tensor<4x6x12xbf16>, %x: tensor<4x6x12xbf16>, %w: tensor<12xbf16>, %rstd: tensor<4x6xf32>) {
  %0, %1 = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (tensor<4x6x12xbf16>, tensor<4x6x12xbf16>, tensor<12xbf16>, tensor<4x6xf32>) -> (tensor<4x6x12xbf16>, tensor<12xf32>)
  return
}

// Under sequence parallelism the weight's gradient is a sum over dp and tp.
// CHECK-LABEL: @sequence_sharded
// CHECK: tgpt.rms_norm_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<12xf32, #dist.layout<[-]>>, tensor<4x6xf32, #dist.layout<[dp, tp]>>) -> (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<12xf32, #dist.layout<[-], partial = [dp, tp]>>)
func.func @sequence_sharded(%dy: tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, %x: tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, %w: tensor<12xf32, #dist.layout<[-]>>, %rstd: tensor<4x6xf32, #dist.layout<[dp, tp]>>) {
  %0, %1 = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<12xf32, #dist.layout<[-]>>, tensor<4x6xf32, #dist.layout<[dp, tp]>>) -> (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<12xf32, #dist.layout<[-], partial = [dp, tp]>>)
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @sequence_sharded_local
// CHECK: tgpt.rms_norm_grad %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : (tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, tensor<12xf32, #dist.layout<[-], of = [12]>>, tensor<2x2xf32, #dist.layout<[dp, tp], of = [4, 6]>>) -> (tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, tensor<12xf32, #dist.layout<[-], partial = [dp, tp], of = [12]>>)
func.func @sequence_sharded_local(%dy: tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, %x: tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, %w: tensor<12xf32, #dist.layout<[-], of = [12]>>, %rstd: tensor<2x2xf32, #dist.layout<[dp, tp], of = [4, 6]>>) {
  %0, %1 = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, tensor<12xf32, #dist.layout<[-], of = [12]>>, tensor<2x2xf32, #dist.layout<[dp, tp], of = [4, 6]>>) -> (tensor<2x2x12xf32, #dist.layout<[dp, tp, -], of = [4, 6, 12]>>, tensor<12xf32, #dist.layout<[-], partial = [dp, tp], of = [12]>>)
  return
}

// CHECK-LABEL: @a_gradient_a_sample
func.func @a_gradient_a_sample(%dy: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %w: tensor<4xf32>, %rstd: tensor<2x3xf32>) {
  // CHECK: -> (tensor<2x3x4xf32>, tensor<2x4xf32>)
  %dx, %dw = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4xf32>, tensor<2x3xf32>) -> (tensor<2x3x4xf32>, tensor<2x4xf32>)
  return
}
