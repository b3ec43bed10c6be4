// RUN: tgpt-opt %s --plan-lower -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --plan-lower --plan-assign-memory -split-input-file | FileCheck %s --check-prefix=MEMORY

// Two chunks of one stage and what their backwards leave for later. Each chunk has
// activations of its own and takes the host's values for itself; between them a rank sends
// itself a message, through a channel as deep as its send_recv says.
// CHECK-LABEL: plan.program @chunks
// CHECK: plan.channel @forward_0_to_0.1 from 0 to 0 depth 3 :
// CHECK-NEXT: plan.channel @backward_0.1_to_0 from 0 to 0 depth 1 :
// CHECK-NOT: plan.channel
// CHECK: plan.region activations slots 3{{$}}
// CHECK-NEXT: plan.region activations chunk 1 slots 1{{$}}
// A value of the backward that the weight_gradient reads is kept as one of the forward is.
// CHECK: %[[X:.+]] = plan.buffer "x" in activations :
// CHECK: %[[H:.+]] = plan.buffer "forward.gelu" in scratch :
// CHECK: %[[IN:.+]] = plan.buffer "forward_0_to_0.1" in activations chunk 1 :
// CHECK: %[[X1:.+]] = plan.buffer "x.1" in activations chunk 1 :
// CHECK: %[[ONES:.+]] = plan.buffer "backward.1.fill" in activations chunk 1 :
// CHECK: %[[BACK:.+]] = plan.buffer "backward_0.1_to_0" in activations :
// CHECK: plan.segment forward "forward" {
// CHECK-NEXT: plan.input "x" into %[[X]]
// CHECK-NEXT: "gelu"(%[[X]]) -> (%[[H]])
// CHECK-NEXT: plan.send %[[H]] on @forward_0_to_0.1
// CHECK: plan.segment forward "forward.1" chunk 1 {
// CHECK-NEXT: plan.recv @forward_0_to_0.1 into %[[IN]]
// CHECK-NEXT: plan.input "x" into %[[X1]]
// CHECK-NEXT: "add"(%[[IN]], %[[X1]])
// CHECK: plan.segment backward "backward.1" chunk 1 {
// CHECK-NEXT: "fill"() -> (%[[ONES]])
// CHECK-NEXT: "gelu_grad"(%[[ONES]], %[[IN]])
// CHECK-NEXT: plan.send
// CHECK: plan.segment weight_gradient "weight_gradient.1" chunk 1 {
// CHECK-NEXT: "gelu_grad"(%[[ONES]], %[[X1]])
// CHECK: plan.segment backward "backward" {
// CHECK-NEXT: plan.recv @backward_0.1_to_0 into %[[BACK]]
// CHECK: plan.segment weight_gradient "weight_gradient" {
// CHECK-NEXT: "gelu_grad"(%[[BACK]], %[[X]])
// CHECK: plan.schedule [
// CHECK-NEXT: warm_up "forward" 0 in 0 sends [@forward_0_to_0.1],
// CHECK-NEXT: warm_up "forward" 1 in 1 sends [@forward_0_to_0.1],
// CHECK-NEXT: warm_up "forward" 2 in 2 sends [@forward_0_to_0.1],
// CHECK-NEXT: steady "forward.1" 0 in 0 receives [@forward_0_to_0.1],
// CHECK-NEXT: steady "backward.1" 0 in 0 sends [@backward_0.1_to_0],
// CHECK-NEXT: steady "weight_gradient.1" 0 in 0,
// CHECK: cool_down "backward" 0 in 0 receives [@backward_0.1_to_0],
// CHECK-NEXT: cool_down "weight_gradient" 0 in 0,
// CHECK: cool_down "weight_gradient" 2 in 2]

