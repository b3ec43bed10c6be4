// RUN: tgpt-opt %s --tgpt-split-fused -split-input-file -verify-diagnostics

func.func @no_linear(%x: tensor<4x6x12xf32>) {
  // expected-note @below {{it comes from here}}
  %y = tgpt.gelu %x : (tensor<4x6x12xf32>) -> tensor<4x6x12xf32>
  // expected-error @below {{what is split is not the result of a linear, so it has no rows of a weight of its own}}
  %g, %u = tgpt.split %y {names = ["gate", "up"]} : (tensor<4x6x12xf32>) -> (tensor<4x6x6xf32>, tensor<4x6x6xf32>)
  return
}

// -----

tgpt.parameter @w : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @read_whole(%x: tensor<4x6x8xf32>) {
  %w = tgpt.read @w : tensor<12x8xf32>
  // expected-note @below {{it comes from here}}
  %y = tgpt.linear %x, %w : (tensor<4x6x8xf32>, tensor<12x8xf32>) -> tensor<4x6x12xf32>
  // expected-error @below {{what is split is read by others too}}
  %g, %u = tgpt.split %y {names = ["gate", "up"]} : (tensor<4x6x12xf32>) -> (tensor<4x6x6xf32>, tensor<4x6x6xf32>)
  %z = tgpt.gelu %y : (tensor<4x6x12xf32>) -> tensor<4x6x12xf32>
  return
}

// -----

func.func @no_parameter(%x: tensor<4x6x8xf32>, %w: tensor<12x8xf32>) {
  // expected-error @below {{the weight of a fused linear is not a parameter, so it has no parts}}
  %y = tgpt.linear %x, %w : (tensor<4x6x8xf32>, tensor<12x8xf32>) -> tensor<4x6x12xf32>
  %g, %u = tgpt.split %y {names = ["gate", "up"]} : (tensor<4x6x12xf32>) -> (tensor<4x6x6xf32>, tensor<4x6x6xf32>)
  return
}

// -----

// expected-note @below {{declared here}}
tgpt.parameter @w : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @shared(%x: tensor<4x6x8xf32>) {
  %w = tgpt.read @w : tensor<12x8xf32>
  %again = tgpt.read @w : tensor<12x8xf32>
  // expected-error @below {{the fused parameter '@w' has other readers and cannot be taken apart}}
  %y = tgpt.linear %x, %w : (tensor<4x6x8xf32>, tensor<12x8xf32>) -> tensor<4x6x12xf32>
  %g, %u = tgpt.split %y {names = ["gate", "up"]} : (tensor<4x6x12xf32>) -> (tensor<4x6x6xf32>, tensor<4x6x6xf32>)
  return
}

// -----

// expected-note @below {{declared here}}
tgpt.parameter @w : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> {window = #dist.window<"all", shape = [24, 8], at = [0, 0]>}
func.func @window(%x: tensor<4x6x8xf32>) {
  %w = tgpt.read @w : tensor<12x8xf32>
  // expected-error @below {{the fused parameter '@w' is a window already and cannot be taken apart}}
  %y = tgpt.linear %x, %w : (tensor<4x6x8xf32>, tensor<12x8xf32>) -> tensor<4x6x12xf32>
  %g, %u = tgpt.split %y {names = ["gate", "up"]} : (tensor<4x6x12xf32>) -> (tensor<4x6x6xf32>, tensor<4x6x6xf32>)
  return
}

// -----

tgpt.parameter @mlp.both.weight : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
// expected-note @below {{declared here}}
tgpt.parameter @mlp.up.weight : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @taken(%x: tensor<4x6x8xf32>) {
  %w = tgpt.read @mlp.both.weight : tensor<12x8xf32>
  // expected-error @below {{a part of '@mlp.both.weight' needs the name '@mlp.up.weight', which is taken}}
  %y = tgpt.linear %x, %w : (tensor<4x6x8xf32>, tensor<12x8xf32>) -> tensor<4x6x12xf32>
  %g, %u = tgpt.split %y {names = ["gate", "up"]} : (tensor<4x6x12xf32>) -> (tensor<4x6x6xf32>, tensor<4x6x6xf32>)
  return
}
