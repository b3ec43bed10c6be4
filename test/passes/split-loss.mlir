// RUN: tgpt-opt %s --tgpt-split-loss=parts=4 -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --tgpt-split-loss=parts=4 -split-input-file | tgpt-opt --tgpt-split-loss -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --tgpt-split-loss -split-input-file | FileCheck %s --check-prefix=ONE
// RUN: tgpt-opt %s --tgpt-split-loss=parts=10 -split-input-file | FileCheck %s --check-prefix=TEN
// RUN: not tgpt-opt %s --tgpt-split-loss=parts=0 -split-input-file 2>&1 | FileCheck %s --check-prefix=NONE

// Four parts do not divide ten columns, two do.
// ONE: -> tensor<1x2x4x6xf32>
// TEN: -> tensor<10x2x4x6xf32>
// NONE: error: parts is 0, but the vocabulary is cut into 1 part or more

// Two steps with the loss's layer and location; the backward, which uses the steps' lse, stays one op.
// CHECK-LABEL: func.func @forward_and_backward
// CHECK-SAME: (%[[LOGITS:.+]]: tensor<4x6x10xf32>, %[[LABELS:.+]]: tensor<4x6xi32>, %[[D:.+]]: tensor<f32>)
func.func @forward_and_backward(%logits: tensor<4x6x10xf32>, %labels: tensor<4x6xi32>, %d: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<4x6x10xf32>) {
  // CHECK-NOT: tgpt.cross_entropy %
  // CHECK: %[[STATISTICS:.+]] = tgpt.loss_statistics %[[LOGITS]], %[[LABELS]] {tgpt.layer = 3 : i64} : {{.*}} -> tensor<2x2x4x6xf32>
  // CHECK-NEXT: %[[LOSS:.+]]:3 = tgpt.token_loss %[[LABELS]], %[[STATISTICS]] {tgpt.layer = 3 : i64} : {{.*}} -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels {tgpt.layer = 3 : i64} : (tensor<4x6x10xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  // CHECK-NEXT: %[[GRAD:.+]] = tgpt.cross_entropy_grad %[[LOGITS]], %[[LABELS]], %[[LOSS]]#2, %[[D]]
  %grad = tgpt.cross_entropy_grad %logits, %labels, %lse, %d : (tensor<4x6x10xf32>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6x10xf32>
  // CHECK-NEXT: return %[[LOSS]]#0, %[[LOSS]]#1, %[[GRAD]]
  return %loss, %count, %grad : tensor<f32>, tensor<f32>, tensor<4x6x10xf32>
}

// -----

// Statistics are in the accumulation dtype whatever the logits are in.
// CHECK-LABEL: func.func @bf16_logits
func.func @bf16_logits(%logits: tensor<4x6x10xbf16>, %labels: tensor<4x6xi32>) -> tensor<f32> {
  // CHECK: tgpt.loss_statistics {{.*}} : (tensor<4x6x10xbf16>, tensor<4x6xi32>) -> tensor<2x2x4x6xf32>
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<4x6x10xbf16>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return %loss : tensor<f32>
}

// -----

// Smoothed labels need the mean logit: one more statistic. The terms are the last step's.
// CHECK-LABEL: func.func @smoothed_labels
// CHECK-SAME: (%[[LOGITS:.+]]: tensor<4x6x10xf32>,
func.func @smoothed_labels(%logits: tensor<4x6x10xf32>, %labels: tensor<4x6xi32>) -> tensor<f32> {
  // CHECK: %[[STATISTICS:.+]] = tgpt.loss_statistics %[[LOGITS]], %{{.+}} {tgpt.layer = 3 : i64} : {{.*}} -> tensor<2x3x4x6xf32>
  // CHECK: tgpt.token_loss %{{.+}}, %[[STATISTICS]] {label_smoothing = 1.000000e-01 : f64, tgpt.layer = 3 : i64, z_loss = 1.000000e-03 : f64}
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels {label_smoothing = 0.1 : f64, z_loss = 1.0e-3 : f64, tgpt.layer = 3 : i64} : (tensor<4x6x10xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return %loss : tensor<f32>
}

// -----

// The z-loss is a function of lse alone.
// CHECK-LABEL: func.func @z_loss
func.func @z_loss(%logits: tensor<4x6x10xf32>, %labels: tensor<4x6xi32>) -> tensor<f32> {
  // CHECK: tgpt.loss_statistics {{.*}} -> tensor<2x2x4x6xf32>
  // CHECK: tgpt.token_loss {{.*}} {z_loss = 1.000000e-03 : f64}
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels {z_loss = 1.0e-3 : f64} : (tensor<4x6x10xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  return %loss : tensor<f32>
}
