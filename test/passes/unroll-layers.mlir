// RUN: tgpt-opt %s --tgpt-unroll-layers -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --tgpt-unroll-layers -split-input-file | FileCheck %s --check-prefix=NONE

// NONE-NOT: tgpt.repeat
// NONE-NOT: per_layer

// Parameters come layer by layer where the first per-layer one was; the others stay in place.
// CHECK: tgpt.parameter @embed.weight
// CHECK-NEXT: tgpt.parameter @layers.0.norm.weight : tensor<8xf32> = <mean = 1.{{.*}}> {no_decay}
// CHECK-NEXT: tgpt.parameter @layers.0.up.weight : tensor<8x8xf32>
// CHECK-NEXT: tgpt.parameter @layers.1.norm.weight : tensor<8xf32> = <mean = 1.{{.*}}> {no_decay}
// CHECK-NEXT: tgpt.parameter @layers.1.up.weight : tensor<8x8xf32>
// CHECK-NEXT: tgpt.parameter @final.weight
tgpt.parameter @embed.weight : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @"layers.*.norm.weight" : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0> per_layer 2 {no_decay}
tgpt.parameter @"layers.*.up.weight" : tensor<8x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> per_layer 2
tgpt.parameter @final.weight : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0>

// Each layer reads its own parameters and the residual of the layer before; the layer is written on
// every op: -1 before the block, the number of layers after it.
// CHECK-LABEL: func.func @two_layers
func.func @two_layers(%tokens: tensor<4x6xi32>) -> tensor<4x6x8xf32> {
  // CHECK: %[[TABLE:.+]] = tgpt.read @embed.weight {tgpt.layer = -1 : i64}
  // CHECK: %[[X:.+]] = tgpt.embedding %{{.+}}, %[[TABLE]] {tgpt.layer = -1 : i64}
  %table = tgpt.read @embed.weight : tensor<10x8xf32>
  %x = tgpt.embedding %tokens, %table : (tensor<4x6xi32>, tensor<10x8xf32>) -> tensor<4x6x8xf32>
  // CHECK: %[[N0:.+]] = tgpt.read @layers.0.norm.weight {tgpt.layer = 0 : i64}
  // CHECK: %[[Y0:.+]]:2 = tgpt.rms_norm %[[X]], %[[N0]] {epsilon = {{.*}}, tgpt.layer = 0 : i64}
  // CHECK: %[[W0:.+]] = tgpt.read @layers.0.up.weight {tgpt.layer = 0 : i64}
  // CHECK: %[[U0:.+]] = tgpt.linear %[[Y0]]#0, %[[W0]] {tgpt.layer = 0 : i64}
  // CHECK: %[[R0:.+]] = tgpt.add %[[X]], %[[U0]] {tgpt.layer = 0 : i64}
  // CHECK: %[[N1:.+]] = tgpt.read @layers.1.norm.weight {tgpt.layer = 1 : i64}
  // CHECK: %[[Y1:.+]]:2 = tgpt.rms_norm %[[R0]], %[[N1]] {epsilon = {{.*}}, tgpt.layer = 1 : i64}
  // CHECK: %[[W1:.+]] = tgpt.read @layers.1.up.weight {tgpt.layer = 1 : i64}
  // CHECK: %[[U1:.+]] = tgpt.linear %[[Y1]]#0, %[[W1]] {tgpt.layer = 1 : i64}
  // CHECK: %[[R1:.+]] = tgpt.add %[[R0]], %[[U1]] {tgpt.layer = 1 : i64}
  %y = tgpt.repeat 2 (%h = %x) : tensor<4x6x8xf32> {
    %w = tgpt.read @"layers.*.norm.weight" : tensor<8xf32>
    %n, %rstd = tgpt.rms_norm %h, %w {epsilon = 1.0e-5 : f64} : (tensor<4x6x8xf32>, tensor<8xf32>) -> (tensor<4x6x8xf32>, tensor<4x6xf32>)
    %v = tgpt.read @"layers.*.up.weight" : tensor<8x8xf32>
    %u = tgpt.linear %n, %v : (tensor<4x6x8xf32>, tensor<8x8xf32>) -> tensor<4x6x8xf32>
    %r = tgpt.add %h, %u : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
    tgpt.yield %r : tensor<4x6x8xf32>
  }
  // CHECK: %[[NF:.+]] = tgpt.read @final.weight {tgpt.layer = 2 : i64}
  // CHECK: %[[F:.+]]:2 = tgpt.rms_norm %[[R1]], %[[NF]] {epsilon = {{.*}}, tgpt.layer = 2 : i64}
  // CHECK-NEXT: return %[[F]]#0
  %wf = tgpt.read @final.weight : tensor<8xf32>
  %f, %rf = tgpt.rms_norm %y, %wf {epsilon = 1.0e-5 : f64} : (tensor<4x6x8xf32>, tensor<8xf32>) -> (tensor<4x6x8xf32>, tensor<4x6xf32>)
  return %f : tensor<4x6x8xf32>
}

// -----

// One layer is a boundary case like any other, and a parameter shared by all layers is read where it was.
tgpt.parameter @shared : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0>
// CHECK-LABEL: func.func @one_layer_with_a_shared_parameter
func.func @one_layer_with_a_shared_parameter(%x: tensor<4x6x8xf32>) -> tensor<4x6x8xf32> {
  // CHECK-NEXT: %[[W:.+]] = tgpt.read @shared {tgpt.layer = -1 : i64}
  // CHECK-NEXT: %[[N:.+]]:2 = tgpt.rms_norm %{{.+}}, %[[W]] {epsilon = {{.*}}, tgpt.layer = 0 : i64}
  // CHECK-NEXT: return %[[N]]#0
  %w = tgpt.read @shared : tensor<8xf32>
  %y = tgpt.repeat 1 (%h = %x) : tensor<4x6x8xf32> {
    %n, %rstd = tgpt.rms_norm %h, %w {epsilon = 1.0e-5 : f64} : (tensor<4x6x8xf32>, tensor<8xf32>) -> (tensor<4x6x8xf32>, tensor<4x6xf32>)
    tgpt.yield %n : tensor<4x6x8xf32>
  }
  return %y : tensor<4x6x8xf32>
}

// -----

// Without a block there are no layers, so every op is after them.
// CHECK-LABEL: func.func @no_block
func.func @no_block(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: tgpt.gelu %{{.+}} {tgpt.layer = 0 : i64}
  %y = tgpt.gelu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Each layer draws from a stream of its own.
// CHECK-LABEL: func.func @streams
func.func @streams(%x: tensor<4x6x8xf32>, %samples: tensor<4xi32>, %step: tensor<i32>) -> tensor<4x6x8xf32> {
  // CHECK-NEXT: tgpt.dropout %{{.+}} {probability = {{.*}}, stream = "layers.0.mlp.dropout", tgpt.layer = 0 : i64}
  // CHECK-NEXT: tgpt.dropout %{{.+}} {probability = {{.*}}, stream = "layers.1.mlp.dropout", tgpt.layer = 1 : i64}
  %y = tgpt.repeat 2 (%h = %x) : tensor<4x6x8xf32> {
    %d = tgpt.dropout %h, %samples, %step {probability = 0.1 : f64, stream = "layers.*.mlp.dropout"} : (tensor<4x6x8xf32>, tensor<4xi32>, tensor<i32>) -> tensor<4x6x8xf32>
    tgpt.yield %d : tensor<4x6x8xf32>
  }
  return %y : tensor<4x6x8xf32>
}
