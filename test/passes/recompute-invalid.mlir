// RUN: tgpt-opt %s --tgpt-recompute -split-input-file -verify-diagnostics

// expected-error @below {{module has no function of one block with tgpt.phase "micro_batch"; tgpt-differentiate writes it}}
module {
}

// -----

// expected-error @below {{the micro-batch has no tgpt.begin_backward; tgpt-differentiate writes it}}
func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
  return
}

// -----

func.func @the_backward_is_not_recomputed(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
  tgpt.begin_backward
  // expected-error @below {{is marked 'tgpt.recompute' but is no op of the forward of the micro-batch}}
  %d = tgpt.gelu_grad %x, %x {tgpt.recompute = true} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

tgpt.state metric @g : tensor<4x6xf32> {transient}
func.func @effects_happen_once(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
  // expected-error @below {{is marked 'tgpt.recompute' but cannot run twice; only ops without side effects, with results, can}}
  tgpt.accumulate %x, @g {tgpt.recompute = true} : tensor<4x6xf32>
  tgpt.begin_backward
  return
}
