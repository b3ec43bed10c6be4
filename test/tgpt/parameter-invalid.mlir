// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{C1: the type has a dynamic dim}}
tgpt.parameter @parameter_c1_dynamic : tensor<?x12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>

// -----

// expected-error @below {{C1: the element type is not f64, f32, bf16 or f16}}
tgpt.parameter @parameter_c1_element_type : tensor<24x12xi32> = #tgpt.init<mean = 0.0, stddev = 0.02>

// -----

// expected-error @below {{C2: the name has 1 '*', expected none without per_layer}}
tgpt.parameter @"parameter_c2.*.star_of_one" : tensor<12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>

// -----

// expected-error @below {{C2: the name has 0 '*', expected one with per_layer}}
tgpt.parameter @parameter_c2_no_star : tensor<12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 4

// -----

// expected-error @below {{C2: the name has 2 '*', expected one with per_layer}}
tgpt.parameter @"parameter_c2.*.*" : tensor<12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 4

// -----

// expected-error @below {{C2: per_layer is 0, expected at least 1}}
tgpt.parameter @"parameter_c2.*.count" : tensor<12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 0

// -----

// An initializer is a normal distribution.
// expected-error @below {{stddev is -1, expected a finite f64 number of at least 0}}
tgpt.parameter @parameter_init_stddev : tensor<12xf32> = #tgpt.init<mean = 0.0, stddev = -1.0>

// -----

// expected-error @below {{mean is +Inf, expected a finite f64 number}}
tgpt.parameter @parameter_init_mean : tensor<12xf32> = #tgpt.init<mean = 1.0e999, stddev = 0.0>

// -----

// expected-error @below {{C3: the window has 1 dims, the type 2}}
tgpt.parameter @k : tensor<16x64xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> {window = #dist.window<"qkv", shape = [96], at = [64]>}

// -----

// expected-error @below {{C3: a window is of one tensor, not of one a layer}}
tgpt.parameter @"layers.*.k" : tensor<16xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 2 {window = #dist.window<"qkv", shape = [96], at = [64]>}
