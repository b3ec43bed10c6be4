// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

// CHECK-LABEL: @three_linears_of_one_input
func.func @three_linears_of_one_input(%dq: tensor<2x3x8xf32>, %dk: tensor<2x3x4xf32>, %dv: tensor<2x3x4xf32>,
                                      %wq: tensor<8x5xf32>, %wk: tensor<4x5xf32>, %wv: tensor<4x5xf32>) -> tensor<2x3x5xf32> {
  // CHECK: tgpt.linear_dgrad_sum %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} {tgpt.chunks = #tgpt.chunks<count = 4, operand = 1, dim = 2>}
  %dx = tgpt.linear_dgrad_sum %dq, %dk, %dv, %wq, %wk, %wv {tgpt.chunks = #tgpt.chunks<count = 4, operand = 1, dim = 2>} : (tensor<2x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<8x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  return %dx : tensor<2x3x5xf32>
}

// One axis shards the features of both, and the result is partial over it once.
dist.mesh @mesh (tp = 2)
// CHECK-LABEL: @sharded_features
func.func @sharded_features(%dq: tensor<2x3x8xf32, #dist.layout<[-, -, tp]>>, %dk: tensor<2x3x4xf32, #dist.layout<[-, -, tp]>>,
                            %wq: tensor<8x5xf32, #dist.layout<[tp, -]>>, %wk: tensor<4x5xf32, #dist.layout<[tp, -]>>) {
  // CHECK: partial = [tp]
  %dx = tgpt.linear_dgrad_sum %dq, %dk, %wq, %wk : (tensor<2x3x8xf32, #dist.layout<[-, -, tp]>>, tensor<2x3x4xf32, #dist.layout<[-, -, tp]>>, tensor<8x5xf32, #dist.layout<[tp, -]>>, tensor<4x5xf32, #dist.layout<[tp, -]>>) -> tensor<2x3x5xf32, #dist.layout<[-, -, -], partial = [tp]>>
  return
}
