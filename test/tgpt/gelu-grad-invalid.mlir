// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @gelu_grad_c1_result_shape(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>) {
  // expected-error @below {{C1: input_grad dim 2 is 10 but input dim 2 is 12}}
  %0 = tgpt.gelu_grad %dy, %x : (tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> tensor<4x6x10xf32>
  return
}

// -----

func.func @gelu_grad_c2_result_type(%dy: tensor<4x6x12xf32>, %x: tensor<4x6x12xf32>) {
  // expected-error @below {{C2: input_grad is 'bf16' but input is 'f32'}}
  %0 = tgpt.gelu_grad %dy, %x : (tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> tensor<4x6x12xbf16>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// Not linear: a partial value must be summed first.
func.func @gelu_grad_partial_operand(%dy: tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>, %x: tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>) {
  // expected-error @below {{operand 0 is partial over "tp" but the op is not linear in it}}
  %0 = tgpt.gelu_grad %dy, %x : (tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>
  return
}

// -----

func.func @gelu_grad_c1_operand_rank(%dy: tensor<72x4xf32>, %x: tensor<4x6x12xf32>) {
  // expected-error @below {{C1: output_grad has rank 2, expected 3}}
  %0 = tgpt.gelu_grad %dy, %x : (tensor<72x4xf32>, tensor<4x6x12xf32>) -> tensor<4x6x12xf32>
  return
}
