// RUN: tgpt-opt %s --plan-lower -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --plan-lower="seed=7 options='--pp=2 --micro-batches=2'" -split-input-file | FileCheck %s --check-prefix=OPTIONS

// OPTIONS: plan.program @two_stages {{.*}} seed 7 options "--pp=2 --micro-batches=2"

// A step on one rank. Reads name the buffers of their variables; what the backward
// needs is kept in the activations, the rest is scratch.
// CHECK-LABEL: plan.program @step mesh (tp = 1) training <sequence_length = 4, samples = 2, micro_batches = 2, vocabulary = 0, parameters = 36, flops_per_micro_batch = 1728, compute = f32> seed 0 options ""
module @step {
  dist.mesh @mesh (tp = 1)
  dist.schedule stage 0 of 2 slots [1] warm_up [] steady ["F0@0", "B0@0", "F1@0", "B1@0"] cool_down []
  tgpt.parameter @layers.0.up.weight : tensor<6x6xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @layers.0.up.weight.gradient of @layers.0.up.weight : tensor<6x6xf32> {transient}
  tgpt.state metric @loss_sum : tensor<f32> {transient}
  // CHECK: plan.region workspace slots 1
  // CHECK-NEXT: plan.region parameters slots 1
  // CHECK-NEXT: plan.region gradients slots 1
  // CHECK-NEXT: plan.region activations slots 1
  // CHECK-NEXT: plan.region scratch slots 1
  // CHECK-NEXT: %[[W:.*]] = plan.buffer "layers.0.up.weight" in parameters : <6x6xf32>
  // CHECK-NEXT: %[[DW:.*]] = plan.buffer "layers.0.up.weight.gradient" in gradients : <6x6xf32>
  // CHECK-NEXT: %[[LOSS_SUM:.*]] = plan.buffer "loss_sum" in gradients : <f32>
  // CHECK-NEXT: %[[X:.*]] = plan.buffer "x" in activations : <2x4x6xf32>
  // CHECK-NEXT: %[[Y:.*]] = plan.buffer "layers.0.up.linear" in activations : <2x4x6xf32>
  // CHECK-NEXT: %[[Z:.*]] = plan.buffer "layers.0.gelu" in scratch : <2x4x6xf32>
  // CHECK-NEXT: %[[LOSS:.*]] = plan.buffer "layers.0.sum_squares" in scratch : <f32>
  // CHECK-NEXT: %[[DZ:.*]] = plan.buffer "backward.fill" in scratch : <2x4x6xf32>
  // CHECK-NEXT: %[[DX:.*]] = plan.buffer "layers.0.up.linear_dgrad" in scratch : <2x4x6xf32>
  // CHECK-NEXT: %[[WORKSPACE:.*]] = plan.buffer "workspace.compute" in workspace : <64xi32>
  // CHECK-NEXT: plan.variable parameter "layers.0.up.weight" of "layers.0.up.weight" in %[[W]] layout <[-, -], of = [6, 6]> init <value = 0.000000e+00 : f64, stddev = 2.000000e-02 : f64, key = "layers.0.up.weight"> owner
  // CHECK-NEXT: plan.variable gradient "layers.0.up.weight.gradient" of "layers.0.up.weight" in %[[DW]] layout <[-, -], of = [6, 6]> init <value = 0.000000e+00 : f64> owner
  // CHECK-NEXT: plan.variable metric "loss_sum" in %[[LOSS_SUM]]

  // One fill clears each accumulator where it is.
  // CHECK-NEXT: plan.segment begin "begin" {
  // CHECK-NEXT: "fill"() -> (%[[DW]]) {value = 0.000000e+00 : f64}
  // CHECK-NEXT: "fill"() -> (%[[LOSS_SUM]]) {value = 0.000000e+00 : f64}
  // CHECK-NEXT: {{^ *[}]$}}
  func.func @begin() attributes {tgpt.phase = "begin"} {
    dist.segment begin stage 0 {
      %0 = tgpt.fill {value = 0.0 : f64} : () -> tensor<6x6xf32>
      tgpt.write %0, @layers.0.up.weight.gradient : tensor<6x6xf32>
      %1 = tgpt.fill {value = 0.0 : f64} : () -> tensor<f32>
      tgpt.write %1, @loss_sum : tensor<f32>
      dist.yield
    }
    return
  }
  func.func @micro_batch(%x: tensor<2x4x6xf32> {tgpt.name = "x"}) attributes {tgpt.phase = "micro_batch"} {
    // CHECK-NEXT: plan.segment forward "forward" {
    // CHECK-NEXT: plan.input "x" into %[[X]]
    // CHECK-NEXT: "linear"(%[[X]], %[[W]]) -> (%[[Y]])
    // CHECK-NEXT: "gelu"(%[[Y]]) -> (%[[Z]])
    // CHECK-NEXT: "sum_squares"(%[[Z]]) -> (%[[LOSS]]) {} workspace %[[WORKSPACE]]
    // sum_squares cannot add to its output, so the loss is added by a kernel.
    // CHECK-NEXT: "accumulate"(%[[LOSS]]) -> (%[[LOSS_SUM]])
    // CHECK-NEXT: {{^ *[}]$}}
    %0 = dist.segment forward stage 0 {
      %w = tgpt.read @layers.0.up.weight : tensor<6x6xf32>
      %y = tgpt.linear %x, %w : (tensor<2x4x6xf32>, tensor<6x6xf32>) -> tensor<2x4x6xf32>
      %z = tgpt.gelu %y : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
      %loss = tgpt.sum_squares %z : (tensor<2x4x6xf32>) -> tensor<f32>
      tgpt.accumulate %loss, @loss_sum : tensor<f32>
      dist.yield %y : tensor<2x4x6xf32>
    } : tensor<2x4x6xf32>
    // The gradient of gelu takes the place of its operand, which nobody needs again;
    // the weight's gradient is added where it belongs by the kernel that makes it.
    // CHECK-NEXT: plan.segment backward "backward" {
    // CHECK-NEXT: "fill"() -> (%[[DZ]])
    // CHECK-NEXT: "gelu_grad"(%[[DZ]], %[[Y]]) -> (%[[DZ]])
    // CHECK-NEXT: "linear_dgrad"(%[[DZ]], %[[W]]) -> (%[[DX]])
    // CHECK-NEXT: "linear_wgrad"(%[[DZ]], %[[X]]) -> (%[[DW]]) {accumulate = 1 : i64} cost <flops = 612, bytes_read = 528, bytes_written = 144, work = matrix_product>
    // CHECK-NEXT: {{^ *[}]$}}
    dist.segment backward stage 0 {
      %dz = tgpt.fill {value = 1.0 : f64} : () -> tensor<2x4x6xf32>
      %dy = tgpt.gelu_grad %dz, %0 : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
      %w = tgpt.read @layers.0.up.weight : tensor<6x6xf32>
      %dx = tgpt.linear_dgrad %dy, %w : (tensor<2x4x6xf32>, tensor<6x6xf32>) -> tensor<2x4x6xf32>
      %dw = tgpt.linear_wgrad %dy, %x : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<6x6xf32>
      tgpt.accumulate %dw, @layers.0.up.weight.gradient : tensor<6x6xf32>
      dist.yield
    }
    return
  }
  // CHECK-NEXT: plan.segment update "update" {
  // CHECK-NEXT: plan.output %[[LOSS_SUM]] as "loss"
  // CHECK-NEXT: {{^ *[}]$}}
  func.func @update() -> (tensor<f32> {tgpt.name = "loss"}) attributes {tgpt.phase = "update"} {
    %0 = dist.segment update stage 0 {
      %loss = tgpt.read @loss_sum : tensor<f32>
      dist.yield %loss : tensor<f32>
    } : tensor<f32>
    return %0 : tensor<f32>
  }
  // CHECK-NEXT: plan.schedule [
  // CHECK-NEXT: "begin",
  // CHECK-NEXT: steady "forward" 0 in 0,
  // CHECK-NEXT: steady "backward" 0 in 0,
  // CHECK-NEXT: steady "forward" 1 in 0,
  // CHECK-NEXT: steady "backward" 1 in 0,
  // CHECK-NEXT: "update"]
}

