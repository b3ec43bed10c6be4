// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

// CHECK-LABEL: @one_carried_value
func.func @one_carried_value(%x: tensor<?x12xf32>) -> tensor<?x12xf32> {
  // CHECK: %[[Y:.+]] = tgpt.repeat 4 (%[[H:.+]] = %{{.+}}) : tensor<?x12xf32> {
  // CHECK-NEXT: %[[G:.+]] = tgpt.gelu %[[H]]
  // CHECK-NEXT: tgpt.yield %[[G]] : tensor<?x12xf32>
  // CHECK-NEXT: }
  %y = tgpt.repeat 4 (%h = %x) : tensor<?x12xf32> {
    %0 = tgpt.gelu %h : (tensor<?x12xf32>) -> tensor<?x12xf32>
    tgpt.yield %0 : tensor<?x12xf32>
  }
  // CHECK: return %[[Y]]
  return %y : tensor<?x12xf32>
}

// CHECK-LABEL: @two_carried_values
func.func @two_carried_values(%x: tensor<4xf32>, %y: tensor<6xf64>) -> tensor<6xf64> {
  // CHECK: %[[Y:.+]]:2 = tgpt.repeat 2 (%[[A:.+]] = %{{.+}}, %[[B:.+]] = %{{.+}}) : tensor<4xf32>, tensor<6xf64> attributes {tgpt.layer = 2 : i64} {
  // CHECK-NEXT: tgpt.yield %[[A]], %[[B]] : tensor<4xf32>, tensor<6xf64>
  %0:2 = tgpt.repeat 2 (%a = %x, %b = %y) : tensor<4xf32>, tensor<6xf64> attributes {tgpt.layer = 2 : i64} {
    tgpt.yield %a, %b : tensor<4xf32>, tensor<6xf64>
  }
  // CHECK: return %[[Y]]#1
  return %0#1 : tensor<6xf64>
}

// CHECK-LABEL: @no_carried_value
func.func @no_carried_value() {
  // CHECK: tgpt.repeat 1 () {
  // CHECK-NEXT: tgpt.yield
  tgpt.repeat 1 () {
    tgpt.yield
  }
  return
}
