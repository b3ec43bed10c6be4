// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @write_c1_unknown(%x: tensor<24x12xf32>) {
  // expected-error @below {{C1: @weight is not a parameter or state}}
  tgpt.write %x, @weight : tensor<24x12xf32>
  return
}

// -----

// expected-note @below {{@weight declared here}}
tgpt.parameter @weight : tensor<24x12xbf16> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @write_c1_type(%x: tensor<24x12xf32>) {
  // expected-error @below {{C1: type 'tensor<24x12xf32>' is not the declared 'tensor<24x12xbf16>'}}
  tgpt.write %x, @weight : tensor<24x12xf32>
  return
}

// -----

tgpt.parameter @"layers.*.weight" : tensor<12xf32> = #tgpt.init<mean = 1.0, stddev = 0.0> per_layer 4
func.func @write_c2_per_layer(%x: tensor<12xf32>) {
  // expected-error @below {{C2: @"layers.*.weight" stands for 4 parameters, one a layer, and cannot be written}}
  tgpt.write %x, @"layers.*.weight" : tensor<12xf32>
  return
}
