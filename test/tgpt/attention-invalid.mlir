// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @attention_c1_query_rank(%q: tensor<24x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>) {
  // expected-error @below {{C1: query has rank 2, expected 3}}
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<24x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @attention_c1_lse_rank(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>) {
  // expected-error @below {{C1: lse has rank 2, expected 3}}
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> (tensor<4x6x24xf32>, tensor<4x6xf32>)
  return
}

// -----

func.func @attention_c2_zero(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>) {
  // expected-error @below {{C2: head_dim is 0, expected at least 1}}
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 0 : i64, scale = 0.5 : f64} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @attention_c2_whole_heads(%q: tensor<4x6x26xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>) {
  // expected-error @below {{C2: query dim 2 is 26 but head_dim 4 does not divide it}}
  // expected-note @below {{nearest multiple is 28}}
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x26xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> (tensor<4x6x26xf32>, tensor<4x6x6xf32>)
  return
}

// -----

// Five query heads cannot share three KV heads evenly.
func.func @attention_c3_groups(%q: tensor<4x6x20xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>) {
  // expected-error @below {{C3: query has 5 heads, not a multiple of the 3 of key}}
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x20xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> (tensor<4x6x20xf32>, tensor<4x5x6xf32>)
  return
}

// -----

func.func @attention_c4_sequence(%q: tensor<4x6x24xf32>, %k: tensor<4x5x12xf32>, %v: tensor<4x6x12xf32>) {
  // expected-error @below {{C4: key dim 1 is 5 but query dim 1 is 6}}
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xf32>, tensor<4x5x12xf32>, tensor<4x6x12xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @attention_c4_value_shape(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x8xf32>) {
  // expected-error @below {{C4: value dim 2 is 8 but key dim 2 is 12}}
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x8xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @attention_c4_result_shape(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>) {
  // expected-error @below {{C4: output dim 2 is 12 but query dim 2 is 24}}
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> (tensor<4x6x12xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @attention_c4_lse_heads(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>) {
  // expected-error @below {{C4: lse dim 1 is 3 but query has 6 heads}}
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> (tensor<4x6x24xf32>, tensor<4x3x6xf32>)
  return
}

// -----

func.func @attention_c5_element_type(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xbf16>) {
  // expected-error @below {{C5: value is 'bf16' but query is 'f32'}}
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xbf16>) -> (tensor<4x6x24xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @attention_c5_lse_type(%q: tensor<4x6x12xf64>, %k: tensor<4x6x12xf64>, %v: tensor<4x6x12xf64>) {
  // expected-error @below {{C5: lse is 'f32' but query is 'f64', which accumulates in 'f64'}}
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x12xf64>, tensor<4x6x12xf64>, tensor<4x6x12xf64>) -> (tensor<4x6x12xf64>, tensor<4x3x6xf32>)
  return
}

// -----

func.func @attention_c6_scale(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>) {
  // expected-error @below {{C6: scale is +Inf, expected a finite number}}
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 0x7FF0000000000000 : f64} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x6xf32>)
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// A query reads all earlier columns.
func.func @attention_sequence_sharded(%q: tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, %k: tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, %v: tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>) {
  // expected-error @below {{factor 'b' must not be sharded}}
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>) -> (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<4x3x6xf32, #dist.layout<[dp, -, tp]>>)
  return
}
