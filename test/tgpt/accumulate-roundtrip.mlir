// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)

tgpt.state metric @loss_sum : tensor<f32> {transient}
tgpt.state metric @partial : tensor<f32, #dist.layout<[], partial = [dp]>>

// CHECK-LABEL: @state
func.func @state(%x: tensor<f32>) {
  // CHECK: tgpt.accumulate %{{.+}}, @loss_sum : tensor<f32>
  tgpt.accumulate %x, @loss_sum : tensor<f32>
  return
}

// CHECK-LABEL: @partial_value_in_partial_state
func.func @partial_value_in_partial_state(%x: tensor<f32, #dist.layout<[], partial = [dp]>>) {
  // CHECK: tgpt.accumulate %{{.+}}, @partial : tensor<f32, #dist.layout<[], partial = [dp]>>
  tgpt.accumulate %x, @partial : tensor<f32, #dist.layout<[], partial = [dp]>>
  return
}

tgpt.state metric @loss_sum.carry.0 : tensor<f32> {transient}
tgpt.state metric @loss_sum.carry.1 : tensor<f32> {transient}

// CHECK-LABEL: @in_a_tree_over_the_micro_batches
func.func @in_a_tree_over_the_micro_batches(%x: tensor<f32>, %i: tensor<i32>) {
  // CHECK: tgpt.accumulate %{{.+}}, @loss_sum carry [@loss_sum.carry.0, @loss_sum.carry.1] at %{{.+}} of 5 : tensor<f32>, tensor<i32>
  tgpt.accumulate %x, @loss_sum carry [@loss_sum.carry.0, @loss_sum.carry.1] at %i of 5 : tensor<f32>, tensor<i32>
  return
}
