// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @linear_c1_weight_rank(%x: tensor<4x6x12xf32>, %w: tensor<12xf32>) {
  // expected-error @below {{C1: weight has rank 1, expected 2}}
  %0 = tgpt.linear %x, %w : (tensor<4x6x12xf32>, tensor<12xf32>) -> tensor<4x6x9xf32>
  return
}

// -----

func.func @linear_c1_result_rank(%x: tensor<4x6x12xf32>, %w: tensor<9x12xf32>) {
  // expected-error @below {{C1: output has rank 2, expected 3}}
  %0 = tgpt.linear %x, %w : (tensor<4x6x12xf32>, tensor<9x12xf32>) -> tensor<24x9xf32>
  return
}

// -----

func.func @linear_c1_bias_rank(%x: tensor<4x6x12xf32>, %w: tensor<9x12xf32>, %bias: tensor<1x9xf32>) {
  // expected-error @below {{C1: bias has rank 2, expected 1}}
  %0 = tgpt.linear %x, %w, %bias : (tensor<4x6x12xf32>, tensor<9x12xf32>, tensor<1x9xf32>) -> tensor<4x6x9xf32>
  return
}

// -----

func.func @linear_c2_input_width(%x: tensor<4x6x12xf32>, %w: tensor<9x10xf32>) {
  // expected-error @below {{C2: input dim 2 is 12 but weight dim 1 is 10}}
  %0 = tgpt.linear %x, %w : (tensor<4x6x12xf32>, tensor<9x10xf32>) -> tensor<4x6x9xf32>
  return
}

// -----

func.func @linear_c2_output_width(%x: tensor<4x6x12xf32>, %w: tensor<9x12xf32>) {
  // expected-error @below {{C2: output dim 2 is 8 but weight dim 0 is 9}}
  %0 = tgpt.linear %x, %w : (tensor<4x6x12xf32>, tensor<9x12xf32>) -> tensor<4x6x8xf32>
  return
}

// -----

func.func @linear_c2_leading_dims(%x: tensor<4x6x12xf32>, %w: tensor<9x12xf32>) {
  // expected-error @below {{C2: output dim 1 is 5 but input dim 1 is 6}}
  %0 = tgpt.linear %x, %w : (tensor<4x6x12xf32>, tensor<9x12xf32>) -> tensor<4x5x9xf32>
  return
}

// -----

func.func @linear_c2_bias_width(%x: tensor<4x6x12xf32>, %w: tensor<9x12xf32>, %bias: tensor<8xf32>) {
  // expected-error @below {{C2: bias dim 0 is 8 but weight dim 0 is 9}}
  %0 = tgpt.linear %x, %w, %bias : (tensor<4x6x12xf32>, tensor<9x12xf32>, tensor<8xf32>) -> tensor<4x6x9xf32>
  return
}

// -----

func.func @linear_c3_weight_type(%x: tensor<4x6x12xf32>, %w: tensor<9x12xbf16>) {
  // expected-error @below {{C3: weight is 'bf16' but input is 'f32'}}
  %0 = tgpt.linear %x, %w : (tensor<4x6x12xf32>, tensor<9x12xbf16>) -> tensor<4x6x9xf32>
  return
}

// -----

func.func @linear_c3_bias_type(%x: tensor<4x6x12xf32>, %w: tensor<9x12xf32>, %bias: tensor<9xf64>) {
  // expected-error @below {{C3: bias is 'f64' but input is 'f32'}}
  %0 = tgpt.linear %x, %w, %bias : (tensor<4x6x12xf32>, tensor<9x12xf32>, tensor<9xf64>) -> tensor<4x6x9xf32>
  return
}

// -----

// The result may be wider, but only as sums are.
func.func @linear_c3_result_type(%x: tensor<4x6x12xbf16>, %w: tensor<9x12xbf16>) {
  // expected-error @below {{C3: output is 'f64' but input is 'bf16', which accumulates in 'f32'}}
  %0 = tgpt.linear %x, %w : (tensor<4x6x12xbf16>, tensor<9x12xbf16>) -> tensor<4x6x9xf64>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// Each rank would add the bias once: it must come after the sum.
func.func @linear_row_parallel_bias(%x: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, %w: tensor<9x12xf32, #dist.layout<[-, tp]>>, %bias: tensor<9xf32, #dist.layout<[-]>>) {
  // expected-error @below {{factor 'K' must not be sharded}}
  %0 = tgpt.linear %x, %w, %bias : (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>, tensor<9x12xf32, #dist.layout<[-, tp]>>, tensor<9xf32, #dist.layout<[-]>>) -> tensor<4x6x9xf32, #dist.layout<[dp, -, -], partial = [tp]>>
  return
}
