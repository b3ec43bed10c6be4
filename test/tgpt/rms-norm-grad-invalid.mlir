// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @rms_norm_grad_c1_statistic_rank(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<12xf32>, %rstd: tensor<4x6x1xf32>) {
  // expected-error @below {{C1: rstd has rank 3, expected 2}}
  %0, %1 = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<12xf32>, tensor<4x6x1xf32>) -> (tensor<4x6x12xf32>, tensor<12xf32>)
  return
}

// -----

func.func @rms_norm_grad_c2_gradient_a_sample(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<12xf32>, %rstd: tensor<4x6xf32>) {
  // expected-error @below {{C2: weight_grad dim 0 is 1 but input dim 0 is 4}}
  %0, %1 = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<12xf32>, tensor<4x6xf32>) -> (tensor<4x6x12xf32>, tensor<1x12xf32>)
  return
}

// -----

func.func @rms_norm_grad_c2_gradient_shape(%dy: tensor<4x5x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<12xf32>, %rstd: tensor<4x6xf32>) {
  // expected-error @below {{C2: output_grad dim 1 is 5 but input dim 1 is 6}}
  %0, %1 = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (tensor<4x5x12xf32>, tensor<4x6x12xf32>, tensor<12xf32>, tensor<4x6xf32>) -> (tensor<4x6x12xf32>, tensor<12xf32>)
  return
}

// -----

func.func @rms_norm_grad_c2_weight_gradient_width(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>, %w: tensor<12xf32>, %rstd: tensor<4x6xf32>) {
  // expected-error @below {{C2: weight_grad dim 0 is 10 but input dim 2 is 12}}
  %0, %1 = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<12xf32>, tensor<4x6xf32>) -> (tensor<4x6x12xf32>, tensor<10xf32>)
  return
}

// -----

func.func @rms_norm_grad_c3_gradient_type(%dy: tensor<4x6x12xbf16>, %x: tensor<4x6x12xf32>, %w: tensor<12xf32>, %rstd: tensor<4x6xf32>) {
  // expected-error @below {{C3: output_grad is 'bf16' but input is 'f32'}}
  %0, %1 = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (tensor<4x6x12xbf16>, tensor<4x6x12xf32>, tensor<12xf32>, tensor<4x6xf32>) -> (tensor<4x6x12xf32>, tensor<12xf32>)
  return
}

// -----

func.func @rms_norm_grad_c3_weight_gradient_type(%dy: tensor<4x6x12xf64>, %x: tensor<4x6x12xf64>, %w: tensor<12xf64>, %rstd: tensor<4x6xf64>) {
  // expected-error @below {{C3: weight_grad is 'f32' but input is 'f64', which accumulates in 'f64'}}
  %0, %1 = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (tensor<4x6x12xf64>, tensor<4x6x12xf64>, tensor<12xf64>, tensor<4x6xf64>) -> (tensor<4x6x12xf64>, tensor<12xf32>)
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @rms_norm_grad_missing_partial(%dy: tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, %x: tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, %w: tensor<12xf32, #dist.layout<[-]>>, %rstd: tensor<4x6xf32, #dist.layout<[dp, tp]>>) {
  // expected-error @below {{result 1 must be partial over "tp"}}
  %0, %1 = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<12xf32, #dist.layout<[-]>>, tensor<4x6xf32, #dist.layout<[dp, tp]>>) -> (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<12xf32, #dist.layout<[-], partial = [dp]>>)
  return
}
