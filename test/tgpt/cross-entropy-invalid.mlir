// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @cross_entropy_c1_logits_rank(%logits: tensor<24x24xf32>, %labels: tensor<4x6xi32>) {
  // expected-error @below {{C1: logits has rank 2, expected 3}}
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels : (tensor<24x24xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

func.func @cross_entropy_c1_lse_rank(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>) {
  // expected-error @below {{C1: lse has rank 3, expected 2}}
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels : (tensor<4x6x24xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6x1xf32>)
  return
}

// -----

func.func @cross_entropy_c2_labels_shape(%logits: tensor<4x6x24xf32>, %labels: tensor<4x5xi32>) {
  // expected-error @below {{C2: labels dim 1 is 5 but logits dim 1 is 6}}
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels : (tensor<4x6x24xf32>, tensor<4x5xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

func.func @cross_entropy_c2_lse_shape(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>) {
  // expected-error @below {{C2: lse dim 0 is 5 but logits dim 0 is 4}}
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels : (tensor<4x6x24xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<5x6xf32>)
  return
}

// -----

func.func @cross_entropy_c3_loss_type(%logits: tensor<4x6x24xf64>, %labels: tensor<4x6xi32>) {
  // expected-error @below {{C3: loss_sum is 'f32' but logits is 'f64', which accumulates in 'f64'}}
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels : (tensor<4x6x24xf64>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f64>, tensor<4x6xf64>)
  return
}

// -----

func.func @cross_entropy_c3_count_type(%logits: tensor<4x6x24xf64>, %labels: tensor<4x6xi32>) {
  // expected-error @below {{C3: token_count is 'f32' but logits is 'f64', which accumulates in 'f64'}}
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels : (tensor<4x6x24xf64>, tensor<4x6xi32>) -> (tensor<f64>, tensor<f32>, tensor<4x6xf64>)
  return
}

// -----

// The loss is a scalar.
func.func @cross_entropy_loss_rank(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>) {
  // expected-error @below {{result #0 must be scalar: tensor of rank 0}}
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels : (tensor<4x6x24xf32>, tensor<4x6xi32>) -> (tensor<1xf32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// Rows must be whole: tgpt-split-loss writes the sharded form.
func.func @cross_entropy_vocabulary_sharded(%logits: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, %labels: tensor<4x6xi32, #dist.layout<[dp, -]>>) {
  // expected-error @below {{factor 'V' must not be sharded}}
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>) -> (tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>)
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
func.func @cross_entropy_missing_partial(%logits: tensor<4x6x24xf32, #dist.layout<[dp, -, -]>>, %labels: tensor<4x6xi32, #dist.layout<[dp, -]>>) {
  // expected-error @below {{result 0 must be partial over "dp"}}
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels : (tensor<4x6x24xf32, #dist.layout<[dp, -, -]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>) -> (tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>)
  return
}

// -----

func.func @cross_entropy_c4_smoothing(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>) {
  // expected-error @below {{C4: label_smoothing is 1, expected a number of at least 0 and below 1}}
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels {label_smoothing = 1.0 : f64} : (tensor<4x6x24xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

func.func @cross_entropy_c4_z_loss(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>) {
  // expected-error @below {{C4: z_loss is -1, expected a finite number of at least 0}}
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels {z_loss = -1.0 : f64} : (tensor<4x6x24xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

func.func @cross_entropy_c5_vocabulary(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>) {
  // expected-error @below {{C5: vocabulary is 25, expected 1 to 24}}
  %0, %1, %2 = tgpt.cross_entropy %logits, %labels {vocabulary = 25 : i64} : (tensor<4x6x24xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}
