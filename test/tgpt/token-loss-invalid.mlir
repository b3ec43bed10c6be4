// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @token_loss_c1_rank(%labels: tensor<4x6xi32>, %max: tensor<24xf32>, %sum: tensor<4x6xf32>, %label: tensor<4x6xf32>) {
  // expected-error @below {{C1: maximum has rank 1, expected 2}}
  %0, %1, %2 = tgpt.token_loss %labels, %max, %sum, %label : (tensor<4x6xi32>, tensor<24xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

func.func @token_loss_c2_shape(%labels: tensor<4x6xi32>, %max: tensor<4x6xf32>, %sum: tensor<4x5xf32>, %label: tensor<4x6xf32>) {
  // expected-error @below {{C2: sum_exp dim 1 is 5 but labels dim 1 is 6}}
  %0, %1, %2 = tgpt.token_loss %labels, %max, %sum, %label : (tensor<4x6xi32>, tensor<4x6xf32>, tensor<4x5xf32>, tensor<4x6xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

func.func @token_loss_c3_operand_type(%labels: tensor<4x6xi32>, %max: tensor<4x6xf32>, %sum: tensor<4x6xf32>, %label: tensor<4x6xf64>) {
  // expected-error @below {{C3: label_logit is 'f64' but maximum is 'f32'}}
  %0, %1, %2 = tgpt.token_loss %labels, %max, %sum, %label : (tensor<4x6xi32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf64>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

func.func @token_loss_c3_loss_type(%labels: tensor<4x6xi32>, %max: tensor<4x6xf32>, %sum: tensor<4x6xf32>, %label: tensor<4x6xf32>) {
  // expected-error @below {{C3: loss_sum is 'f64' but maximum is 'f32'}}
  %0, %1, %2 = tgpt.token_loss %labels, %max, %sum, %label : (tensor<4x6xi32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<f64>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// The logarithm of an addend is no addend.
func.func @token_loss_partial_sum(%labels: tensor<4x6xi32, #dist.layout<[dp, -]>>, %max: tensor<4x6xf32, #dist.layout<[dp, -]>>, %sum: tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>, %label: tensor<4x6xf32, #dist.layout<[dp, -]>>) {
  // expected-error @below {{operand 2 is partial over "tp" but the op is not linear in it}}
  %0, %1, %2 = tgpt.token_loss %labels, %max, %sum, %label : (tensor<4x6xi32, #dist.layout<[dp, -]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>, tensor<4x6xf32, #dist.layout<[dp, -], partial = [tp]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>) -> (tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<f32, #dist.layout<[], partial = [dp]>>, tensor<4x6xf32, #dist.layout<[dp, -]>>)
  return
}

// -----

func.func @token_loss_c2_mean(%labels: tensor<4x6xi32>, %max: tensor<4x6xf32>, %sum: tensor<4x6xf32>, %label: tensor<4x6xf32>, %mean: tensor<4x5xf32>) {
  // expected-error @below {{C2: mean_logit dim 1 is 5 but labels dim 1 is 6}}
  %0, %1, %2 = tgpt.token_loss %labels, %max, %sum, %label, %mean {label_smoothing = 0.1 : f64} : (tensor<4x6xi32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x5xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

func.func @token_loss_c4_z_loss(%labels: tensor<4x6xi32>, %max: tensor<4x6xf32>, %sum: tensor<4x6xf32>, %label: tensor<4x6xf32>) {
  // expected-error @below {{C4: z_loss is -1, expected a finite number of at least 0}}
  %0, %1, %2 = tgpt.token_loss %labels, %max, %sum, %label {z_loss = -1.0 : f64} : (tensor<4x6xi32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

func.func @token_loss_c5_no_mean(%labels: tensor<4x6xi32>, %max: tensor<4x6xf32>, %sum: tensor<4x6xf32>, %label: tensor<4x6xf32>) {
  // expected-error @below {{C5: has no mean_logit, but label_smoothing is not 0}}
  %0, %1, %2 = tgpt.token_loss %labels, %max, %sum, %label {label_smoothing = 0.1 : f64} : (tensor<4x6xi32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}

// -----

func.func @token_loss_c5_idle_mean(%labels: tensor<4x6xi32>, %max: tensor<4x6xf32>, %sum: tensor<4x6xf32>, %label: tensor<4x6xf32>, %mean: tensor<4x6xf32>) {
  // expected-error @below {{C5: has a mean_logit, but label_smoothing is 0}}
  %0, %1, %2 = tgpt.token_loss %labels, %max, %sum, %label, %mean : (tensor<4x6xi32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return
}
