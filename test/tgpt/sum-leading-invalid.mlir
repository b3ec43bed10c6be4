// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @sum_leading_c1_trailing_dims(%dy: tensor<4x6x9xf32>) {
  // expected-error @below {{C1: output dim 0 is 6 but input dim 2 is 9}}
  %0 = tgpt.sum_leading %dy : (tensor<4x6x9xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @sum_leading_c1_rank(%dy: tensor<9xf32>) {
  // expected-error @below {{C1: input has rank 1, expected at least 2}}
  %0 = tgpt.sum_leading %dy : (tensor<9xf32>) -> tensor<4x9xf32>
  return
}

// -----

func.func @sum_leading_c2_accumulation_type(%dy: tensor<4x6x9xf64>) {
  // expected-error @below {{C2: output is 'f32' but input is 'f64', which accumulates in 'f64'}}
  %0 = tgpt.sum_leading %dy : (tensor<4x6x9xf64>) -> tensor<9xf32>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @sum_leading_missing_partial(%dy: tensor<4x6x9xf32, #dist.layout<[dp, -, -]>>) {
  // expected-error @below {{result 0 must be partial over "dp"}}
  %0 = tgpt.sum_leading %dy : (tensor<4x6x9xf32, #dist.layout<[dp, -, -]>>) -> tensor<9xf32, #dist.layout<[-]>>
  return
}
