// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @embedding_grad_c1_gradient_rank(%ids: tensor<4x6xi32>, %dx: tensor<24x12xf32>) {
  // expected-error @below {{C1: output_grad has rank 2, expected 3}}
  %0 = tgpt.embedding_grad %ids, %dx : (tensor<4x6xi32>, tensor<24x12xf32>) -> tensor<24x12xf32>
  return
}

// -----

func.func @embedding_grad_c1_table_rank(%ids: tensor<4x6xi32>, %dx: tensor<4x6x12xf32>) {
  // expected-error @below {{C1: table_grad has rank 1, expected 2}}
  %0 = tgpt.embedding_grad %ids, %dx : (tensor<4x6xi32>, tensor<4x6x12xf32>) -> tensor<24xf32>
  return
}

// -----

func.func @embedding_grad_c2_sequence(%ids: tensor<4x6xi32>, %dx: tensor<4x7x12xf32>) {
  // expected-error @below {{C2: output_grad dim 1 is 7 but ids dim 1 is 6}}
  %0 = tgpt.embedding_grad %ids, %dx : (tensor<4x6xi32>, tensor<4x7x12xf32>) -> tensor<24x12xf32>
  return
}

// -----

func.func @embedding_grad_c2_width(%ids: tensor<4x6xi32>, %dx: tensor<4x6x12xf32>) {
  // expected-error @below {{C2: output_grad dim 2 is 12 but table_grad dim 1 is 10}}
  %0 = tgpt.embedding_grad %ids, %dx : (tensor<4x6xi32>, tensor<4x6x12xf32>) -> tensor<24x10xf32>
  return
}

// -----

// A sum of f64 gradients stays in f64.
func.func @embedding_grad_c3_accumulation_type(%ids: tensor<4x6xi32>, %dx: tensor<4x6x12xf64>) {
  // expected-error @below {{C3: table_grad is 'f32' but output_grad is 'f64', which accumulates in 'f64'}}
  %0 = tgpt.embedding_grad %ids, %dx : (tensor<4x6xi32>, tensor<4x6x12xf64>) -> tensor<24x12xf32>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// Tokens of other batches are on other ranks.
func.func @embedding_grad_missing_partial(%ids: tensor<4x6xi32, #dist.layout<[dp, -]>>, %dx: tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>) {
  // expected-error @below {{result 0 must be partial over "dp"}}
  %0 = tgpt.embedding_grad %ids, %dx : (tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<4x6x12xf32, #dist.layout<[dp, -, -]>>) -> tensor<24x12xf32, #dist.layout<[-, -]>>
  return
}
