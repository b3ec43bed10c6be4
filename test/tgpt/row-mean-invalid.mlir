// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @row_mean_c1_logits_rank(%logits: tensor<24x24xf32>) {
  // expected-error @below {{C1: logits has rank 2, expected 3}}
  %0 = tgpt.row_mean %logits : (tensor<24x24xf32>) -> tensor<24xf32>
  return
}

// -----

func.func @row_mean_c1_result_rank(%logits: tensor<4x6x24xf32>) {
  // expected-error @below {{C1: mean has rank 3, expected 2}}
  %0 = tgpt.row_mean %logits : (tensor<4x6x24xf32>) -> tensor<4x6x1xf32>
  return
}

// -----

func.func @row_mean_c2_shape(%logits: tensor<4x6x24xf32>) {
  // expected-error @below {{C2: mean dim 1 is 5 but logits dim 1 is 6}}
  %0 = tgpt.row_mean %logits : (tensor<4x6x24xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @row_mean_c3_type(%logits: tensor<4x6x24xf64>) {
  // expected-error @below {{C3: mean is 'f32' but logits is 'f64', which accumulates in 'f64'}}
  %0 = tgpt.row_mean %logits : (tensor<4x6x24xf64>) -> tensor<4x6xf32>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// The mean of the columns held here is not the mean.
func.func @row_mean_missing_partial(%logits: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>) {
  // expected-error @below {{result 0 must be partial over "tp"}}
  %0 = tgpt.row_mean %logits : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>) -> tensor<4x6xf32, #dist.layout<[dp, -]>>
  return
}

// -----

func.func @row_mean_c4_vocabulary(%logits: tensor<4x6x24xf32>) {
  // expected-error @below {{C4: vocabulary is 25, expected 1 to 24}}
  %0 = tgpt.row_mean %logits {vocabulary = 25 : i64} : (tensor<4x6x24xf32>) -> tensor<4x6xf32>
  return
}
