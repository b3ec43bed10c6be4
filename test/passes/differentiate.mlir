// RUN: tgpt-opt %s --tgpt-differentiate -split-input-file | FileCheck %s

// A linear on an embedding, in two layers to see that backward ops carry the layer of their forward op.
// Each parameter on the way to the loss gets a gradient state; @unused gets none.
// CHECK-LABEL: module @model
// CHECK: tgpt.parameter @unused
// CHECK: tgpt.state {{.*}}gradient @table.gradient of @table : tensor<10x8xf32> {transient}
// CHECK: tgpt.state {{.*}}gradient @head.gradient of @head : tensor<10x8xf32> {transient}
// CHECK-NOT: @unused.gradient
// CHECK: tgpt.state {{.*}}metric @loss_sum : tensor<f32> {transient}
// CHECK: tgpt.state {{.*}}metric @token_count : tensor<f32> {transient}

// @begin sets all that micro-batches add to to zero.
// CHECK-LABEL: func.func @begin() attributes {tgpt.phase = "begin"}
// CHECK: %[[Z0:.+]] = tgpt.fill {{.*}}value = 0.0{{.*}} -> tensor<10x8xf32>
// CHECK-NEXT: tgpt.write %[[Z0]], @table.gradient
// CHECK: %[[Z1:.+]] = tgpt.fill {{.*}}value = 0.0{{.*}} -> tensor<10x8xf32>
// CHECK-NEXT: tgpt.write %[[Z1]], @head.gradient
// CHECK: tgpt.write %{{.+}}, @loss_sum
// CHECK: tgpt.write %{{.+}}, @token_count
// CHECK-NEXT: return
module @model {
  tgpt.parameter @table : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @head : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @unused : tensor<8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  // CHECK-LABEL: func.func @micro_batch
  // CHECK-SAME: (%[[TOKENS:.+]]: tensor<4x6xi32> {tgpt.name = "tokens"}, %[[LABELS:.+]]: tensor<4x6xi32> {tgpt.name = "labels"}) attributes {tgpt.phase = "micro_batch"}
  func.func @loss(%tokens: tensor<4x6xi32> {tgpt.name = "tokens"}, %labels: tensor<4x6xi32> {tgpt.name = "labels"})
      -> (tensor<f32> {tgpt.name = "loss_sum"}, tensor<f32> {tgpt.name = "token_count"}) {
    // The forward is untouched.
    // CHECK: %[[TABLE:.+]] = tgpt.read @table
    // CHECK: %[[X:.+]] = tgpt.embedding
    // CHECK: %[[HEAD:.+]] = tgpt.read @head
    // CHECK: %[[LOGITS:.+]] = tgpt.linear %[[X]], %[[HEAD]]
    // CHECK: %[[LOSS:.+]]:3 = tgpt.cross_entropy
    %table = tgpt.read @table {tgpt.layer = -1 : i64} : tensor<10x8xf32>
    %x = tgpt.embedding %tokens, %table {tgpt.layer = -1 : i64} : (tensor<4x6xi32>, tensor<10x8xf32>) -> tensor<4x6x8xf32>
    %head = tgpt.read @head {tgpt.layer = 1 : i64} : tensor<10x8xf32>
    %logits = tgpt.linear %x, %head {tgpt.layer = 1 : i64} : (tensor<4x6x8xf32>, tensor<10x8xf32>) -> tensor<4x6x10xf32>
    %loss, %count, %lse = tgpt.cross_entropy %logits, %labels {tgpt.layer = 1 : i64} : (tensor<4x6x10xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
    // CHECK-NEXT: tgpt.accumulate %[[LOSS]]#0, @loss_sum {tgpt.layer = 1 : i64}
    // CHECK-NEXT: tgpt.accumulate %[[LOSS]]#1, @token_count {tgpt.layer = 1 : i64}
    // CHECK-NEXT: tgpt.begin_backward {tgpt.layer = 1 : i64}
    // The gradient of the sum of the losses is 1.
    // CHECK-NEXT: %[[ONE:.+]] = tgpt.fill {{.*}}value = 1.0{{.*}} -> tensor<f32>
    // CHECK-NEXT: %[[DLOGITS:.+]] = tgpt.cross_entropy_grad %[[LOGITS]], %[[LABELS]], %[[LOSS]]#2, %[[ONE]] {tgpt.layer = 1 : i64}
    // CHECK-NEXT: %[[DX:.+]] = tgpt.linear_dgrad %[[DLOGITS]], %[[HEAD]] {tgpt.layer = 1 : i64}
    // CHECK-NEXT: %[[DHEAD:.+]] = tgpt.linear_wgrad %[[DLOGITS]], %[[X]] {tgpt.layer = 1 : i64}
    // CHECK-NEXT: tgpt.accumulate %[[DHEAD]], @head.gradient {tgpt.layer = 1 : i64}
    // CHECK-NEXT: %[[DTABLE:.+]] = tgpt.embedding_grad %[[TOKENS]], %[[DX]] {tgpt.layer = -1 : i64}
    // CHECK-NEXT: tgpt.accumulate %[[DTABLE]], @table.gradient {tgpt.layer = -1 : i64}
    // CHECK-NEXT: return{{$}}
    return %loss, %count : tensor<f32>, tensor<f32>
  }
}

// -----

// A value used twice gets the sum of the gradients of its uses, a parameter used twice (tied) two accumulates
// into one state. Nothing is computed for the input, on which no parameter acts.
// CHECK-LABEL: module @shared_uses
// CHECK: tgpt.state {{.*}}gradient @w.gradient of @w : tensor<8x8xf32>
// CHECK-NOT: tgpt.state {{.*}}gradient
module @shared_uses {
  tgpt.parameter @w : tensor<8x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  // CHECK-LABEL: func.func @micro_batch
  // CHECK-SAME: (%[[X:.+]]: tensor<4x6x8xf32>,
  func.func @loss(%x: tensor<4x6x8xf32>, %labels: tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>) {
    %w = tgpt.read @w : tensor<8x8xf32>
    // CHECK: %[[H:.+]] = tgpt.linear %[[X]],
    %h = tgpt.linear %x, %w : (tensor<4x6x8xf32>, tensor<8x8xf32>) -> tensor<4x6x8xf32>
    %g = tgpt.gelu %h : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
    %r = tgpt.add %h, %g : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
    %logits = tgpt.linear %r, %w : (tensor<4x6x8xf32>, tensor<8x8xf32>) -> tensor<4x6x8xf32>
    %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<4x6x8xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
    // CHECK: tgpt.begin_backward
    // CHECK: %[[DR:.+]] = tgpt.linear_dgrad
    // CHECK: %[[DW1:.+]] = tgpt.linear_wgrad
    // CHECK: tgpt.accumulate %[[DW1]], @w.gradient
    // CHECK: %[[DG:.+]] = tgpt.gelu_grad %[[DR]], %[[H]]
    // CHECK: %[[DH:.+]] = tgpt.add %[[DR]], %[[DG]]
    // CHECK-NOT: tgpt.linear_dgrad
    // CHECK: %[[DW0:.+]] = tgpt.linear_wgrad %[[DH]], %[[X]]
    // CHECK: tgpt.accumulate %[[DW0]], @w.gradient
    // CHECK-NEXT: return
    return %loss, %count : tensor<f32>, tensor<f32>
  }
}

// -----

// In bf16 gradients of parameters are f32, those of activations bf16.
// CHECK-LABEL: module @bf16
// CHECK: tgpt.state {{.*}}gradient @w.gradient of @w : tensor<10x8xf32>
module @bf16 {
  tgpt.parameter @w : tensor<10x8xbf16> = #tgpt.init<mean = 0.0, stddev = 0.02>
  func.func @loss(%x: tensor<4x6x8xbf16>, %labels: tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>) {
    %w = tgpt.read @w : tensor<10x8xbf16>
    %logits = tgpt.linear %x, %w : (tensor<4x6x8xbf16>, tensor<10x8xbf16>) -> tensor<4x6x10xbf16>
    %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<4x6x10xbf16>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
    // CHECK: tgpt.cross_entropy_grad {{.*}} -> tensor<4x6x10xbf16>
    // CHECK: tgpt.linear_wgrad {{.*}} -> tensor<10x8xf32>
    return %loss, %count : tensor<f32>, tensor<f32>
  }
}
