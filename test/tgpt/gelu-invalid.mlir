// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @gelu_c1_result_shape(%x: tensor<4x6x12xf32>) {
  // expected-error @below {{C1: output dim 2 is 10 but input dim 2 is 12}}
  %0 = tgpt.gelu %x : (tensor<4x6x12xf32>) -> tensor<4x6x10xf32>
  return
}

// -----

func.func @gelu_c2_result_type(%x: tensor<4x6x12xf32>) {
  // expected-error @below {{C2: output is 'bf16' but input is 'f32'}}
  %0 = tgpt.gelu %x : (tensor<4x6x12xf32>) -> tensor<4x6x12xbf16>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// Not linear: a partial value must be summed first.
func.func @gelu_partial_operand(%x: tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>) {
  // expected-error @below {{operand 0 is partial over "tp" but the op is not linear in it}}
  %0 = tgpt.gelu %x : (tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>
  return
}
