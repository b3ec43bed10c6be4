// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

tgpt.state metric @sum : tensor<f32> {transient}
tgpt.state metric @sum.carry.0 : tensor<f32> {transient}

// CHECK-LABEL: @join
func.func @join(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // CHECK: tgpt.join_nodes %{{.+}}, %{{.+}} addends 3 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = tgpt.join_nodes %a, %b addends 3 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// CHECK-LABEL: @sum
func.func @sum_rows(%rows: tensor<4x6xf32>) -> tensor<6xf32> {
  // CHECK: tgpt.sum_nodes %{{.+}} {addends = 3 : i64, nodes = 2 : i64} : (tensor<4x6xf32>) -> tensor<6xf32>
  %0 = tgpt.sum_nodes %rows {addends = 3, nodes = 2} : (tensor<4x6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// Three micro-batches of one part, and one of three.
// CHECK-LABEL: @accumulate
func.func @accumulate(%x: tensor<f32>, %samples: tensor<6xi32>) {
  // CHECK: carry [@sum.carry.0] at %{{.+}} of 3 nodes_of 2 : tensor<f32>, tensor<6xi32>
  tgpt.accumulate %x, @sum carry [@sum.carry.0] at %samples of 3 nodes_of 2 : tensor<f32>, tensor<6xi32>
  // CHECK: at %{{.+}} of 1 nodes_of 2 part 1 of 3 : tensor<f32>, tensor<6xi32>
  tgpt.accumulate %x, @sum carry [@sum.carry.0] at %samples of 1 nodes_of 2 part 1 of 3 : tensor<f32>, tensor<6xi32>
  return
}

// CHECK-LABEL: @attributes
func.func @attributes(%dy: tensor<6x4x5xf32>, %x: tensor<6x4x8xf32>, %w: tensor<5x8xf32>) {
  // CHECK: tgpt.part = #tgpt.part<index = 2, count = 3>
  %0 = tgpt.linear_wgrad %dy, %x {tgpt.part = #tgpt.part<index = 2, count = 3>} : (tensor<6x4x5xf32>, tensor<6x4x8xf32>) -> tensor<5x8xf32>
  // CHECK: tgpt.node = #tgpt.node<index = 1, axes = ["tp"]>
  %1 = tgpt.linear %x, %w {tgpt.chunks = #tgpt.chunks<count = 8, operand = 0, dim = 2>, tgpt.node = #tgpt.node<index = 1, axes = ["tp"]>} : (tensor<6x4x8xf32>, tensor<5x8xf32>) -> tensor<6x4x5xf32>
  return
}
