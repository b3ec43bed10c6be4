// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

tgpt.parameter @weight : tensor<24x12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @"layers.*.weight" : tensor<12xf32> = #tgpt.init<mean = 1.0, stddev = 0.0> per_layer 4
tgpt.state metric @loss : tensor<f32>

// CHECK-LABEL: @parameter_and_state
func.func @parameter_and_state() {
  // CHECK: tgpt.read @weight : tensor<24x12xf32>
  %0 = tgpt.read @weight : tensor<24x12xf32>
  // CHECK: tgpt.read @loss : tensor<f32>
  %1 = tgpt.read @loss : tensor<f32>
  return
}

// CHECK-LABEL: @parameter_of_a_layer
func.func @parameter_of_a_layer(%x: tensor<12xf32>) {
  %y = tgpt.repeat 4 (%h = %x) : tensor<12xf32> {
    // CHECK: tgpt.read @"layers.*.weight" : tensor<12xf32>
    %w = tgpt.read @"layers.*.weight" : tensor<12xf32>
    %0 = tgpt.add %h, %w : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
    tgpt.yield %0 : tensor<12xf32>
  }
  return
}
