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

// CHECK: dist.schedule stage 0 of 4 slots 2 ["F0@0", "F1@1", "B0@0", "F2@0", "B1@1", "F3@1", "B2@0", "B3@1"]
dist.schedule stage 0 of 4 slots 2 ["F0@0", "F1@1", "B0@0", "F2@0", "B1@1", "F3@1", "B2@0", "B3@1"]
// CHECK: dist.schedule stage 1 of 1 slots 1 ["F0@0", "B0@0"]
dist.schedule stage 1 of 1 slots 1 ["F0@0", "B0@0"]
