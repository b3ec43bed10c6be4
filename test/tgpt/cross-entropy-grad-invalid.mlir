// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @cross_entropy_grad_c1_logits_rank(%logits: tensor<24x24xf32>, %labels: tensor<4x6xi32>, %lse: tensor<4x6xf32>, %dloss: tensor<f32>) {
  // expected-error @below {{C1: logits has rank 2, expected 3}}
  %0 = tgpt.cross_entropy_grad %logits, %labels, %lse, %dloss : (tensor<24x24xf32>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<24x24xf32>
  return
}

// -----

func.func @cross_entropy_grad_c2_labels_shape(%logits: tensor<4x6x24xf32>, %labels: tensor<4x5xi32>, %lse: tensor<4x6xf32>, %dloss: tensor<f32>) {
  // expected-error @below {{C2: labels dim 1 is 5 but logits dim 1 is 6}}
  %0 = tgpt.cross_entropy_grad %logits, %labels, %lse, %dloss : (tensor<4x6x24xf32>, tensor<4x5xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6x24xf32>
  return
}

// -----

func.func @cross_entropy_grad_c2_result_shape(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>, %lse: tensor<4x6xf32>, %dloss: tensor<f32>) {
  // expected-error @below {{C2: logits_grad dim 2 is 20 but logits dim 2 is 24}}
  %0 = tgpt.cross_entropy_grad %logits, %labels, %lse, %dloss : (tensor<4x6x24xf32>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6x20xf32>
  return
}

// -----

func.func @cross_entropy_grad_c3_lse_type(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>, %lse: tensor<4x6xf64>, %dloss: tensor<f32>) {
  // expected-error @below {{C3: lse is 'f64' but logits is 'f32', which accumulates in 'f32'}}
  %0 = tgpt.cross_entropy_grad %logits, %labels, %lse, %dloss : (tensor<4x6x24xf32>, tensor<4x6xi32>, tensor<4x6xf64>, tensor<f32>) -> tensor<4x6x24xf32>
  return
}

// -----

func.func @cross_entropy_grad_c3_loss_gradient_type(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>, %lse: tensor<4x6xf32>, %dloss: tensor<f64>) {
  // expected-error @below {{C3: loss_grad is 'f64' but logits is 'f32', which accumulates in 'f32'}}
  %0 = tgpt.cross_entropy_grad %logits, %labels, %lse, %dloss : (tensor<4x6x24xf32>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f64>) -> tensor<4x6x24xf32>
  return
}

// -----

func.func @cross_entropy_grad_c3_result_type(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>, %lse: tensor<4x6xf32>, %dloss: tensor<f32>) {
  // expected-error @below {{C3: logits_grad is 'bf16' but logits is 'f32'}}
  %0 = tgpt.cross_entropy_grad %logits, %labels, %lse, %dloss : (tensor<4x6x24xf32>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6x24xbf16>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// The log-sum-exp must be that of the whole row.
func.func @cross_entropy_grad_partial_lse(%logits: tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, %labels: tensor<4x6xi32, #dist.layout<[dp, -]>>, %lse: tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>, %dloss: tensor<f32, #dist.layout<[]>>) {
  // expected-error @below {{operand 2 is partial over "tp" but the op is not linear in it}}
  %0 = tgpt.cross_entropy_grad %logits, %labels, %lse, %dloss : (tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>, tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>, tensor<f32, #dist.layout<[]>>) -> tensor<4x6x24xf32, #dist.layout<[dp, -, tp]>>
  return
}

// -----

func.func @cross_entropy_grad_c4_smoothing(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>, %lse: tensor<4x6xf32>, %dloss: tensor<f32>) {
  // expected-error @below {{C4: label_smoothing is -0.5, expected a number of at least 0 and below 1}}
  %0 = tgpt.cross_entropy_grad %logits, %labels, %lse, %dloss {label_smoothing = -0.5 : f64} : (tensor<4x6x24xf32>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6x24xf32>
  return
}

// -----

func.func @cross_entropy_grad_c5_vocabulary(%logits: tensor<4x6x24xf32>, %labels: tensor<4x6xi32>, %lse: tensor<4x6xf32>, %loss: tensor<f32>) {
  // expected-error @below {{C5: vocabulary is 0, expected 1 to 24}}
  %0 = tgpt.cross_entropy_grad %logits, %labels, %lse, %loss {vocabulary = 0 : i64} : (tensor<4x6x24xf32>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6x24xf32>
  return
}
