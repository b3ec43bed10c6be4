// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @add_n_c1_no_operand() {
  // expected-error @below {{C1: has 0 operands, expected at least 1}}
  %0 = tgpt.add_n : () -> tensor<4x6xf32>
  return
}

// -----

func.func @add_n_c2_shape(%a: tensor<4x6xf32>, %b: tensor<4x5xf32>) {
  // expected-error @below {{C2: input dim 1 is 5 but output dim 1 is 6}}
  %0 = tgpt.add_n %a, %b : (tensor<4x6xf32>, tensor<4x5xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @add_n_c2_element_type(%a: tensor<4x6xf32>, %b: tensor<4x6xf64>) {
  // expected-error @below {{C2: input is 'f64' but output is 'f32'}}
  %0 = tgpt.add_n %a, %b : (tensor<4x6xf32>, tensor<4x6xf64>) -> tensor<4x6xf32>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @add_n_one_partial_operand(%a: tensor<4x6xf32, #dist.layout<[-, -], partial = [tp]>>, %b: tensor<4x6xf32, #dist.layout<[-, -]>>) {
  // expected-error @below {{operand 0 is partial over "tp" but operand 1 is not}}
  %0 = tgpt.add_n %a, %b : (tensor<4x6xf32, #dist.layout<[-, -], partial = [tp]>>, tensor<4x6xf32, #dist.layout<[-, -]>>) -> tensor<4x6xf32, #dist.layout<[-, -], partial = [tp]>>
  return
}
