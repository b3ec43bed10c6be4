// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @yield_outside_repeat(%x: tensor<4xf32>) {
  // expected-error @below {{'tgpt.yield' op expects parent op 'tgpt.repeat'}}
  tgpt.yield %x : tensor<4xf32>
}
