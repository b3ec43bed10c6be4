// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @layer_norm_grad_c1_bias_gradient_rank(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<12xf32>, %mean: tensor<4x6xf32>, %rstd: tensor<4x6xf32>) {
  // expected-error @below {{C1: bias_grad has rank 0, expected 1}}
  %0, %1, %2 = tgpt.layer_norm_grad %dy, %x, %w, %mean, %rstd : (tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<12xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x6x12xf32>, tensor<12xf32>, tensor<f32>)
  return
}

// -----

func.func @layer_norm_grad_c2_mean_shape(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<12xf32>, %mean: tensor<4x5xf32>, %rstd: tensor<4x6xf32>) {
  // expected-error @below {{C2: mean dim 1 is 5 but input dim 1 is 6}}
  %0, %1, %2 = tgpt.layer_norm_grad %dy, %x, %w, %mean, %rstd : (tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<12xf32>, tensor<4x5xf32>, tensor<4x6xf32>) -> (tensor<4x6x12xf32>, tensor<12xf32>, tensor<12xf32>)
  return
}

// -----

func.func @layer_norm_grad_c2_result_shape(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<12xf32>, %mean: tensor<4x6xf32>, %rstd: tensor<4x6xf32>) {
  // expected-error @below {{C2: input_grad dim 2 is 10 but input dim 2 is 12}}
  %0, %1, %2 = tgpt.layer_norm_grad %dy, %x, %w, %mean, %rstd : (tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<12xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x6x10xf32>, tensor<12xf32>, tensor<12xf32>)
  return
}

// -----

func.func @layer_norm_grad_c2_bias_gradient_width(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<12xf32>, %mean: tensor<4x6xf32>, %rstd: tensor<4x6xf32>) {
  // expected-error @below {{C2: bias_grad dim 0 is 10 but input dim 2 is 12}}
  %0, %1, %2 = tgpt.layer_norm_grad %dy, %x, %w, %mean, %rstd : (tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<12xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x6x12xf32>, tensor<12xf32>, tensor<10xf32>)
  return
}

// -----

func.func @layer_norm_grad_c3_result_type(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<12xf32>, %mean: tensor<4x6xf32>, %rstd: tensor<4x6xf32>) {
  // expected-error @below {{C3: input_grad is 'bf16' but input is 'f32'}}
  %0, %1, %2 = tgpt.layer_norm_grad %dy, %x, %w, %mean, %rstd : (tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<12xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<4x6x12xbf16>, tensor<12xf32>, tensor<12xf32>)
  return
}

// -----

func.func @layer_norm_grad_c3_bias_gradient_type(%dy: tensor<4x6x12xf64>, %x: tensor<4x6x12xf64>, %w: tensor<12xf64>, %mean: tensor<4x6xf64>, %rstd: tensor<4x6xf64>) {
  // expected-error @below {{C3: bias_grad is 'f32' but input is 'f64', which accumulates in 'f64'}}
  %0, %1, %2 = tgpt.layer_norm_grad %dy, %x, %w, %mean, %rstd : (tensor<4x6x12xf64>, tensor<4x6x12xf64>, tensor<12xf64>, tensor<4x6xf64>, tensor<4x6xf64>) -> (tensor<4x6x12xf64>, tensor<12xf64>, tensor<12xf32>)
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @layer_norm_grad_missing_partial(%dy: tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>, %x: tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>, %w: tensor<12xf32, #dist.layout<[-]>>, %mean: tensor<4x6xf32, #dist.layout<[dp, -]>>, %rstd: tensor<4x6xf32, #dist.layout<[dp, -]>>) {
  // expected-error @below {{result 2 must be partial over "dp"}}
  %0, %1, %2 = tgpt.layer_norm_grad %dy, %x, %w, %mean, %rstd : (tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>, tensor<12xf32, #dist.layout<[-]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>) -> (tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>, tensor<12xf32, #dist.layout<[-], partial = [dp]>>, tensor<12xf32, #dist.layout<[-]>>)
  return
}