// -----

// The logits are kept for the backward and overwritten by their gradient there: the
// largest activation needs no second buffer. The first row held here depends on the rank.
// CHECK-LABEL: plan.program @gradient_over_activation
// CHECK-SAME: vocabulary = 6
// CHECK: %[[LOGITS:.*]] = plan.buffer "table.linear" in activations : <1x4x3xf32>
// CHECK: "embedding"(%{{.*}}, %[[TABLE:.*]]) -> (%[[X:.*]]) {vocab_offset = #plan.axis_offset<["tp"], stride = 3>}
// CHECK: all_reduce_sum %[[X]] to %[[X]] over @tp
// CHECK: "linear"(%[[X]], %[[TABLE]]) -> (%[[LOGITS]])
// CHECK: "cross_entropy_grad"(%[[LOGITS]], %{{.*}}) -> (%[[LOGITS]]) {vocab_offset = #plan.axis_offset<["tp"], stride = 3>}
module @gradient_over_activation {
  dist.mesh @mesh (tp = 2)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  tgpt.parameter @table.weight : tensor<3x2xf32, #dist.layout<[tp, -], of = [6, 2]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  func.func @micro_batch(%tokens: tensor<1x4xi32, #dist.layout<[-, -], of = [1, 4]>> {tgpt.name = "tokens"},
                         %labels: tensor<1x4xi32, #dist.layout<[-, -], of = [1, 4]>> {tgpt.name = "labels"}) attributes {tgpt.phase = "micro_batch"} {
    %0 = dist.segment forward stage 0 {
      %w = tgpt.read @table.weight : tensor<3x2xf32, #dist.layout<[tp, -], of = [6, 2]>>
      %part = tgpt.embedding %tokens, %w : (tensor<1x4xi32, #dist.layout<[-, -], of = [1, 4]>>, tensor<3x2xf32, #dist.layout<[tp, -], of = [6, 2]>>) -> tensor<1x4x2xf32, #dist.layout<[-, -, -], partial = [tp], of = [1, 4, 2]>>
      %x = dist.all_reduce sum %part over ["tp"] : tensor<1x4x2xf32, #dist.layout<[-, -, -], partial = [tp], of = [1, 4, 2]>> to tensor<1x4x2xf32, #dist.layout<[-, -, -], of = [1, 4, 2]>>
      %logits = tgpt.linear %x, %w : (tensor<1x4x2xf32, #dist.layout<[-, -, -], of = [1, 4, 2]>>, tensor<3x2xf32, #dist.layout<[tp, -], of = [6, 2]>>) -> tensor<1x4x3xf32, #dist.layout<[-, -, tp], of = [1, 4, 6]>>
      dist.yield %logits : tensor<1x4x3xf32, #dist.layout<[-, -, tp], of = [1, 4, 6]>>
    } : tensor<1x4x3xf32, #dist.layout<[-, -, tp], of = [1, 4, 6]>>
    dist.segment backward stage 0 {
      %lse = tgpt.fill {value = 0.0 : f64} : () -> tensor<1x4xf32, #dist.layout<[-, -], of = [1, 4]>>
      %one = tgpt.fill {value = 1.0 : f64} : () -> tensor<f32, #dist.layout<[], of = []>>
      %d = tgpt.cross_entropy_grad %0, %labels, %lse, %one : (tensor<1x4x3xf32, #dist.layout<[-, -, tp], of = [1, 4, 6]>>, tensor<1x4xi32, #dist.layout<[-, -], of = [1, 4]>>, tensor<1x4xf32, #dist.layout<[-, -], of = [1, 4]>>, tensor<f32, #dist.layout<[], of = []>>) -> tensor<1x4x3xf32, #dist.layout<[-, -, tp], of = [1, 4, 6]>>
      dist.yield
    }
    return
  }
}

// -----

// Two stages. A message is received before its first use and sent as soon as it is
// there; what the backward of the receiver needs again is an activation. A channel holds one
// message, or as many as its send_recv says and a step sends.
// CHECK-LABEL: plan.program @two_stages
// CHECK: plan.channel @forward_0_to_1 from 0 to 1 depth 1 : !plan.buffer<4x6xf32>
// CHECK: plan.channel @backward_1_to_0 from 1 to 0 depth 2 : !plan.buffer<4x6xf32>
// CHECK: plan.stage 0 {
// CHECK: %[[M0:.*]] = plan.buffer "messages.backward_1_to_0.0" in communication
// CHECK: %[[M1:.*]] = plan.buffer "messages.backward_1_to_0.1" in communication
// CHECK: plan.messages @backward_1_to_0 in %[[M0]], %[[M1]]
// CHECK: %[[Y:.*]] = plan.buffer "forward.gelu" in scratch
// CHECK: "gelu"(%{{.*}}) -> (%[[Y]])
// CHECK-NEXT: plan.send %[[Y]] on @forward_0_to_1
// CHECK: plan.segment backward
// CHECK-NEXT: plan.recv @backward_1_to_0 into %[[DY:.*]] :
// CHECK-NEXT: "gelu_grad"(%[[DY]], %{{.*}}) -> (%[[DY]])
// CHECK: plan.stage 1 {
// CHECK: %[[IN:.*]] = plan.buffer "forward_0_to_1" in activations
// CHECK: plan.segment forward
// CHECK-NEXT: plan.recv @forward_0_to_1 into %[[IN]]
// CHECK-NEXT: "sum_squares"(%[[IN]])
// CHECK: plan.segment backward
// CHECK: "gelu_grad"(%[[OUT:.*]], %[[IN]]) -> (%[[OUT]])
// CHECK-NEXT: plan.send %[[OUT]] on @backward_1_to_0
module @two_stages {
  dist.mesh @mesh (pp = 2)
  dist.schedule stage 0 of 2 slots [2] warm_up ["F0@0"] steady ["F1@1", "B0@0"] cool_down ["B1@1"]
  dist.schedule stage 1 of 2 slots [1] warm_up [] steady ["F0@0", "B0@0", "F1@0", "B1@0"] cool_down []
  func.func @micro_batch(%x: tensor<4x6xf32> {tgpt.name = "x"}) attributes {tgpt.phase = "micro_batch"} {
    %0 = dist.segment forward stage 0 {
      %y = tgpt.gelu %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
      dist.yield %y : tensor<4x6xf32>
    } : tensor<4x6xf32>
    %1 = dist.send_recv %0 from 0 to 1 : tensor<4x6xf32>
    dist.segment forward stage 1 {
      %2 = tgpt.sum_squares %1 : (tensor<4x6xf32>) -> tensor<f32>
      dist.yield
    }
    %3 = dist.segment backward stage 1 {
      %dy = tgpt.fill {value = 1.0 : f64} : () -> tensor<4x6xf32>
      %dx = tgpt.gelu_grad %dy, %1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
      dist.yield %dx : tensor<4x6xf32>
    } : tensor<4x6xf32>
    %4 = dist.send_recv %3 from 1 to 0 depth 3 : tensor<4x6xf32>
    dist.segment backward stage 0 {
      %dx = tgpt.gelu_grad %4, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
      dist.yield
    }
    return
  }
}
