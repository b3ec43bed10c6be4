// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @cast_c1_shape(%x: tensor<4x6xf32>) {
  // expected-error @below {{C1: output dim 1 is 5 but input dim 1 is 6}}
  %0 = tgpt.cast %x : (tensor<4x6xf32>) -> tensor<4x5xbf16>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// Rounding is not linear: the addends of a sum are not those of the rounded sum.
func.func @cast_partial_operand(%x: tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>) {
  // expected-error @below {{operand 0 is partial over "tp" but the op is not linear in it}}
  %0 = tgpt.cast %x : (tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>) -> tensor<4x6xbf16, #dist.layout<[dp, -], partial = [tp]>>
  return
}
