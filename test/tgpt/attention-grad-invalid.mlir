// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @attention_grad_c1_lse_rank(%do: tensor<4x6x24xf32>, %q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %o: tensor<4x6x24xf32>, %lse: tensor<4x6xf32>) {
  // expected-error @below {{C1: lse has rank 2, expected 3}}
  %0, %1, %2 = tgpt.attention_grad %do, %q, %k, %v, %o, %lse {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xf32>, tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4x6x24xf32>, tensor<4x6xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>)
  return
}

// -----

func.func @attention_grad_c2_whole_heads(%do: tensor<4x6x24xf32>, %q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %o: tensor<4x6x24xf32>, %lse: tensor<4x6x6xf32>) {
  // expected-error @below {{C2: query dim 2 is 24 but head_dim 5 does not divide it}}
  // expected-note @below {{nearest multiple is 25}}
  %0, %1, %2 = tgpt.attention_grad %do, %q, %k, %v, %o, %lse {head_dim = 5 : i64, scale = 0.5 : f64} : (tensor<4x6x24xf32>, tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4x6x24xf32>, tensor<4x6x6xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>)
  return
}

// -----

// Two query heads cannot share three KV heads.
func.func @attention_grad_c3_groups(%do: tensor<4x6x8xf32>, %q: tensor<4x6x8xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %o: tensor<4x6x8xf32>, %lse: tensor<4x2x6xf32>) {
  // expected-error @below {{C3: query has 2 heads, not a multiple of the 3 of key}}
  %0, %1, %2 = tgpt.attention_grad %do, %q, %k, %v, %o, %lse {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x8xf32>, tensor<4x6x8xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4x6x8xf32>, tensor<4x2x6xf32>) -> (tensor<4x6x8xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>)
  return
}

// -----

func.func @attention_grad_c4_gradient_shape(%do: tensor<4x5x24xf32>, %q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %o: tensor<4x6x24xf32>, %lse: tensor<4x6x6xf32>) {
  // expected-error @below {{C4: output_grad dim 1 is 5 but output dim 1 is 6}}
  %0, %1, %2 = tgpt.attention_grad %do, %q, %k, %v, %o, %lse {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x5x24xf32>, tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4x6x24xf32>, tensor<4x6x6xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>)
  return
}

// -----

func.func @attention_grad_c4_key_gradient_shape(%do: tensor<4x6x24xf32>, %q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %o: tensor<4x6x24xf32>, %lse: tensor<4x6x6xf32>) {
  // expected-error @below {{C4: key_grad dim 2 is 24 but key dim 2 is 12}}
  %0, %1, %2 = tgpt.attention_grad %do, %q, %k, %v, %o, %lse {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xf32>, tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4x6x24xf32>, tensor<4x6x6xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x24xf32>, tensor<4x6x12xf32>)
  return
}

// -----

func.func @attention_grad_c5_gradient_type(%do: tensor<4x6x24xbf16>, %q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %o: tensor<4x6x24xf32>, %lse: tensor<4x6x6xf32>) {
  // expected-error @below {{C5: output_grad is 'bf16' but query is 'f32'}}
  %0, %1, %2 = tgpt.attention_grad %do, %q, %k, %v, %o, %lse {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xbf16>, tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4x6x24xf32>, tensor<4x6x6xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>)
  return
}

// -----

func.func @attention_grad_c5_value_gradient_type(%do: tensor<4x6x24xf32>, %q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %o: tensor<4x6x24xf32>, %lse: tensor<4x6x6xf32>) {
  // expected-error @below {{C5: value_grad is 'bf16' but query is 'f32'}}
  %0, %1, %2 = tgpt.attention_grad %do, %q, %k, %v, %o, %lse {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xf32>, tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4x6x24xf32>, tensor<4x6x6xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xbf16>)
  return
}

// -----

func.func @attention_grad_c6_scale(%do: tensor<4x6x24xf32>, %q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %o: tensor<4x6x24xf32>, %lse: tensor<4x6x6xf32>) {
  // expected-error @below {{C6: scale is NaN, expected a finite number}}
  %0, %1, %2 = tgpt.attention_grad %do, %q, %k, %v, %o, %lse {head_dim = 4 : i64, scale = 0x7FF8000000000000 : f64} : (tensor<4x6x24xf32>, tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4x6x24xf32>, tensor<4x6x6xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>)
  return
}

// -----

func.func @attention_grad_c7_mask_inputs(%do: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %lse: tensor<4x6x6xf32>) {
  // expected-error @below {{C7: there are 0 mask_inputs, expected 2}}
  %0, %1, %2 = tgpt.attention_grad %do, %do, %k, %k, %do, %lse {dropout = 0.25 : f64, head_dim = 4 : i64, scale = 0.5 : f64, stream = "attn"} : (tensor<4x6x24xf32>, tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4x6x24xf32>, tensor<4x6x6xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>)
  return
}
