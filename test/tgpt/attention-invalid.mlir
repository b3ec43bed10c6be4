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

// -----

func.func @attention_c7_share(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %samples: tensor<4xi32>, %step: tensor<i32>) {
  // expected-error @below {{C7: dropout is 1, expected a number of at least 0 and below 1}}
  %0, %1 = tgpt.attention %q, %k, %v, %samples, %step {head_dim = 4 : i64, scale = 0.5 : f64, dropout = 1.0 : f64, stream = "a"} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4xi32>, tensor<i32>) -> (tensor<4x6x24xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @attention_c7_no_mask_inputs(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>) {
  // expected-error @below {{C7: there are 0 mask_inputs, expected 2}}
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 0.5 : f64, dropout = 0.5 : f64, stream = "a"} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @attention_c7_useless_mask_inputs(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %samples: tensor<4xi32>, %step: tensor<i32>) {
  // expected-error @below {{C7: there are 2 mask_inputs, expected 0}}
  %0, %1 = tgpt.attention %q, %k, %v, %samples, %step {head_dim = 4 : i64, scale = 0.5 : f64} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4xi32>, tensor<i32>) -> (tensor<4x6x24xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @attention_c7_samples(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %samples: tensor<3xi32>, %step: tensor<i32>) {
  // expected-error @below {{C7: samples dim 0 is 3 but query dim 0 is 4}}
  %0, %1 = tgpt.attention %q, %k, %v, %samples, %step {head_dim = 4 : i64, scale = 0.5 : f64, dropout = 0.5 : f64, stream = "a"} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<3xi32>, tensor<i32>) -> (tensor<4x6x24xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @attention_c7_step(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %samples: tensor<4xi32>, %step: tensor<1xi32>) {
  // expected-error @below {{C7: step has rank 1, expected 0}}
  %0, %1 = tgpt.attention %q, %k, %v, %samples, %step {head_dim = 4 : i64, scale = 0.5 : f64, dropout = 0.5 : f64, stream = "a"} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4xi32>, tensor<1xi32>) -> (tensor<4x6x24xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @attention_c8_no_stream(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %samples: tensor<4xi32>, %step: tensor<i32>) {
  // expected-error @below {{C8: stream is empty}}
  %0, %1 = tgpt.attention %q, %k, %v, %samples, %step {head_dim = 4 : i64, scale = 0.5 : f64, dropout = 0.5 : f64} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4xi32>, tensor<i32>) -> (tensor<4x6x24xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @attention_c8_star(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>, %samples: tensor<4xi32>, %step: tensor<i32>) {
  // expected-error @below {{C8: stream "layers.*.attn" has 1 '*', expected none outside of a tgpt.repeat}}
  %0, %1 = tgpt.attention %q, %k, %v, %samples, %step {head_dim = 4 : i64, scale = 0.5 : f64, dropout = 0.5 : f64, stream = "layers.*.attn"} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>, tensor<4xi32>, tensor<i32>) -> (tensor<4x6x24xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @attention_c8_useless_stream(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>, %v: tensor<4x6x12xf32>) {
  // expected-error @below {{C8: there is a stream without dropout}}
  %0, %1 = tgpt.attention %q, %k, %v {head_dim = 4 : i64, scale = 0.5 : f64, stream = "a"} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> (tensor<4x6x24xf32>, tensor<4x6x6xf32>)
  return
}

// -----

func.func @attention_c9_positions(%q: tensor<1x4194305x4xf32>, %samples: tensor<1xi32>, %step: tensor<i32>) {
  // expected-error @below {{C9: dropout of 4194305 positions, expected at most 4194304}}
  %0, %1 = tgpt.attention %q, %q, %q, %samples, %step {head_dim = 4 : i64, scale = 0.5 : f64, dropout = 0.5 : f64, stream = "a"} : (tensor<1x4194305x4xf32>, tensor<1x4194305x4xf32>, tensor<1x4194305x4xf32>, tensor<1xi32>, tensor<i32>) -> (tensor<1x4194305x4xf32>, tensor<1x1x4194305xf32>)
  return
}

// -----

func.func @attention_c9_heads(%q: tensor<1x2x16388xf32>, %samples: tensor<1xi32>, %step: tensor<i32>) {
  // expected-error @below {{C9: dropout of 4097 heads, expected at most 4096}}
  %0, %1 = tgpt.attention %q, %q, %q, %samples, %step {head_dim = 4 : i64, scale = 0.5 : f64, dropout = 0.5 : f64, stream = "a"} : (tensor<1x2x16388xf32>, tensor<1x2x16388xf32>, tensor<1x2x16388xf32>, tensor<1xi32>, tensor<i32>) -> (tensor<1x2x16388xf32>, tensor<1x4097x2xf32>)
  return
}
