// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @rms_norm_c1_input_rank(%x: tensor<f32>, %w: tensor<12xf32>) {
  // expected-error @below {{C1: input has rank 0, expected at least 1}}
  %0, %1 = tgpt.rms_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<f32>, tensor<12xf32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @rms_norm_c1_weight_rank(%x: tensor<4x6x12xf32>, %w: tensor<1x12xf32>) {
  // expected-error @below {{C1: weight has rank 2, expected 1}}
  %0, %1 = tgpt.rms_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<1x12xf32>) -> (tensor<4x6x12xf32>, tensor<4x6xf32>)
  return
}

// -----

func.func @rms_norm_c1_statistic_rank(%x: tensor<4x6x12xf32>, %w: tensor<12xf32>) {
  // expected-error @below {{C1: rstd has rank 3, expected 2}}
  %0, %1 = tgpt.rms_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<12xf32>) -> (tensor<4x6x12xf32>, tensor<4x6x1xf32>)
  return
}

// -----

func.func @rms_norm_c2_weight_width(%x: tensor<4x6x12xf32>, %w: tensor<10xf32>) {
  // expected-error @below {{C2: weight dim 0 is 10 but input dim 2 is 12}}
  %0, %1 = tgpt.rms_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<10xf32>) -> (tensor<4x6x12xf32>, tensor<4x6xf32>)
  return
}

// -----

func.func @rms_norm_c2_result_shape(%x: tensor<4x6x12xf32>, %w: tensor<12xf32>) {
  // expected-error @below {{C2: output dim 1 is 5 but input dim 1 is 6}}
  %0, %1 = tgpt.rms_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<12xf32>) -> (tensor<4x5x12xf32>, tensor<4x6xf32>)
  return
}

// -----

func.func @rms_norm_c2_statistic_shape(%x: tensor<4x6x12xf32>, %w: tensor<12xf32>) {
  // expected-error @below {{C2: rstd dim 1 is 5 but input dim 1 is 6}}
  %0, %1 = tgpt.rms_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<12xf32>) -> (tensor<4x6x12xf32>, tensor<4x5xf32>)
  return
}

// -----

func.func @rms_norm_c3_weight_type(%x: tensor<4x6x12xf32>, %w: tensor<12xbf16>) {
  // expected-error @below {{C3: weight is 'bf16' but input is 'f32'}}
  %0, %1 = tgpt.rms_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32>, tensor<12xbf16>) -> (tensor<4x6x12xf32>, tensor<4x6xf32>)
  return
}

// -----

func.func @rms_norm_c3_statistic_type(%x: tensor<4x6x12xf64>, %w: tensor<12xf64>) {
  // expected-error @below {{C3: rstd is 'f32' but input is 'f64', which accumulates in 'f64'}}
  %0, %1 = tgpt.rms_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf64>, tensor<12xf64>) -> (tensor<4x6x12xf64>, tensor<4x6xf32>)
  return
}

// -----

func.func @rms_norm_c4_epsilon(%x: tensor<4x6x12xf32>, %w: tensor<12xf32>) {
  // expected-error @below {{C4: epsilon is -1, expected a finite number of at least 0}}
  %0, %1 = tgpt.rms_norm %x, %w {epsilon = -1.0 : f64} : (tensor<4x6x12xf32>, tensor<12xf32>) -> (tensor<4x6x12xf32>, tensor<4x6xf32>)
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// A row must be whole.
func.func @rms_norm_width_sharded(%x: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, %w: tensor<12xf32, #dist.layout<[tp]>>) {
  // expected-error @below {{factor 'D' must not be sharded}}
  %0, %1 = tgpt.rms_norm %x, %w {epsilon = 1.000000e-05 : f64} : (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<12xf32, #dist.layout<[tp]>>) -> (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>)
  return
}
