// RUN: tgpt-opt %s | FileCheck %s

// Dumps are read by people: a value is named for the parameter it was read from or
// the op that computed it.

tgpt.parameter @layers.0.attn.q.weight : tensor<9x12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>

// CHECK-LABEL: @named_values
func.func @named_values(%x: tensor<4x6x12xf32>, %w: tensor<12xf32>) -> tensor<4x6x9xf32> {
  // CHECK: %layers.0.attn.q.weight = tgpt.read @layers.0.attn.q.weight
  %0 = tgpt.read @layers.0.attn.q.weight : tensor<9x12xf32>
  // CHECK: %rms_norm:2 = tgpt.rms_norm
  %1:2 = tgpt.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<4x6x12xf32>, tensor<12xf32>) -> (tensor<4x6x12xf32>, tensor<4x6xf32>)
  // CHECK: %linear = tgpt.linear %rms_norm#0, %layers.0.attn.q.weight
  %2 = tgpt.linear %1#0, %0 : (tensor<4x6x12xf32>, tensor<9x12xf32>) -> tensor<4x6x9xf32>
  return %2 : tensor<4x6x9xf32>
}
