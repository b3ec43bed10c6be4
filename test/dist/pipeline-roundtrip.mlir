// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 1, pp = 2, tp = 1)

// CHECK-LABEL: @micro_batch
func.func @micro_batch(%x: tensor<4x6xf32>) {
  // CHECK: %[[F0:.+]]:2 = dist.segment forward stage 0 {
  // CHECK:   %[[H:.+]] = tgpt.gelu
  // CHECK:   dist.yield %{{.*}}, %[[H]] : tensor<4x6xf32>, tensor<4x6xf32>
  // CHECK: } : tensor<4x6xf32>, tensor<4x6xf32>
  %0:2 = dist.segment forward stage 0 {
    %h = tgpt.gelu %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
    dist.yield %x, %h : tensor<4x6xf32>, tensor<4x6xf32>
  } : tensor<4x6xf32>, tensor<4x6xf32>
  // CHECK: %[[SENT:.+]] = dist.send_recv %[[F0]]#1 from 0 to 1 : tensor<4x6xf32>
  %1 = dist.send_recv %0#1 from 0 to 1 : tensor<4x6xf32>
  // A segment without results needs no yield in text.
  // CHECK: dist.segment forward stage 1 attributes {tgpt.note = "kept"} {
  // CHECK-NEXT: tgpt.gelu %[[SENT]]
  // CHECK-NEXT: }
  dist.segment forward stage 1 attributes {tgpt.note = "kept"} {
    %h = tgpt.gelu %1 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  }
  // Saved values of the same stage are at hand.
  // CHECK: dist.segment backward stage 0 {
  // CHECK-NEXT: tgpt.gelu_grad %[[F0]]#1, %[[F0]]#0
  dist.segment backward stage 0 {
    %dx = tgpt.gelu_grad %0#1, %0#0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  }
  return
}

// Two chunks of one stage: what goes between them is a message too.
// CHECK-LABEL: @chunks
func.func @chunks(%x: tensor<4x6xf32>) {
  // CHECK: %[[F0:.+]] = dist.segment forward stage 0 {
  %0 = dist.segment forward stage 0 chunk 0 {
    %h = tgpt.gelu %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
    dist.yield %h : tensor<4x6xf32>
  } : tensor<4x6xf32>
  // CHECK: %[[SENT:.+]] = dist.send_recv %[[F0]] from 0 to 0 chunk 1 depth 3 : tensor<4x6xf32>
  %1 = dist.send_recv %0 from 0 to 0 chunk 1 depth 3 : tensor<4x6xf32>
  // CHECK: dist.segment forward stage 0 chunk 1 attributes {tgpt.note = "kept"} {
  // CHECK-NEXT: tgpt.gelu %[[SENT]]
  %2 = dist.segment forward stage 0 chunk 1 attributes {tgpt.note = "kept"} {
    %h = tgpt.gelu %1 : (tensor<4x6xf32>) -> tensor<4x6xf32>
    dist.yield %h : tensor<4x6xf32>
  } : tensor<4x6xf32>
  // CHECK: %[[B:.+]] = dist.segment backward stage 0 chunk 1 {
  %3 = dist.segment backward stage 0 chunk 1 {
    %h = tgpt.gelu_grad %2, %1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    dist.yield %h : tensor<4x6xf32>
  } : tensor<4x6xf32>
  // Values of the forward and of the backward stay for it.
  // CHECK: dist.segment weight_gradient stage 0 chunk 1 {
  dist.segment weight_gradient stage 0 chunk 1 {
    %h = tgpt.gelu_grad %3, %2 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  }
  // CHECK: dist.send_recv %[[B]] from 0 chunk 1 to 1 : tensor<4x6xf32>
  %4 = dist.send_recv %3 from 0 chunk 1 to 1 chunk 0 : tensor<4x6xf32>
  return
}

// CHECK: dist.schedule stage 0 of 4 slots [2] warm_up ["F0@0"] steady ["F1@1", "B0@0", "F2@0", "B1@1", "F3@1", "B2@0"] cool_down ["B3@1"]
dist.schedule stage 0 of 4 slots [2] warm_up ["F0@0"] steady ["F1@1", "B0@0", "F2@0", "B1@1", "F3@1", "B2@0"] cool_down ["B3@1"]
// Chunks have slots of their own, and none where they have no work here; a slot is held up to the weight_gradient.
// CHECK: dist.schedule stage 1 of 2 slots [2, 0, 1] warm_up ["F0@0", "F0.2@0"] steady ["B0.2@0", "F1@1", "W0.2@0", "F1.2@0", "B0@0"] cool_down ["B1.2@0", "B1@1", "W1.2@0"]
dist.schedule stage 1 of 2 slots [2, 0, 1] warm_up ["F0@0", "F0.2@0"] steady ["B0.2@0", "F1@1", "W0.2@0", "F1.2@0", "B0@0"] cool_down ["B1.2@0", "B1@1", "W1.2@0"]
// A stage without layers.
// CHECK: dist.schedule stage 1 of 4 slots [0] warm_up [] steady [] cool_down []
dist.schedule stage 1 of 4 slots [0] warm_up [] steady [] cool_down []