// A slot holds what is alive from the forward to the weight_gradient of one chunk: a value of 96 bytes (at multiples
// of 64) in the first chunk, and in the second the message and x. What a backward has received or made for the
// weight_gradient lies in a leaf, of which both chunks need only one. The workspace is that of sum_squares.
// MEMORY: plan.region workspace slots 1 at 0 holds 256 live 256
// MEMORY-NEXT: plan.region activations slots 3 at 896 holds 128 live 96
// MEMORY-NEXT: plan.region activations chunk 1 slots 1 at 1280 holds 256 live 192
// MEMORY-NEXT: plan.region communication slots 1 at 256 holds
// MEMORY: plan.region leaves slots 1 at 768 holds 128 live 96
// MEMORY-NEXT: plan.region leaves chunk 1 slots 1 at 768 holds 128 live 96
module @chunks {
  dist.mesh @mesh (pp = 1)
  dist.schedule stage 0 of 3 slots [3, 1] warm_up ["F0@0", "F1@1", "F2@2"]
    steady ["F0.1@0", "B0.1@0", "W0.1@0", "F1.1@0", "B1.1@0", "W1.1@0"]
    cool_down ["B0@0", "W0@0", "F2.1@0", "B2.1@0", "W2.1@0", "B1@1", "W1@1", "B2@2", "W2@2"]
  func.func @micro_batch(%x: tensor<4x6xf32> {tgpt.name = "x"}) attributes {tgpt.phase = "micro_batch"} {
    %0 = dist.segment forward stage 0 {
      %y = tgpt.gelu %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
      dist.yield %y : tensor<4x6xf32>
    } : tensor<4x6xf32>
    %1 = dist.send_recv %0 from 0 to 0 chunk 1 depth 7 : tensor<4x6xf32>
    dist.segment forward stage 0 chunk 1 {
      %y = tgpt.add %1, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
      %z = tgpt.sum_squares %y : (tensor<4x6xf32>) -> tensor<f32>
    }
    %2:2 = dist.segment backward stage 0 chunk 1 {
      %dy = tgpt.fill {value = 1.0 : f64} : () -> tensor<4x6xf32>
      %dx = tgpt.gelu_grad %dy, %1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
      dist.yield %dy, %dx : tensor<4x6xf32>, tensor<4x6xf32>
    } : tensor<4x6xf32>, tensor<4x6xf32>
    %3 = dist.send_recv %2#1 from 0 chunk 1 to 0 : tensor<4x6xf32>
    dist.segment weight_gradient stage 0 chunk 1 {
      %dw = tgpt.gelu_grad %2#0, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    }
    dist.segment backward stage 0 {
    }
    dist.segment weight_gradient stage 0 {
      %dw = tgpt.gelu_grad %3, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    }
    return
  }
}

// -----

// A stage without layers has no activations, and nothing to run for a micro-batch.
// CHECK-LABEL: plan.program @empty_stage
// CHECK: plan.stage 1 {
// CHECK-NEXT: plan.segment update "update" {
// CHECK-NEXT: }
// CHECK-NEXT: plan.schedule [
// CHECK-NEXT: "update"]
// CHECK: plan.stage 2 {
module @empty_stage {
  dist.mesh @mesh (pp = 3)
  dist.schedule stage 0 of 1 slots [1] warm_up ["F0@0"] steady [] cool_down ["B0@0"]
  dist.schedule stage 1 of 1 slots [0] warm_up [] steady [] cool_down []
  dist.schedule stage 2 of 1 slots [1] warm_up ["F0@0"] steady [] cool_down ["B0@0"]
  func.func @micro_batch(%x: tensor<4x6xf32> {tgpt.name = "x"}) attributes {tgpt.phase = "micro_batch"} {
    %0 = dist.segment forward stage 0 {
      %y = tgpt.gelu %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
      dist.yield %y : tensor<4x6xf32>
    } : tensor<4x6xf32>
    %1 = dist.send_recv %0 from 0 to 2 : tensor<4x6xf32>
    dist.segment forward stage 2 {
      %z = tgpt.sum_squares %1 : (tensor<4x6xf32>) -> tensor<f32>
    }
    dist.segment backward stage 2 {
    }
    dist.segment backward stage 0 {
    }
    return
  }
  func.func @update() attributes {tgpt.phase = "update"} {
    dist.segment update stage 1 {
    }
    return
  }
}
