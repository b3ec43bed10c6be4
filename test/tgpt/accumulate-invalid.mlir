// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

func.func @accumulate_c1_unknown(%x: tensor<f32>) {
  // expected-error @below {{C1: @loss_sum is not a parameter or state}}
  tgpt.accumulate %x, @loss_sum : tensor<f32>
  return
}

// -----

tgpt.parameter @weight : tensor<f32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @accumulate_c1_parameter(%x: tensor<f32>) {
  // expected-error @below {{C1: @weight is a parameter, expected a state}}
  tgpt.accumulate %x, @weight : tensor<f32>
  return
}

// -----

// expected-note @below {{@loss_sum declared here}}
tgpt.state metric @loss_sum : tensor<f32>
func.func @accumulate_c1_type(%x: tensor<f64>) {
  // expected-error @below {{C1: type 'tensor<f64>' is not the declared 'tensor<f32>'}}
  tgpt.accumulate %x, @loss_sum : tensor<f64>
  return
}

// -----

// A whole value added on each rank of a partial state would count twice.
dist.mesh @mesh (dp = 2)
// expected-note @below {{@loss_sum declared here}}
tgpt.state metric @loss_sum : tensor<f32, #dist.layout<[], partial = [dp]>>
func.func @accumulate_c1_layout(%x: tensor<f32, #dist.layout<[]>>) {
  // expected-error @below {{is not the declared}}
  tgpt.accumulate %x, @loss_sum : tensor<f32, #dist.layout<[]>>
  return
}

// -----

tgpt.state metric @sum : tensor<f32>
tgpt.state metric @carry : tensor<f32>
func.func @accumulate_c2_count(%x: tensor<f32>, %i: tensor<i32>) {
  // expected-error @below {{C2: has 1 carries, expected 2 for 5 micro-batches}}
  tgpt.accumulate %x, @sum carry [@carry] at %i of 5 : tensor<f32>, tensor<i32>
  return
}

// -----

tgpt.state metric @sum : tensor<f32>
func.func @accumulate_c2_few(%x: tensor<f32>, %i: tensor<i32>) {
  // expected-error @below {{C2: is one of 2 micro-batches, expected at least 3 with carries}}
  tgpt.accumulate %x, @sum carry [] at %i of 2 : tensor<f32>, tensor<i32>
  return
}

// -----

tgpt.state metric @sum : tensor<f32>
func.func @accumulate_c2_distinct(%x: tensor<f32>, %i: tensor<i32>) {
  // expected-error @below {{C2: names a state twice}}
  tgpt.accumulate %x, @sum carry [@sum] at %i of 4 : tensor<f32>, tensor<i32>
  return
}

// -----

tgpt.state metric @sum : tensor<f32>
// expected-note @below {{@carry declared here}}
tgpt.state metric @carry : tensor<f64>
func.func @accumulate_c2_type(%x: tensor<f32>, %i: tensor<i32>) {
  // expected-error @below {{C1: type 'tensor<f32>' is not the declared 'tensor<f64>'}}
  tgpt.accumulate %x, @sum carry [@carry] at %i of 4 : tensor<f32>, tensor<i32>
  return
}

// -----

tgpt.state metric @sum : tensor<f32>
tgpt.parameter @weight : tensor<f32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @accumulate_c2_parameter(%x: tensor<f32>, %i: tensor<i32>) {
  // expected-error @below {{C2: @weight is a parameter, expected a state}}
  tgpt.accumulate %x, @sum carry [@weight] at %i of 4 : tensor<f32>, tensor<i32>
  return
}
