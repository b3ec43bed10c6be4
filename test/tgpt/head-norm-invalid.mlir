// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @head_norm_c1_input_rank(%x: tensor<24x12xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{C1: input has rank 2, expected 3}}
  %0 = tgpt.head_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<24x12xf32>, tensor<4xf32>) -> tensor<24x12xf32>
  return
}

// -----

func.func @head_norm_c1_weight_rank(%x: tensor<4x6x12xf32>, %w: tensor<3x4xf32>) {
  // expected-error @below {{C1: weight has rank 2, expected 1}}
  %0 = tgpt.head_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<3x4xf32>) -> tensor<4x6x12xf32>
  return
}

// -----

func.func @head_norm_c2_whole_heads(%x: tensor<4x6x12xf32>, %w: tensor<5xf32>) {
  // expected-error @below {{C2: input dim 2 is 12 but the weight's size 5 does not divide it}}
  // expected-note @below {{nearest multiple is 10}}
  %0 = tgpt.head_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<5xf32>) -> tensor<4x6x12xf32>
  return
}

// -----

func.func @head_norm_c2_shape(%x: tensor<4x6x12xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{C2: output dim 1 is 5 but input dim 1 is 6}}
  %0 = tgpt.head_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<4xf32>) -> tensor<4x5x12xf32>
  return
}

// -----

func.func @head_norm_c3_weight(%x: tensor<4x6x12xf32>, %w: tensor<4xbf16>) {
  // expected-error @below {{C3: weight is 'bf16' but input is 'f32'}}
  %0 = tgpt.head_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<4xbf16>) -> tensor<4x6x12xf32>
  return
}

// -----

func.func @head_norm_c3_result(%x: tensor<4x6x12xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{C3: output is 'f64' but input is 'f32'}}
  %0 = tgpt.head_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<4xf32>) -> tensor<4x6x12xf64>
  return
}

// -----

func.func @head_norm_c4_epsilon(%x: tensor<4x6x12xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{C4: epsilon is -1, expected a finite number of at least 0}}
  %0 = tgpt.head_norm %x, %w {epsilon = -1.0 : f64} : (tensor<4x6x12xf32>, tensor<4xf32>) -> tensor<4x6x12xf32>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// Two heads of six elements cannot be shared by three ranks.
func.func @head_norm_whole_heads_per_rank(%x: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, %w: tensor<6xf32, #dist.layout<[-]>>) {
  // expected-error @below {{has 2 heads of 6 elements but "tp" = 3 does not divide them}}
  %0 = tgpt.head_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<6xf32, #dist.layout<[-]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// All heads have all of the weight.
func.func @head_norm_weight_sharded(%x: tensor<4x6x12xf32, #dist.layout<[-, -, -]>>, %w: tensor<6xf32, #dist.layout<[tp]>>) {
  // expected-error @below {{factor 'D' must not be sharded}}
  %0 = tgpt.head_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32, #dist.layout<[-, -, -]>>, tensor<6xf32, #dist.layout<[tp]>>) -> tensor<4x6x12xf32, #dist.layout<[-, -, -]>>
  return
}
