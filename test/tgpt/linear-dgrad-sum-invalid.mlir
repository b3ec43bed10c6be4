// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @linear_dgrad_sum_c1_rank(%dy: tensor<2x3x8xf32>, %w: tensor<2x8x5xf32>) {
  // expected-error @below {{C1: weight has rank 3}}
  %dx = tgpt.linear_dgrad_sum %dy, %w : (tensor<2x3x8xf32>, tensor<2x8x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @linear_dgrad_sum_c1_count(%dy: tensor<3x8xf32>, %w: tensor<8x5xf32>) {
  // expected-error @below {{C1: has 9 products, expected 1 to 8}}
  %dx = tgpt.linear_dgrad_sum %dy, %dy, %dy, %dy, %dy, %dy, %dy, %dy, %dy, %w, %w, %w, %w, %w, %w, %w, %w, %w : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @linear_dgrad_sum_c2_features(%dq: tensor<3x8xf32>, %dk: tensor<3x4xf32>, %w: tensor<8x5xf32>) {
  // expected-error @below {{C2: output_grad dim 1 is 4 but weight dim 0 is 8}}
  %dx = tgpt.linear_dgrad_sum %dq, %dk, %w, %w : (tensor<3x8xf32>, tensor<3x4xf32>, tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @linear_dgrad_sum_c3(%dy: tensor<3x8xf32>, %w: tensor<8x5xf64>) {
  // expected-error @below {{C3}}
  %dx = tgpt.linear_dgrad_sum %dy, %w : (tensor<3x8xf32>, tensor<8x5xf64>) -> tensor<3x5xf32>
  return
}
