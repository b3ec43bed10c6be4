// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @linear_dgrad_c1_weight_rank(%dy: tensor<4x6x9xf32>, %w: tensor<9xf32>) {
  // expected-error @below {{C1: weight has rank 1, expected 2}}
  %0 = tgpt.linear_dgrad %dy, %w : (tensor<4x6x9xf32>, tensor<9xf32>) -> tensor<4x6x12xf32>
  return
}

// -----

func.func @linear_dgrad_c1_result_rank(%dy: tensor<4x6x9xf32>, %w: tensor<9x12xf32>) {
  // expected-error @below {{C1: input_grad has rank 2, expected 3}}
  %0 = tgpt.linear_dgrad %dy, %w : (tensor<4x6x9xf32>, tensor<9x12xf32>) -> tensor<24x12xf32>
  return
}

// -----

func.func @linear_dgrad_c2_output_width(%dy: tensor<4x6x8xf32>, %w: tensor<9x12xf32>) {
  // expected-error @below {{C2: output_grad dim 2 is 8 but weight dim 0 is 9}}
  %0 = tgpt.linear_dgrad %dy, %w : (tensor<4x6x8xf32>, tensor<9x12xf32>) -> tensor<4x6x12xf32>
  return
}

// -----

func.func @linear_dgrad_c2_input_width(%dy: tensor<4x6x9xf32>, %w: tensor<9x12xf32>) {
  // expected-error @below {{C2: input_grad dim 2 is 10 but weight dim 1 is 12}}
  %0 = tgpt.linear_dgrad %dy, %w : (tensor<4x6x9xf32>, tensor<9x12xf32>) -> tensor<4x6x10xf32>
  return
}

// -----

func.func @linear_dgrad_c2_leading_dims(%dy: tensor<4x6x9xf32>, %w: tensor<9x12xf32>) {
  // expected-error @below {{C2: input_grad dim 0 is 5 but output_grad dim 0 is 4}}
  %0 = tgpt.linear_dgrad %dy, %w : (tensor<4x6x9xf32>, tensor<9x12xf32>) -> tensor<5x6x12xf32>
  return
}

// -----

func.func @linear_dgrad_c3_element_type(%dy: tensor<4x6x9xf32>, %w: tensor<9x12xbf16>) {
  // expected-error @below {{C3: weight is 'bf16' but output_grad is 'f32'}}
  %0 = tgpt.linear_dgrad %dy, %w : (tensor<4x6x9xf32>, tensor<9x12xbf16>) -> tensor<4x6x12xf32>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @linear_dgrad_missing_partial(%dy: tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>>, %w: tensor<9x12xf32, #dist.layout<[tp, -]>>) {
  // expected-error @below {{result 0 must be partial over "tp"}}
  %0 = tgpt.linear_dgrad %dy, %w : (tensor<4x6x9xf32, #dist.layout<[dp, -, tp]>>, tensor<9x12xf32, #dist.layout<[tp, -]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>
  return
}
