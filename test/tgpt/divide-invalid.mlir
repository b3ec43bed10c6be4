// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @divide_c1_operand_type(%x: tensor<f32>, %y: tensor<f64>) {
  // expected-error @below {{C1: rhs is 'f64' but lhs is 'f32'}}
  %0 = tgpt.divide %x, %y : (tensor<f32>, tensor<f64>) -> tensor<f32>
  return
}

// -----

func.func @divide_c1_result_type(%x: tensor<f32>, %y: tensor<f32>) {
  // expected-error @below {{C1: output is 'f64' but lhs is 'f32'}}
  %0 = tgpt.divide %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f64>
  return
}

// -----

func.func @divide_scalars_only(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{operand #0 must be scalar: tensor of rank 0}}
  %0 = tgpt.divide %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
