// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @read_c1_unknown() {
  // expected-error @below {{C1: @weight is not a parameter or state}}
  %0 = tgpt.read @weight : tensor<24x12xf32>
  return
}

// -----

func.func @read_c1_function() {
  // expected-error @below {{C1: @read_c1_function is not a parameter or state}}
  %0 = tgpt.read @read_c1_function : tensor<24x12xf32>
  return
}

// -----

// expected-note @below {{@weight declared here}}
tgpt.parameter @weight : tensor<24x12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @read_c1_type() {
  // expected-error @below {{C1: type 'tensor<24x12xbf16>' is not the declared 'tensor<24x12xf32>'}}
  %0 = tgpt.read @weight : tensor<24x12xbf16>
  return
}

// -----

tgpt.parameter @"layers.*.weight" : tensor<12xf32> = #tgpt.init<mean = 1.0, stddev = 0.0> per_layer 4
func.func @read_c2_outside() {
  // expected-error @below {{stands for 4 parameters, one a layer: expected to be inside a tgpt.repeat of 4}}
  %0 = tgpt.read @"layers.*.weight" : tensor<12xf32>
  return
}

// -----

tgpt.parameter @"layers.*.weight" : tensor<12xf32> = #tgpt.init<mean = 1.0, stddev = 0.0> per_layer 4
func.func @read_c2_count() {
  // expected-note @below {{repeated here}}
  tgpt.repeat 3 () {
    // expected-error @below {{stands for 4 parameters but the block is repeated 3 times}}
    %0 = tgpt.read @"layers.*.weight" : tensor<12xf32>
    tgpt.yield
  }
  return
}
