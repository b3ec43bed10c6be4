// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @sum_squares_c1_type(%gradient: tensor<4x6xf32>) {
  // expected-error @below {{C1: output is 'f64' but input is 'f32'}}
  %0 = tgpt.sum_squares %gradient : (tensor<4x6xf32>) -> tensor<f64>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// The square of an addend is no addend.
func.func @sum_squares_partial_operand(%gradient: tensor<4x6xf32, #dist.layout<[-, -], partial = [dp]>>) {
  // expected-error @below {{operand 0 is partial over "dp" but the op is not linear in it}}
  %0 = tgpt.sum_squares %gradient : (tensor<4x6xf32, #dist.layout<[-, -], partial = [dp]>>) -> tensor<f32, #dist.layout<[], partial = [dp]>>
  return
}
