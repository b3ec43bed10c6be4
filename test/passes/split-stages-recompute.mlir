// RUN: tgpt-opt %s --tgpt-recompute --dist-split-stages | FileCheck %s

// Two stages, each of whose layers is computed again from its input. A forward yields what the other stage needs and
// what its own backward starts from, and nothing that the backward computes again; clones stand in the backward of
// their layer's stage.
// CHECK-LABEL: func.func @micro_batch
// CHECK-SAME: (%[[X:.+]]: tensor<4x6xf32>)
// CHECK: %[[F0:.+]] = dist.segment forward stage 0 {
// CHECK:   dist.yield %{{[^,]+}} : tensor<4x6xf32>
// CHECK: %[[IN:.+]] = dist.send_recv %[[F0]] from 0 to 1
// Stage 1 keeps what it received: its forward yields nothing.
// CHECK: dist.segment forward stage 1 {
// CHECK-NEXT: %[[G1:.+]] = tgpt.gelu %[[IN]]
// CHECK-NEXT: %[[G2:.+]] = tgpt.gelu %[[G1]]
// CHECK-NEXT: tgpt.accumulate %[[G2]]
// CHECK-NEXT: }
// CHECK: %[[B1:.+]] = dist.segment backward stage 1 {
// CHECK-NEXT: %[[A1:.+]] = tgpt.gelu %[[IN]] {tgpt.recomputed}
// CHECK-NEXT: tgpt.gelu_grad %{{.+}}, %[[A1]]
// CHECK: dist.send_recv %[[B1]] from 1 to 0
// CHECK: dist.segment backward stage 0 {
// CHECK-NEXT: %[[A0:.+]] = tgpt.gelu %[[X]] {tgpt.recomputed}
// CHECK-NEXT: tgpt.gelu_grad %{{.+}}, %[[A0]]
// CHECK-NOT: tgpt.gelu %
module attributes {dist.stages = array<i64: 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  tgpt.state metric @sum : tensor<4x6xf32> {transient}
  tgpt.state metric @dx : tensor<4x6xf32> {transient}
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %a = tgpt.gelu %x {tgpt.layer = 0 : i64, tgpt.recompute = true} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %b = tgpt.gelu %a {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %c = tgpt.gelu %b {tgpt.layer = 1 : i64, tgpt.recompute = true} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %d = tgpt.gelu %c {tgpt.layer = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    tgpt.accumulate %d, @sum {tgpt.layer = 2 : i64} : tensor<4x6xf32>
    tgpt.begin_backward {tgpt.layer = 2 : i64}
    %dc = tgpt.gelu_grad %x, %c {tgpt.layer = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %db = tgpt.gelu_grad %dc, %b {tgpt.layer = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %da = tgpt.gelu_grad %db, %a {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    tgpt.accumulate %da, @dx {tgpt.layer = 0 : i64} : tensor<4x6xf32>
    return
  }
}
