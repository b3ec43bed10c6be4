// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @sum_positions_c1_rank(%dy: tensor<2x5xf32>) {
  // expected-error @below {{C1: input has rank 2}}
  %sums = tgpt.sum_positions %dy : (tensor<2x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @sum_positions_c1_width(%dy: tensor<2x6x5xf32>) {
  // expected-error @below {{C1: output dim 1 is 6 but input dim 2 is 5}}
  %sums = tgpt.sum_positions %dy : (tensor<2x6x5xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @sum_positions_c2(%dy: tensor<2x6x5xf32>) {
  // expected-error @below {{C2}}
  %sums = tgpt.sum_positions %dy : (tensor<2x6x5xf32>) -> tensor<2x5xf64>
  return
}
