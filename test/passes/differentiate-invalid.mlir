// RUN: tgpt-opt %s --tgpt-differentiate -split-input-file -verify-diagnostics

// expected-error @below {{expected one function from tokens and labels to loss sum and token count, found 0}}
module {}

// -----

// Results that are no scalars are no loss.
// expected-error @below {{expected one function from tokens and labels to loss sum and token count, found 0}}
module {
  func.func @no_loss(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
    return %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
  }
}

// -----

// expected-error @below {{expected one function from tokens and labels to loss sum and token count, found 2}}
module {
  // expected-note @below {{candidate '@first'}}
  func.func @first(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    return %a, %b : tensor<f32>, tensor<f32>
  }
  // expected-note @below {{candidate '@second'}}
  func.func @second(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    return %a, %b : tensor<f32>, tensor<f32>
  }
}

// -----

// expected-error @below {{the loss does not depend on any parameter}}
func.func @no_parameters(%logits: tensor<4x6x8xf32>, %labels: tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>) {
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<4x6x8xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return %loss, %count : tensor<f32>, tensor<f32>
}

// -----

tgpt.parameter @w : tensor<8x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @no_backward(%x: tensor<4x6x8xf32>, %labels: tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>) {
  %w = tgpt.read @w : tensor<8x8xf32>
  // expected-error @below {{cannot be differentiated, but lies between a parameter and the loss}}
  %loss = tgpt.sum_squares %w : (tensor<8x8xf32>) -> tensor<f32>
  return %loss, %loss : tensor<f32>, tensor<f32>
}
