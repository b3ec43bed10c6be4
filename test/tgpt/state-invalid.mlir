// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{C1: expected 'of' and the parameter it belongs to}}
tgpt.state gradient @state_c1_no_parameter : tensor<24x12xf32>

// -----

tgpt.parameter @weight : tensor<f32> = #tgpt.init<mean = 0.0, stddev = 0.02>
// expected-error @below {{C1: a metric is of no parameter}}
tgpt.state metric @state_c1_metric of @weight : tensor<f32>

// -----

// expected-error @below {{C1: @weight is not a parameter}}
tgpt.state gradient @state_c1_unknown of @weight : tensor<24x12xf32>

// -----

tgpt.state metric @loss : tensor<f32>
// expected-error @below {{C1: @loss is not a parameter}}
tgpt.state gradient @state_c1_of_state of @loss : tensor<f32>

// -----

// expected-note @below {{parameter declared here with type 'tensor<24x12xf32>'}}
tgpt.parameter @weight : tensor<24x12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
// expected-error @below {{C1: type 'tensor<12x24xf32>' is not of the shape of its parameter}}
tgpt.state gradient @state_c1_shape of @weight : tensor<12x24xf32>

// -----

// The shards have equal shapes, the wholes do not.
dist.mesh @mesh (tp = 3)
// expected-note @below {{parameter declared here}}
tgpt.parameter @weight : tensor<8x12xf32, #dist.layout<[tp, -], of = [24, 12]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
// expected-error @below {{is not of the shape of its parameter}}
tgpt.state moment1 @state_c1_whole_shape of @weight : tensor<8x12xf32, #dist.layout<[-, tp], of = [8, 36]>>

// -----

tgpt.parameter @weight : tensor<24x12xbf16> = #tgpt.init<mean = 0.0, stddev = 0.02>
// expected-error @below {{C2: the element type is not f64 or f32}}
tgpt.state gradient @state_c2_element_type of @weight : tensor<24x12xbf16>

// -----

// expected-error @below {{C3: the type has a dynamic dim}}
tgpt.state metric @state_c3_dynamic : tensor<?xf32>

// -----

tgpt.parameter @weight : tensor<f32> = #tgpt.init<mean = 0.0, stddev = 0.02>
// expected-error @below {{C1: a scaling is of no parameter}}
tgpt.state scaling @state_c1_scaling of @weight : tensor<f32>

// -----

// expected-error @below {{C4: a scaling has rank 1, expected a scalar}}
tgpt.state scaling @state_c4_rank : tensor<3xf32>

// -----

// expected-error @below {{C4: a scaling is transient}}
tgpt.state scaling @state_c4_transient : tensor<f32> {transient}

// -----

// expected-error @below {{C4: initial is not finite}}
tgpt.state scaling @state_c4_infinite : tensor<f32> {initial = 0x7FF0000000000000 : f64}

// -----

// expected-error @below {{C4: a metric has an initial value, which only a scaling has}}
tgpt.state metric @state_c4_metric : tensor<f32> {initial = 1.0 : f64}
