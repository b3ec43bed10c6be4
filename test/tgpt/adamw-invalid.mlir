// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @adamw_c1_gradient_shape(%p: tensor<4x6xf32>, %g: tensor<4x5xf32>, %m: tensor<4x6xf32>, %v: tensor<4x6xf32>, %scale: tensor<f32>, %lr: tensor<f32>, %step: tensor<f32>) {
  // expected-error @below {{C1: gradient dim 1 is 5 but parameter dim 1 is 6}}
  %0, %1, %2 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %step {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (tensor<4x6xf32>, tensor<4x5xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>)
  return
}

// -----

func.func @adamw_c1_result_shape(%p: tensor<4x6xf32>, %g: tensor<4x6xf32>, %m: tensor<4x6xf32>, %v: tensor<4x6xf32>, %scale: tensor<f32>, %lr: tensor<f32>, %step: tensor<f32>) {
  // expected-error @below {{C1: new_moment2 dim 1 is 5 but parameter dim 1 is 6}}
  %0, %1, %2 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %step {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x5xf32>)
  return
}

// -----

func.func @adamw_c2_moment_type(%p: tensor<4x6xf32>, %g: tensor<4x6xf32>, %m: tensor<4x6xf64>, %v: tensor<4x6xf32>, %scale: tensor<f32>, %lr: tensor<f32>, %step: tensor<f32>) {
  // expected-error @below {{C2: moment1 is 'f64' but parameter is 'f32'}}
  %0, %1, %2 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %step {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf64>, tensor<4x6xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>)
  return
}

// -----

func.func @adamw_c2_scalar_type(%p: tensor<4x6xf32>, %g: tensor<4x6xf32>, %m: tensor<4x6xf32>, %v: tensor<4x6xf32>, %scale: tensor<f32>, %lr: tensor<f32>, %step: tensor<f64>) {
  // expected-error @below {{C2: step is 'f64' but parameter is 'f32'}}
  %0, %1, %2 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %step {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<f32>, tensor<f64>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>)
  return
}

// -----

func.func @adamw_c3_beta1(%p: tensor<4x6xf32>, %g: tensor<4x6xf32>, %m: tensor<4x6xf32>, %v: tensor<4x6xf32>, %scale: tensor<f32>, %lr: tensor<f32>, %step: tensor<f32>) {
  // expected-error @below {{C3: beta1 is 1, expected at least 0 and below 1}}
  %0, %1, %2 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %step {beta1 = 1.0 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>)
  return
}

// -----

func.func @adamw_c3_beta2(%p: tensor<4x6xf32>, %g: tensor<4x6xf32>, %m: tensor<4x6xf32>, %v: tensor<4x6xf32>, %scale: tensor<f32>, %lr: tensor<f32>, %step: tensor<f32>) {
  // expected-error @below {{C3: beta2 is -0.5, expected at least 0 and below 1}}
  %0, %1, %2 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %step {beta1 = 0.9 : f64, beta2 = -0.5 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>)
  return
}

// -----

func.func @adamw_c4_epsilon(%p: tensor<4x6xf32>, %g: tensor<4x6xf32>, %m: tensor<4x6xf32>, %v: tensor<4x6xf32>, %scale: tensor<f32>, %lr: tensor<f32>, %step: tensor<f32>) {
  // expected-error @below {{C4: epsilon is -1, expected a finite number of at least 0}}
  %0, %1, %2 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = -1.0 : f64, weight_decay = 0.1 : f64} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>)
  return
}

// -----

func.func @adamw_c4_weight_decay(%p: tensor<4x6xf32>, %g: tensor<4x6xf32>, %m: tensor<4x6xf32>, %v: tensor<4x6xf32>, %scale: tensor<f32>, %lr: tensor<f32>, %step: tensor<f32>) {
  // expected-error @below {{C4: weight_decay is -1, expected a finite number of at least 0}}
  %0, %1, %2 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = -1.0 : f64} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>)
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// The gradient must be whole: its square enters the second moment.
func.func @adamw_partial_gradient(%p: tensor<4x6xf32, #dist.layout<[-, -]>>, %g: tensor<4x6xf32, #dist.layout<[-, -], partial = [dp]>>, %m: tensor<4x6xf32, #dist.layout<[-, -]>>, %v: tensor<4x6xf32, #dist.layout<[-, -]>>, %scale: tensor<f32, #dist.layout<[]>>, %lr: tensor<f32, #dist.layout<[]>>, %step: tensor<f32, #dist.layout<[]>>) {
  // expected-error @below {{operand 1 is partial over "dp" but the op is not linear in it}}
  %0, %1, %2 = tgpt.adamw %p, %g, %m, %v, %scale, %lr, %step {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, epsilon = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (tensor<4x6xf32, #dist.layout<[-, -]>>, tensor<4x6xf32, #dist.layout<[-, -], partial = [dp]>>, tensor<4x6xf32, #dist.layout<[-, -]>>, tensor<4x6xf32, #dist.layout<[-, -]>>, tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>) -> (tensor<4x6xf32, #dist.layout<[-, -]>>, tensor<4x6xf32, #dist.layout<[-, -]>>, tensor<4x6xf32, #dist.layout<[-, -]>>)
  return
}
