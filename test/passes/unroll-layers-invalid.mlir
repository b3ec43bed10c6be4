// RUN: tgpt-opt %s --tgpt-unroll-layers -split-input-file -verify-diagnostics

// expected-note @below {{declared here}}
tgpt.parameter @layers.1.weight : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0>
// expected-error @below {{layer 1 needs the name '@layers.1.weight', which is taken}}
tgpt.parameter @"layers.*.weight" : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0> per_layer 2

// -----

func.func @two_blocks(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-note @below {{the first is here}}
  %y = tgpt.repeat 2 (%h = %x) : tensor<4x8xf32> {
    %g = tgpt.gelu %h : (tensor<4x8xf32>) -> tensor<4x8xf32>
    tgpt.yield %g : tensor<4x8xf32>
  }
  // expected-error @below {{a model has one repeated block, this is the second}}
  %z = tgpt.repeat 3 (%h = %y) : tensor<4x8xf32> {
    %g = tgpt.gelu %h : (tensor<4x8xf32>) -> tensor<4x8xf32>
    tgpt.yield %g : tensor<4x8xf32>
  }
  return %z : tensor<4x8xf32>
}
