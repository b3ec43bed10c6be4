// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)
// CHECK-LABEL: @ones
// CHECK: tgpt.fill {value = 1.000000e+00 : f64} : () -> tensor<4x6xbf16>
func.func @ones() {
  %0 = tgpt.fill {value = 1.000000e+00 : f64} : () -> tensor<4x6xbf16>
  return
}

// CHECK-LABEL: @scalar
// CHECK: tgpt.fill {value = 0.000000e+00 : f64} : () -> tensor<f64>
func.func @scalar() {
  %0 = tgpt.fill {value = 0.000000e+00 : f64} : () -> tensor<f64>
  return
}

// CHECK-LABEL: @sharded
// CHECK: tgpt.fill {value = 1.000000e+00 : f64} : () -> tensor<4x6xf32, #dist.layout<[dp, tp]>>
func.func @sharded() {
  %0 = tgpt.fill {value = 1.000000e+00 : f64} : () -> tensor<4x6xf32, #dist.layout<[dp, tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @sharded_local
// CHECK: tgpt.fill {value = 1.000000e+00 : f64} : () -> tensor<2x2xf32, #dist.layout<[dp, tp], of = [4, 6]>>
func.func @sharded_local() {
  %0 = tgpt.fill {value = 1.000000e+00 : f64} : () -> tensor<2x2xf32, #dist.layout<[dp, tp], of = [4, 6]>>
  return
}

// The addends of 0 are 0.
// CHECK-LABEL: @partial_zero
// CHECK: tgpt.fill {value = 0.000000e+00 : f64} : () -> tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp]>>
func.func @partial_zero() {
  %0 = tgpt.fill {value = 0.000000e+00 : f64} : () -> tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp]>>
  return
}

// The same on the types of one rank.
// CHECK-LABEL: @partial_zero_local
// CHECK: tgpt.fill {value = 0.000000e+00 : f64} : () -> tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp], of = [4, 6]>>
func.func @partial_zero_local() {
  %0 = tgpt.fill {value = 0.000000e+00 : f64} : () -> tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp], of = [4, 6]>>
  return
}
