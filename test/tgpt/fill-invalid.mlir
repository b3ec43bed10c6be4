// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @fill_c1_dynamic() {
  // expected-error @below {{C1: the result has a dynamic dim}}
  %0 = tgpt.fill {value = 0.000000e+00 : f64} : () -> tensor<?x6xf32>
  return
}

// -----

dist.mesh @mesh (dp = 2, tp = 3)
// The ones would add up.
func.func @fill_partial_one() {
  // expected-error @below {{result 0 is partial over "tp"}}
  %0 = tgpt.fill {value = 1.0 : f64} : () -> tensor<4x6xf32, #dist.layout<[-, -], partial = [tp]>>
  return
}
