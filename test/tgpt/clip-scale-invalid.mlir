// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @clip_scale_c1_type(%squares: tensor<f32>, %count: tensor<f64>) {
  // expected-error @below {{C1: token_count is 'f64' but norm_squared is 'f32'}}
  %0, %1 = tgpt.clip_scale %squares, %count {max_norm = 1.000000e+00 : f64} : (tensor<f32>, tensor<f64>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @clip_scale_c1_loss_scale_type(%squares: tensor<f32>, %count: tensor<f32>, %scale: tensor<f64>) {
  // expected-error @below {{C1: loss_scale is 'f64' but norm_squared is 'f32'}}
  %0, %1 = tgpt.clip_scale %squares, %count, %scale {max_norm = 1.000000e+00 : f64} : (tensor<f32>, tensor<f32>, tensor<f64>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @clip_scale_c2_max_norm(%squares: tensor<f32>, %count: tensor<f32>) {
  // expected-error @below {{C2: max_norm is -1, expected a finite number of at least 0}}
  %0, %1 = tgpt.clip_scale %squares, %count {max_norm = -1.0 : f64} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// The norm is that of all gradients.
func.func @clip_scale_partial_operand(%squares: tensor<f32, #dist.layout<[], partial = [tp]>>, %count: tensor<f32, #dist.layout<[]>>) {
  // expected-error @below {{operand 0 is partial over "tp" but the op is not linear in it}}
  %0, %1 = tgpt.clip_scale %squares, %count {max_norm = 1.000000e+00 : f64} : (tensor<f32, #dist.layout<[], partial = [tp]>>, tensor<f32, #dist.layout<[]>>) -> (tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>)
  return
}
