// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @add_c1_trailing_dims(%x: tensor<4x6x12xf32>, %y: tensor<4x12xf32>) {
  // expected-error @below {{C1: rhs dim 0 is 4 but lhs dim 1 is 6}}
  %0 = tgpt.add %x, %y : (tensor<4x6x12xf32>, tensor<4x12xf32>) -> tensor<4x6x12xf32>
  return
}

// -----

// Only the second operand is broadcast.
func.func @add_c1_rank(%x: tensor<12xf32>, %y: tensor<4x12xf32>) {
  // expected-error @below {{C1: lhs has rank 1, expected at least 2}}
  %0 = tgpt.add %x, %y : (tensor<12xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @add_c2_result_shape(%x: tensor<4x6x12xf32>, %y: tensor<4x6x12xf32>) {
  // expected-error @below {{C2: output dim 2 is 10 but lhs dim 2 is 12}}
  %0 = tgpt.add %x, %y : (tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> tensor<4x6x10xf32>
  return
}

// -----

func.func @add_c3_operand_type(%x: tensor<4x6x12xf32>, %y: tensor<4x6x12xbf16>) {
  // expected-error @below {{C3: rhs is 'bf16' but lhs is 'f32'}}
  %0 = tgpt.add %x, %y : (tensor<4x6x12xf32>, tensor<4x6x12xbf16>) -> tensor<4x6x12xf32>
  return
}

// -----

func.func @add_c3_result_type(%x: tensor<4x6x12xf32>, %y: tensor<4x6x12xf32>) {
  // expected-error @below {{C3: output is 'f64' but lhs is 'f32'}}
  %0 = tgpt.add %x, %y : (tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> tensor<4x6x12xf64>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// Each rank would add all of y to its addend of x.
func.func @add_one_partial_operand(%x: tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>, %y: tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>) {
  // expected-error @below {{operand 0 is partial over "tp" but operand 1 is not}}
  %0 = tgpt.add %x, %y : (tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>
  return
}
