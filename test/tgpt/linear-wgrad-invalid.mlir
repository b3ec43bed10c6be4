// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @linear_wgrad_c1_input_rank(%dy: tensor<4x6x9xf32>, %x: tensor<24x12xf32>) {
  // expected-error @below {{C1: input has rank 2, expected 3}}
  %0 = tgpt.linear_wgrad %dy, %x : (tensor<4x6x9xf32>, tensor<24x12xf32>) -> tensor<9x12xf32>
  return
}

// -----

func.func @linear_wgrad_c1_result_rank(%dy: tensor<4x6x9xf32>, %x: tensor<4x6x12xf32>) {
  // expected-error @below {{C1: weight_grad has rank 1, expected 2}}
  %0 = tgpt.linear_wgrad %dy, %x : (tensor<4x6x9xf32>, tensor<4x6x12xf32>) -> tensor<12xf32>
  return
}

// -----

func.func @linear_wgrad_c2_output_features(%dy: tensor<4x6x9xf32>, %x: tensor<4x6x12xf32>) {
  // expected-error @below {{C2: weight_grad dim 0 is 8 but output_grad dim 2 is 9}}
  %0 = tgpt.linear_wgrad %dy, %x : (tensor<4x6x9xf32>, tensor<4x6x12xf32>) -> tensor<8x12xf32>
  return
}

// -----

func.func @linear_wgrad_c2_input_features(%dy: tensor<4x6x9xf32>, %x: tensor<4x6x12xf32>) {
  // expected-error @below {{C2: weight_grad dim 1 is 10 but input dim 2 is 12}}
  %0 = tgpt.linear_wgrad %dy, %x : (tensor<4x6x9xf32>, tensor<4x6x12xf32>) -> tensor<9x10xf32>
  return
}

// -----

func.func @linear_wgrad_c2_leading_dims(%dy: tensor<4x6x9xf32>, %x: tensor<4x5x12xf32>) {
  // expected-error @below {{C2: input dim 1 is 5 but output_grad dim 1 is 6}}
  %0 = tgpt.linear_wgrad %dy, %x : (tensor<4x6x9xf32>, tensor<4x5x12xf32>) -> tensor<9x12xf32>
  return
}

// -----

func.func @linear_wgrad_c3_input_type(%dy: tensor<4x6x9xf32>, %x: tensor<4x6x12xbf16>) {
  // expected-error @below {{C3: input is 'bf16' but output_grad is 'f32'}}
  %0 = tgpt.linear_wgrad %dy, %x : (tensor<4x6x9xf32>, tensor<4x6x12xbf16>) -> tensor<9x12xf32>
  return
}

// -----

func.func @linear_wgrad_c3_accumulation_type(%dy: tensor<4x6x9xf64>, %x: tensor<4x6x12xf64>) {
  // expected-error @below {{C3: weight_grad is 'f32' but output_grad is 'f64', which accumulates in 'f64'}}
  %0 = tgpt.linear_wgrad %dy, %x : (tensor<4x6x9xf64>, tensor<4x6x12xf64>) -> tensor<9x12xf32>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @linear_wgrad_missing_partial(%dy: tensor<4x6x9xf32, #dist.layout<[dp, -, -]>>, %x: tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>) {
  // expected-error @below {{result 0 must be partial over "dp"}}
  %0 = tgpt.linear_wgrad %dy, %x : (tensor<4x6x9xf32, #dist.layout<[dp, -, -]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>) -> tensor<9x12xf32, #dist.layout<[-, -]>>
  return
}
