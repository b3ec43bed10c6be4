// RUN: tgpt-opt %s --tgpt-advance-loss-gradient -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --tgpt-advance-loss-gradient -split-input-file -o %t.once
// RUN: tgpt-opt %t.once --tgpt-advance-loss-gradient -split-input-file | diff %t.once -
// RUN: tgpt-opt %s --tgpt-advance-loss-gradient -split-input-file --tgpt-pass-statistics -o %t.out 2>&1 | FileCheck %s --check-prefix=STATISTICS

// The gradient stands right behind the loss, the seed before it, the sums behind both. The products stay: their
// results need bytes of their own. So does what reads those. lse is no longer kept: 4 x 6 numbers.
// CHECK-LABEL: func.func @the_head_of_a_model
// CHECK: %[[LOGITS:.+]] = tgpt.linear
// CHECK-NEXT: %[[SEED:.+]] = tgpt.fill {value = 1.000000e+00 : f64}
// CHECK-NEXT: %[[LOSS:.+]]:3 = tgpt.cross_entropy %[[LOGITS]], %[[LABELS:.+]] {tgpt.layer = 2 : i64}
// CHECK-NEXT: %[[D:.+]] = tgpt.cross_entropy_grad %[[LOGITS]], %[[LABELS]], %[[LOSS]]#2, %[[SEED]] {tgpt.layer = 2 : i64}
// CHECK-NEXT: tgpt.accumulate %[[LOSS]]#0, @loss_sum
// CHECK-NEXT: tgpt.accumulate %[[LOSS]]#1, @token_count
// CHECK-NEXT: tgpt.begin_backward
// CHECK-NEXT: tgpt.linear_dgrad %[[D]]
// CHECK-NEXT: tgpt.linear_wgrad %[[D]]
// Of the whole file: lse here and with the loss scale; two products here, and what the last three functions keep.
// STATISTICS: tgpt-advance-loss-gradient
// STATISTICS-NEXT: {{^ +}}2 ops-advanced
// STATISTICS-NEXT: {{^ +}}5 ops-declined
// STATISTICS-NEXT: {{^ +}}192 bytes-freed
tgpt.parameter @w : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.state gradient @w.gradient of @w : tensor<10x8xf32> {transient}
tgpt.state metric @loss_sum : tensor<f32> {transient}
tgpt.state metric @token_count : tensor<f32> {transient}
func.func @the_head_of_a_model(%ids: tensor<4x6x8xf32>, %labels: tensor<4x6xi32>) attributes {tgpt.phase = "micro_batch"} {
  %w = tgpt.read @w : tensor<10x8xf32>
  %x = tgpt.gelu %ids {tgpt.layer = 1 : i64} : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %logits = tgpt.linear %x, %w {tgpt.layer = 2 : i64} : (tensor<4x6x8xf32>, tensor<10x8xf32>) -> tensor<4x6x10xf32>
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels {tgpt.layer = 2 : i64} : (tensor<4x6x10xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  tgpt.accumulate %loss, @loss_sum {tgpt.layer = 2 : i64} : tensor<f32>
  tgpt.accumulate %count, @token_count {tgpt.layer = 2 : i64} : tensor<f32>
  tgpt.begin_backward
  %seed = tgpt.fill {value = 1.0 : f64} : () -> tensor<f32>
  %d = tgpt.cross_entropy_grad %logits, %labels, %lse, %seed {tgpt.layer = 2 : i64} : (tensor<4x6x10xf32>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6x10xf32>
  %dx = tgpt.linear_dgrad %d, %w {tgpt.layer = 2 : i64} : (tensor<4x6x10xf32>, tensor<10x8xf32>) -> tensor<4x6x8xf32>
  %dw = tgpt.linear_wgrad %d, %x {tgpt.layer = 2 : i64} : (tensor<4x6x10xf32>, tensor<4x6x8xf32>) -> tensor<10x8xf32>
  tgpt.accumulate %dw, @w.gradient {tgpt.layer = 2 : i64} : tensor<10x8xf32>
  %dids = tgpt.gelu_grad %dx, %ids {tgpt.layer = 1 : i64} : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  tgpt.accumulate %dids, @taken : tensor<4x6x8xf32>
  return
}
tgpt.state metric @taken : tensor<4x6x8xf32> {transient}

// -----

// The loss scale is read before the loss; a reader of the logits that stands behind the loss comes before they are
// overwritten.
// CHECK-LABEL: func.func @the_loss_scale
// CHECK: %[[SCALE:.+]] = tgpt.read @loss_scale
// CHECK-NEXT: tgpt.accumulate %[[LOGITS:.+]], @seen
// CHECK-NEXT: tgpt.cross_entropy_grad %[[LOGITS]], %{{.+}}, %{{.+}}, %[[SCALE]]
// CHECK-NEXT: tgpt.begin_backward
// CHECK-NEXT: tgpt.accumulate
tgpt.state scaling @loss_scale : tensor<f32> {initial = 65536.0 : f64}
tgpt.state metric @seen : tensor<4x6x10xf32> {transient}
tgpt.state metric @taken : tensor<4x6x10xf32> {transient}
func.func @the_loss_scale(%x: tensor<4x6x10xf32>, %labels: tensor<4x6xi32>) attributes {tgpt.phase = "micro_batch"} {
  %logits = tgpt.gelu %x : (tensor<4x6x10xf32>) -> tensor<4x6x10xf32>
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<4x6x10xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  tgpt.accumulate %logits, @seen : tensor<4x6x10xf32>
  tgpt.begin_backward
  %seed = tgpt.read @loss_scale : tensor<f32>
  %d = tgpt.cross_entropy_grad %logits, %labels, %lse, %seed : (tensor<4x6x10xf32>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6x10xf32>
  tgpt.accumulate %d, @taken : tensor<4x6x10xf32>
  return
}

// -----

// What the backward reads a second time is kept anyway: the gradient would be kept beside it.
// CHECK-LABEL: func.func @logits_are_read_again
// CHECK: tgpt.begin_backward
// CHECK-NEXT: tgpt.fill
// CHECK-NEXT: tgpt.cross_entropy_grad
tgpt.state metric @taken : tensor<4x6x10xf32> {transient}
func.func @logits_are_read_again(%x: tensor<4x6x10xf32>, %labels: tensor<4x6xi32>) attributes {tgpt.phase = "micro_batch"} {
  %logits = tgpt.gelu %x : (tensor<4x6x10xf32>) -> tensor<4x6x10xf32>
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<4x6x10xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  tgpt.begin_backward
  %seed = tgpt.fill {value = 1.0 : f64} : () -> tensor<f32>
  %d = tgpt.cross_entropy_grad %logits, %labels, %lse, %seed : (tensor<4x6x10xf32>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6x10xf32>
  %e = tgpt.gelu_grad %d, %logits : (tensor<4x6x10xf32>, tensor<4x6x10xf32>) -> tensor<4x6x10xf32>
  tgpt.accumulate %e, @taken : tensor<4x6x10xf32>
  return
}

// -----

// Logits that the backward computes again are not kept, and their gradient need not be. The clone itself could overwrite
// what it reads, but stays where it was put.
// CHECK-LABEL: func.func @logits_are_computed_again
// CHECK: tgpt.begin_backward
// CHECK-NEXT: tgpt.fill
// CHECK-NEXT: tgpt.add {{.*}}tgpt.recomputed
// CHECK-NEXT: tgpt.cross_entropy_grad
tgpt.state metric @taken : tensor<4x6x10xf32> {transient}
func.func @logits_are_computed_again(%a: tensor<4x6x10xf32>, %labels: tensor<4x6xi32>) attributes {tgpt.phase = "micro_batch"} {
  %x = tgpt.gelu %a : (tensor<4x6x10xf32>) -> tensor<4x6x10xf32>
  %logits = tgpt.add %x, %a : (tensor<4x6x10xf32>, tensor<4x6x10xf32>) -> tensor<4x6x10xf32>
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels : (tensor<4x6x10xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  tgpt.begin_backward
  %seed = tgpt.fill {value = 1.0 : f64} : () -> tensor<f32>
  %again = tgpt.add %x, %a {tgpt.recomputed} : (tensor<4x6x10xf32>, tensor<4x6x10xf32>) -> tensor<4x6x10xf32>
  %d = tgpt.cross_entropy_grad %again, %labels, %lse, %seed : (tensor<4x6x10xf32>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6x10xf32>
  tgpt.accumulate %d, @taken : tensor<4x6x10xf32>
  return
}

// -----

// The backward of layer 0 has the labels' statistics of layer 1, its forward would not. Inputs are not overwritten.
// CHECK-LABEL: func.func @of_a_later_stage_or_not_its_own
// CHECK: tgpt.begin_backward
// CHECK-NEXT: tgpt.fill
// CHECK-NEXT: tgpt.cross_entropy_grad
// CHECK: tgpt.cross_entropy_grad
tgpt.state metric @taken : tensor<4x6x10xf32> {transient}
func.func @of_a_later_stage_or_not_its_own(%x: tensor<4x6x10xf32>, %labels: tensor<4x6xi32>) attributes {tgpt.phase = "micro_batch"} {
  %logits = tgpt.gelu %x {tgpt.layer = 0 : i64} : (tensor<4x6x10xf32>) -> tensor<4x6x10xf32>
  %loss, %count, %lse = tgpt.cross_entropy %logits, %labels {tgpt.layer = 1 : i64} : (tensor<4x6x10xf32>, tensor<4x6xi32>) -> (tensor<f32>, tensor<f32>, tensor<4x6xf32>)
  tgpt.begin_backward
  %seed = tgpt.fill {value = 1.0 : f64} : () -> tensor<f32>
  %d = tgpt.cross_entropy_grad %logits, %labels, %lse, %seed {tgpt.layer = 0 : i64} : (tensor<4x6x10xf32>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6x10xf32>
  tgpt.accumulate %d, @taken : tensor<4x6x10xf32>
  %e = tgpt.cross_entropy_grad %x, %labels, %lse, %seed {tgpt.layer = 1 : i64} : (tensor<4x6x10xf32>, tensor<4x6xi32>, tensor<4x6xf32>, tensor<f32>) -> tensor<4x6x10xf32>
  tgpt.accumulate %e, @taken : tensor<4x6x10xf32>
  return
}
