// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @token_loss_c1_statistics_rank(%labels: tensor<4x6xi32>, %statistics: tensor<2x4x6xf32>) {
  // expected-error @below {{C1: statistics has rank 3, expected 4}}
  %0, %1, %2 = tgpt.token_loss %labels, %statistics : (tensor<4x6xi32>, tensor<2x4x6xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

func.func @token_loss_c1_lse_rank(%labels: tensor<4x6xi32>, %statistics: tensor<3x2x4x6xf32>) {
  // expected-error @below {{C1: lse has rank 1, expected 2}}
  %0, %1, %2 = tgpt.token_loss %labels, %statistics : (tensor<4x6xi32>, tensor<3x2x4x6xf32>) -> (tensor<f32>, tensor<f32>, tensor<24xf32>)
  return
}

// -----

func.func @token_loss_c2_statistics(%labels: tensor<4x6xi32>, %statistics: tensor<3x2x5x6xf32>) {
  // expected-error @below {{C2: statistics dim 2 is 5 but labels dim 0 is 4}}
  %0, %1, %2 = tgpt.token_loss %labels, %statistics : (tensor<4x6xi32>, tensor<3x2x5x6xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

func.func @token_loss_c2_lse(%labels: tensor<4x6xi32>, %statistics: tensor<3x2x4x6xf32>) {
  // expected-error @below {{C2: lse dim 1 is 5 but labels dim 1 is 6}}
  %0, %1, %2 = tgpt.token_loss %labels, %statistics : (tensor<4x6xi32>, tensor<3x2x4x6xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x5xf32>)
  return
}

// -----

func.func @token_loss_c3_lse_type(%labels: tensor<4x6xi32>, %statistics: tensor<3x2x4x6xf32>) {
  // expected-error @below {{C3: lse is 'f64' but statistics is 'f32'}}
  %0, %1, %2 = tgpt.token_loss %labels, %statistics : (tensor<4x6xi32>, tensor<3x2x4x6xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf64>)
  return
}

// -----

func.func @token_loss_c3_loss_type(%labels: tensor<4x6xi32>, %statistics: tensor<3x2x4x6xf32>) {
  // expected-error @below {{C3: loss_sum is 'f64' but statistics is 'f32'}}
  %0, %1, %2 = tgpt.token_loss %labels, %statistics : (tensor<4x6xi32>, tensor<3x2x4x6xf32>) -> (tensor<f64>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

func.func @token_loss_c4_z_loss(%labels: tensor<4x6xi32>, %statistics: tensor<3x2x4x6xf32>) {
  // expected-error @below {{C4: z_loss is -1, expected a finite number of at least 0}}
  %0, %1, %2 = tgpt.token_loss %labels, %statistics {z_loss = -1.0 : f64} : (tensor<4x6xi32>, tensor<3x2x4x6xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

func.func @token_loss_c5_no_mean(%labels: tensor<4x6xi32>, %statistics: tensor<3x2x4x6xf32>) {
  // expected-error @below {{C5: statistics dim 1 is 2, expected 3 as label_smoothing is not 0}}
  %0, %1, %2 = tgpt.token_loss %labels, %statistics {label_smoothing = 0.1 : f64} : (tensor<4x6xi32>, tensor<3x2x4x6xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

func.func @token_loss_c5_idle_mean(%labels: tensor<4x6xi32>, %statistics: tensor<3x3x4x6xf32>) {
  // expected-error @below {{C5: statistics dim 1 is 3, expected 2 as label_smoothing is 0}}
  %0, %1, %2 = tgpt.token_loss %labels, %statistics : (tensor<4x6xi32>, tensor<3x3x4x6xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// The loss of a part of the vocabulary is not the loss.
func.func @token_loss_own_parts(%labels: tensor<4x6xi32, #dist.layout<[dp, -]>>, %statistics: tensor<3x2x4x6xf32, #dist.layout<[tp, -, dp, -]>>) {
  // expected-error @below {{factor 'c' must not be sharded but operand 1 dim 0 is sharded by "tp"}}
  %0, %1, %2 = tgpt.token_loss %labels, %statistics : (tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<3x2x4x6xf32, #dist.layout<[tp, -, dp, -]>>) -> (tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>)
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// Added up over ranks, each log sum exp would count once for every rank.
func.func @token_loss_partial_statistics(%labels: tensor<4x6xi32, #dist.layout<[dp, -]>>, %statistics: tensor<3x2x4x6xf32, #dist.layout<[-, -, dp, -], partial = [tp]>>) {
  // expected-error @below {{operand 1 is partial over "tp" but the op is not linear in it}}
  %0, %1, %2 = tgpt.token_loss %labels, %statistics : (tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<3x2x4x6xf32, #dist.layout<[-, -, dp, -], partial = [tp]>>) -> (tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>)
  return
}
