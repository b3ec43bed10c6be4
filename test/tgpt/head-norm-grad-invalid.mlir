// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @head_norm_grad_c1_weight_rank(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<3x4xf32>) {
  // expected-error @below {{C1: weight has rank 2, expected 1}}
  %0, %1 = tgpt.head_norm_grad %dy, %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<3x4xf32>) -> (tensor<4x6x12xf32>, tensor<3x4xf32>)
  return
}

// -----

func.func @head_norm_grad_c2_whole_heads(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<5xf32>) {
  // expected-error @below {{C2: input dim 2 is 12 but the weight's size 5 does not divide it}}
  // expected-note @below {{nearest multiple is 10}}
  %0, %1 = tgpt.head_norm_grad %dy, %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<5xf32>) -> (tensor<4x6x12xf32>, tensor<5xf32>)
  return
}

// -----

func.func @head_norm_grad_c2_output_grad(%dy: tensor<4x5x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{C2: output_grad dim 1 is 5 but input dim 1 is 6}}
  %0, %1 = tgpt.head_norm_grad %dy, %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x5x12xf32>, tensor<4x6x12xf32>, tensor<4xf32>) -> (tensor<4x6x12xf32>, tensor<4xf32>)
  return
}

// -----

func.func @head_norm_grad_c2_weight_grad(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{C2: weight_grad dim 0 is 3 but weight dim 0 is 4}}
  %0, %1 = tgpt.head_norm_grad %dy, %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4xf32>) -> (tensor<4x6x12xf32>, tensor<3xf32>)
  return
}

// -----

func.func @head_norm_grad_c3_input_grad(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{C3: input_grad is 'bf16' but input is 'f32'}}
  %0, %1 = tgpt.head_norm_grad %dy, %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4xf32>) -> (tensor<4x6x12xbf16>, tensor<4xf32>)
  return
}

// -----

func.func @head_norm_grad_c3_weight_grad(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{C3: weight_grad is 'f64' but input is 'f32', which accumulates in 'f32'}}
  %0, %1 = tgpt.head_norm_grad %dy, %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4xf32>) -> (tensor<4x6x12xf32>, tensor<4xf64>)
  return
}

// -----

func.func @head_norm_grad_c4_epsilon(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{C4: epsilon is -1, expected a finite number of at least 0}}
  %0, %1 = tgpt.head_norm_grad %dy, %x, %w {epsilon = -1.0 : f64} : (tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4xf32>) -> (tensor<4x6x12xf32>, tensor<4xf32>)
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// The heads of the other ranks are missing from the sum.
func.func @head_norm_grad_missing_partial(%dy: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, %x: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, %w: tensor<4xf32, #dist.layout<[-]>>) {
  // expected-error @below {{result 1 must be partial over "tp"}}
  %0, %1 = tgpt.head_norm_grad %dy, %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4xf32, #dist.layout<[-]>>) -> (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4xf32, #dist.layout<[-], partial = [dp]>>)
  return
}
