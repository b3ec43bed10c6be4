// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)

// CHECK-LABEL: @a_sum_a_sample
func.func @a_sum_a_sample(%dy: tensor<2x6x5xbf16>) -> tensor<2x5xf32> {
  // CHECK: tgpt.sum_positions %{{.+}} : (tensor<2x6x5xbf16>) -> tensor<2x5xf32>
  %sums = tgpt.sum_positions %dy : (tensor<2x6x5xbf16>) -> tensor<2x5xf32>
  return %sums : tensor<2x5xf32>
}

// CHECK-LABEL: @sharded_positions_leave_it_partial
func.func @sharded_positions_leave_it_partial(%dy: tensor<2x6x5xf32, #dist.layout<[dp, tp, -]>>) {
  // CHECK: -> tensor<2x5xf32, #dist.layout<[dp, -], partial = [tp]>>
  %sums = tgpt.sum_positions %dy : (tensor<2x6x5xf32, #dist.layout<[dp, tp, -]>>) -> tensor<2x5xf32, #dist.layout<[dp, -], partial = [tp]>>
  return
}
