// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @swiglu_c1_result_shape(%gate: tensor<4x6x12xf32>, %up: tensor<4x6x12xf32>) {
  // expected-error @below {{C1: output dim 2 is 10 but gate dim 2 is 12}}
  %0 = tgpt.swiglu %gate, %up : (tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> tensor<4x6x10xf32>
  return
}

// -----

func.func @swiglu_c2_result_type(%gate: tensor<4x6x12xf32>, %up: tensor<4x6x12xf32>) {
  // expected-error @below {{C2: output is 'bf16' but gate is 'f32'}}
  %0 = tgpt.swiglu %gate, %up : (tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> tensor<4x6x12xbf16>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// Not linear: a partial value must be summed first.
func.func @swiglu_partial_operand(%gate: tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>, %up: tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>) {
  // expected-error @below {{operand 0 is partial over "tp" but the op is not linear in it}}
  %0 = tgpt.swiglu %gate, %up : (tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>
  return
}

// -----

func.func @swiglu_c1_operand_rank(%gate: tensor<4x6x12xf32>, %up: tensor<24x12xf32>) {
  // expected-error @below {{C1: up has rank 2, expected 3}}
  %0 = tgpt.swiglu %gate, %up : (tensor<4x6x12xf32>, tensor<24x12xf32>) -> tensor<4x6x12xf32>
  return
}

// -----

func.func @swiglu_c2_operand_type(%gate: tensor<4x6x12xf32>, %up: tensor<4x6x12xf64>) {
  // expected-error @below {{C2: up is 'f64' but gate is 'f32'}}
  %0 = tgpt.swiglu %gate, %up : (tensor<4x6x12xf32>, tensor<4x6x12xf64>) -> tensor<4x6x12xf32>
  return
}
