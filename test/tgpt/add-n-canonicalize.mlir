// RUN: tgpt-opt %s --canonicalize -split-input-file | FileCheck %s

// A sum of one value is that value.
// CHECK-LABEL: @single_operand_is_forwarded
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NOT: tgpt.add_n
// CHECK: return %[[X]]
func.func @single_operand_is_forwarded(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = tgpt.add_n %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

// A sum that serves only another sum joins it, in operand order; the op keeps its layer.
// CHECK-LABEL: @nested_sum_is_flattened
// CHECK-SAME: %[[A:.+]]: tensor<4x6xf32>, %[[B:.+]]: tensor<4x6xf32>, %[[C:.+]]: tensor
// CHECK-NEXT: %[[SUM:.+]] = tgpt.add_n %[[A]], %[[B]], %[[C]], %[[A]] {tgpt.layer = 2 : i64}
// CHECK-NEXT: return %[[SUM]]
func.func @nested_sum_is_flattened(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = tgpt.add_n %b, %c : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = tgpt.add_n %a, %0, %a {tgpt.layer = 2 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// -----

// The inner sum is needed elsewhere: flattening would compute it twice.
// CHECK-LABEL: @shared_sum_is_kept
// CHECK: %[[INNER:.+]] = tgpt.add_n
// CHECK: %[[OUTER:.+]] = tgpt.add_n %{{.+}}, %[[INNER]] :
// CHECK: return %[[INNER]], %[[OUTER]]
func.func @shared_sum_is_kept(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %0 = tgpt.add_n %a, %b : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = tgpt.add_n %a, %0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0, %1 : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// Both operands are one inner sum: it has two uses, and stays.
// CHECK-LABEL: @doubled_sum_is_kept
// CHECK: %[[INNER:.+]] = tgpt.add_n
// CHECK: tgpt.add_n %[[INNER]], %[[INNER]]
func.func @doubled_sum_is_kept(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = tgpt.add_n %a, %b : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = tgpt.add_n %0, %0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}
