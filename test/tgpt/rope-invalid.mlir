// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @rope_c1_rank(%x: tensor<24x12xf32>) {
  // expected-error @below {{C1: input has rank 2, expected 3}}
  %0 = tgpt.rope %x {head_dim = 4 : i64, theta = 1.000000e+04 : f64} : (tensor<24x12xf32>) -> tensor<24x12xf32>
  return
}

// -----

// Elements turn in pairs.
func.func @rope_c2_odd(%x: tensor<4x6x12xf32>) {
  // expected-error @below {{C2: head_dim is 3, expected an even number of at least 2}}
  %0 = tgpt.rope %x {head_dim = 3 : i64, theta = 1.0e4 : f64} : (tensor<4x6x12xf32>) -> tensor<4x6x12xf32>
  return
}

// -----

func.func @rope_c2_zero(%x: tensor<4x6x12xf32>) {
  // expected-error @below {{C2: head_dim is 0, expected an even number of at least 2}}
  %0 = tgpt.rope %x {head_dim = 0 : i64, theta = 1.0e4 : f64} : (tensor<4x6x12xf32>) -> tensor<4x6x12xf32>
  return
}

// -----

func.func @rope_c2_whole_heads(%x: tensor<4x6x14xf32>) {
  // expected-error @below {{C2: input dim 2 is 14 but head_dim 4 does not divide it}}
  // expected-note @below {{nearest multiple is 16}}
  %0 = tgpt.rope %x {head_dim = 4 : i64, theta = 1.000000e+04 : f64} : (tensor<4x6x14xf32>) -> tensor<4x6x14xf32>
  return
}

// -----

func.func @rope_c3_shape(%x: tensor<4x6x12xf32>) {
  // expected-error @below {{C3: output dim 1 is 5 but input dim 1 is 6}}
  %0 = tgpt.rope %x {head_dim = 4 : i64, theta = 1.000000e+04 : f64} : (tensor<4x6x12xf32>) -> tensor<4x5x12xf32>
  return
}

// -----

func.func @rope_c3_element_type(%x: tensor<4x6x12xf32>) {
  // expected-error @below {{C3: output is 'bf16' but input is 'f32'}}
  %0 = tgpt.rope %x {head_dim = 4 : i64, theta = 1.000000e+04 : f64} : (tensor<4x6x12xf32>) -> tensor<4x6x12xbf16>
  return
}

// -----

func.func @rope_c4_theta(%x: tensor<4x6x12xf32>) {
  // expected-error @below {{C4: theta is 0, expected a finite number above 0}}
  %0 = tgpt.rope %x {head_dim = 4 : i64, theta = 0.0 : f64} : (tensor<4x6x12xf32>) -> tensor<4x6x12xf32>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// Positions count from the first token.
func.func @rope_sequence_sharded(%x: tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>) {
  // expected-error @below {{factor 'b' must not be sharded}}
  %0 = tgpt.rope %x {head_dim = 4 : i64, theta = 1.000000e+04 : f64} : (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// Two heads of six elements cannot be shared by three ranks.
func.func @rope_whole_heads_per_rank(%x: tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>) {
  // expected-error @below {{has 2 heads of 6 elements but "tp" = 3 does not divide them}}
  %0 = tgpt.rope %x {head_dim = 6 : i64, theta = 1.0e4 : f64} : (tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, tp]>>
  return
}
