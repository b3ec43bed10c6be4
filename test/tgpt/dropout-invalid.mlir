// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @dropout_c1_rank(%x: tensor<4x12xf32>, %samples: tensor<4xi32>, %step: tensor<i32>) {
  // expected-error @below {{C1: input has rank 2, expected 3}}
  %0 = tgpt.dropout %x, %samples, %step {probability = 1.000000e-01 : f64, stream = "embed.dropout"} : (tensor<4x12xf32>, tensor<4xi32>, tensor<i32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @dropout_c2_samples(%x: tensor<4x6x12xf32>, %samples: tensor<3xi32>, %step: tensor<i32>) {
  // expected-error @below {{C2: samples dim 0 is 3 but input dim 0 is 4}}
  %0 = tgpt.dropout %x, %samples, %step {probability = 1.000000e-01 : f64, stream = "embed.dropout"} : (tensor<4x6x12xf32>, tensor<3xi32>, tensor<i32>) -> tensor<4x6x12xf32>
  return
}

// -----

func.func @dropout_c2_shape(%x: tensor<4x6x12xf32>, %samples: tensor<4xi32>, %step: tensor<i32>) {
  // expected-error @below {{C2: output dim 1 is 5 but input dim 1 is 6}}
  %0 = tgpt.dropout %x, %samples, %step {probability = 1.000000e-01 : f64, stream = "embed.dropout"} : (tensor<4x6x12xf32>, tensor<4xi32>, tensor<i32>) -> tensor<4x5x12xf32>
  return
}

// -----

func.func @dropout_c3_type(%x: tensor<4x6x12xf32>, %samples: tensor<4xi32>, %step: tensor<i32>) {
  // expected-error @below {{C3: output is 'bf16' but input is 'f32'}}
  %0 = tgpt.dropout %x, %samples, %step {probability = 1.000000e-01 : f64, stream = "embed.dropout"} : (tensor<4x6x12xf32>, tensor<4xi32>, tensor<i32>) -> tensor<4x6x12xbf16>
  return
}

// -----

// Nothing would be left to scale up.
func.func @dropout_c4_everything(%x: tensor<4x6x12xf32>, %samples: tensor<4xi32>, %step: tensor<i32>) {
  // expected-error @below {{C4: probability is 1, expected a number of at least 0 and below 1}}
  %0 = tgpt.dropout %x, %samples, %step {probability = 1.0 : f64, stream = "embed.dropout"} : (tensor<4x6x12xf32>, tensor<4xi32>, tensor<i32>) -> tensor<4x6x12xf32>
  return
}

// -----

func.func @dropout_c4_negative(%x: tensor<4x6x12xf32>, %samples: tensor<4xi32>, %step: tensor<i32>) {
  // expected-error @below {{C4: probability is -0.5, expected a number of at least 0 and below 1}}
  %0 = tgpt.dropout %x, %samples, %step {probability = -0.5 : f64, stream = "embed.dropout"} : (tensor<4x6x12xf32>, tensor<4xi32>, tensor<i32>) -> tensor<4x6x12xf32>
  return
}

// -----

func.func @dropout_c5_no_name(%x: tensor<4x6x12xf32>, %samples: tensor<4xi32>, %step: tensor<i32>) {
  // expected-error @below {{C5: stream is empty}}
  %0 = tgpt.dropout %x, %samples, %step {probability = 1.000000e-01 : f64, stream = ""} : (tensor<4x6x12xf32>, tensor<4xi32>, tensor<i32>) -> tensor<4x6x12xf32>
  return
}

// -----

func.func @dropout_c5_no_layer(%x: tensor<4x6x12xf32>, %samples: tensor<4xi32>, %step: tensor<i32>) {
  // expected-error @below {{C5: stream "layers.*.mlp.dropout" has 1 '*', expected none outside of a tgpt.repeat}}
  %0 = tgpt.dropout %x, %samples, %step {probability = 1.000000e-01 : f64, stream = "layers.*.mlp.dropout"} : (tensor<4x6x12xf32>, tensor<4xi32>, tensor<i32>) -> tensor<4x6x12xf32>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// A mask per batch row only where the rows are.
func.func @dropout_samples_of_other_ranks(%x: tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, %samples: tensor<4xi32, #dist.layout<[-]>>, %step: tensor<i32, #dist.layout<[]>>) {
  // expected-error @below {{factor 'a'}}
  %0 = tgpt.dropout %x, %samples, %step {probability = 1.000000e-01 : f64, stream = "embed.dropout"} : (tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>, tensor<4xi32, #dist.layout<[-]>>, tensor<i32, #dist.layout<[]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, tp, -]>>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// Kept or dropped, an addend would be scaled by its own rank.
func.func @dropout_partial(%x: tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>, %samples: tensor<4xi32, #dist.layout<[dp]>>, %step: tensor<i32, #dist.layout<[]>>) {
  // expected-error @below {{operand 0 is partial over "tp" but the op is not linear in it}}
  %0 = tgpt.dropout %x, %samples, %step {probability = 1.000000e-01 : f64, stream = "embed.dropout"} : (tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>, tensor<4xi32, #dist.layout<[dp]>>, tensor<i32, #dist.layout<[]>>) -> tensor<4x6x12xf32, #dist.layout<[dp, -, -], partial = [tp]>>
  return
}

// -----

// Two layers of one stream would drop the same elements.
func.func @dropout_c5_shared_by_layers(%x: tensor<4x6x12xf32>, %samples: tensor<4xi32>, %step: tensor<i32>) {
  %0 = tgpt.repeat 2 (%h = %x) : tensor<4x6x12xf32> {
    // expected-error @below {{C5: stream "mlp.dropout" has 0 '*', expected one inside a tgpt.repeat}}
    %1 = tgpt.dropout %h, %samples, %step {probability = 0.1 : f64, stream = "mlp.dropout"} : (tensor<4x6x12xf32>, tensor<4xi32>, tensor<i32>) -> tensor<4x6x12xf32>
    tgpt.yield %1 : tensor<4x6x12xf32>
  }
  return
}
