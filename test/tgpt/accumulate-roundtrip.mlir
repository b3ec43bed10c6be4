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
