// RUN: tgpt-opt %s --tgpt-scale-loss='initial=1024 growth=4 backoff=0.25 growth-interval=100' | FileCheck %s
// RUN: tgpt-opt %s --tgpt-scale-loss='fixed=true initial=1024' | FileCheck %s --check-prefix=FIXED
// RUN: tgpt-opt %s --tgpt-scale-loss='initial=1024' --tgpt-pass-statistics 2>&1 | FileCheck %s --check-prefix=COUNT

// The scale and two counters outlive the step; they are no metrics, which start anew.
// CHECK: tgpt.state {{.*}}scaling @loss_scale : tensor<f32> {initial = 1.024000e+03 : f64}
// CHECK: tgpt.state {{.*}}scaling @good_steps : tensor<f32>{{$}}
// CHECK: tgpt.state {{.*}}scaling @skipped_steps : tensor<f32>{{$}}
// FIXED-NOT: @loss_scale
// FIXED-NOT: @good_steps
// FIXED: tgpt.state {{.*}}scaling @skipped_steps : tensor<f32>{{$}}
module {
  tgpt.parameter @w : tensor<3x5xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @v : tensor<3xf16> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @w.gradient of @w : tensor<3x5xf32> {transient}
  tgpt.state moment1 @w.moment1 of @w : tensor<3x5xf32>
  tgpt.state moment2 @w.moment2 of @w : tensor<3x5xf32>
  tgpt.state gradient @v.gradient of @v : tensor<3xf32> {transient}
  tgpt.state moment1 @v.moment1 of @v : tensor<3xf32>
  tgpt.state moment2 @v.moment2 of @v : tensor<3xf32>
  tgpt.state master @v.master of @v : tensor<3xf32>
  tgpt.state metric @loss_sum : tensor<f32> {transient}
  tgpt.state metric @token_count : tensor<f32> {transient}

  // Neither the forward's fill of 1 nor its clone in the backward is the seed.
  // CHECK-LABEL: func.func @micro_batch
  // CHECK: tgpt.fill {tgpt.layer = 1 : i64, value = 1.000000e+00 : f64}
  // CHECK: tgpt.begin_backward
  // CHECK-NEXT: tgpt.fill {tgpt.layer = 1 : i64, tgpt.recomputed, value = 1.000000e+00 : f64}
  // CHECK-NEXT: %[[SEED:.+]] = tgpt.read @loss_scale {tgpt.layer = 1 : i64} : tensor<f32>
  // CHECK-NEXT: tgpt.cross_entropy_grad %{{.+}}, %{{.+}}, %{{.+}}, %[[SEED]]
  // FIXED-LABEL: func.func @micro_batch
  // FIXED: tgpt.recomputed
  // FIXED-NEXT: %[[SEED:.+]] = tgpt.fill {tgpt.layer = 1 : i64, value = 1.024000e+03 : f64}
  // FIXED-NEXT: tgpt.cross_entropy_grad %{{.+}}, %{{.+}}, %{{.+}}, %[[SEED]]
  func.func @micro_batch(%logits: tensor<2x3x5xf32>, %labels: tensor<2x3xi32>) attributes {tgpt.phase = "micro_batch"} {
    %one = tgpt.fill {value = 1.0 : f64, tgpt.layer = 1 : i64} : () -> tensor<f32>
    %loss, %count, %lse = tgpt.cross_entropy %logits, %labels {tgpt.layer = 1 : i64} : (tensor<2x3x5xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<f32>, tensor<2x3xf32>)
    tgpt.accumulate %loss, @loss_sum : tensor<f32>
    tgpt.accumulate %one, @token_count : tensor<f32>
    tgpt.begin_backward
    %again = tgpt.fill {value = 1.0 : f64, tgpt.layer = 1 : i64, tgpt.recomputed} : () -> tensor<f32>
    %seed = tgpt.fill {value = 1.0 : f64, tgpt.layer = 1 : i64} : () -> tensor<f32>
    %dlogits = tgpt.cross_entropy_grad %logits, %labels, %lse, %seed {tgpt.layer = 1 : i64} : (tensor<2x3x5xf32>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3x5xf32>
    return
  }

  // Whether the step counts is decided once, from the norm of all gradients, and every optimizer op is told.
  // CHECK-LABEL: func.func @update(
  // CHECK-SAME: %[[LR:.+]]: tensor<f32> {tgpt.name = "learning_rate"}, %[[STEP:.+]]: tensor<f32> {tgpt.name = "step"})
  // CHECK-SAME: tensor<f32> {tgpt.name = "token_count"}, tensor<f32> {tgpt.name = "loss_scale"}, tensor<f32> {tgpt.name = "skipped_steps"})
  // CHECK: %[[NORM:.+]] = tgpt.add_n
  // CHECK: %[[SCALE:.+]] = tgpt.read @loss_scale : tensor<f32>
  // CHECK: %[[GOOD:.+]] = tgpt.read @good_steps : tensor<f32>
  // CHECK: %[[SKIPPED:.+]] = tgpt.read @skipped_steps : tensor<f32>
  // CHECK: %[[NEXT:.+]]:4 = tgpt.adjust_loss_scale %[[NORM]], %[[SCALE]], %[[GOOD]], %[[SKIPPED]], %[[STEP]] {backoff = 2.500000e-01 : f64, growth = 4.000000e+00 : f64, growth_interval = 100 : i64}
  // CHECK: tgpt.write %[[NEXT]]#0, @loss_scale
  // CHECK: tgpt.write %[[NEXT]]#1, @good_steps
  // CHECK: tgpt.write %[[NEXT]]#2, @skipped_steps
  // CHECK: %[[CLIP:.+]]:2 = tgpt.clip_scale %[[NORM]], %{{.+}}, %[[SCALE]] {max_norm = 1.000000e+00 : f64}
  // CHECK: tgpt.adamw {{.*}}%[[CLIP]]#1, %[[LR]], %[[NEXT]]#3 {
  // CHECK: tgpt.adamw {{.*}}%[[CLIP]]#1, %[[LR]], %[[NEXT]]#3 {
  // CHECK: return %{{.+}}, %[[CLIP]]#0, %{{.+}}, %[[SCALE]], %[[NEXT]]#2
  // FIXED-LABEL: func.func @update(
  // FIXED: %[[SCALE:.+]] = tgpt.fill {value = 1.024000e+03 : f64}
  // FIXED: tgpt.adjust_loss_scale %{{.+}}, %[[SCALE]], {{.*}}{backoff = 1.000000e+00 : f64, growth = 1.000000e+00 : f64, growth_interval = 1 : i64}
  // FIXED-NEXT: tgpt.write %{{.+}}#2, @skipped_steps
  // FIXED-NEXT: tgpt.clip_scale %{{.+}}, %{{.+}}, %[[SCALE]]
  // COUNT: 2 parameters-guarded
  func.func @update(%lr: tensor<f32> {tgpt.name = "learning_rate"}, %step: tensor<f32> {tgpt.name = "step"}) -> (tensor<f32> {tgpt.name = "loss"}, tensor<f32> {tgpt.name = "grad_norm"}, tensor<f32> {tgpt.name = "token_count"}) attributes {tgpt.phase = "update"} {
    %count = tgpt.read @token_count : tensor<f32>
    %gw = tgpt.read @w.gradient : tensor<3x5xf32>
    %sw = tgpt.sum_squares %gw : (tensor<3x5xf32>) -> tensor<f32>
    %gv = tgpt.read @v.gradient : tensor<3xf32>
    %sv = tgpt.sum_squares %gv : (tensor<3xf32>) -> tensor<f32>
    %norm_squared = tgpt.add_n %sw, %sv : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %norm, %scale = tgpt.clip_scale %norm_squared, %count {max_norm = 1.0 : f64} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    %w = tgpt.read @w : tensor<3x5xf32>
    %wm = tgpt.read @w.moment1 : tensor<3x5xf32>
    %wv = tgpt.read @w.moment2 : tensor<3x5xf32>
    %w1, %wm1, %wv1 = tgpt.adamw %w, %gw, %wm, %wv, %scale, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
    tgpt.write %w1, @w : tensor<3x5xf32>
    tgpt.write %wm1, @w.moment1 : tensor<3x5xf32>
    tgpt.write %wv1, @w.moment2 : tensor<3x5xf32>
    %v = tgpt.read @v.master : tensor<3xf32>
    %vm = tgpt.read @v.moment1 : tensor<3xf32>
    %vv = tgpt.read @v.moment2 : tensor<3xf32>
    %v1, %vm1, %vv1 = tgpt.adamw %v, %gv, %vm, %vv, %scale, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
    tgpt.write %v1, @v.master : tensor<3xf32>
    tgpt.write %vm1, @v.moment1 : tensor<3xf32>
    tgpt.write %vv1, @v.moment2 : tensor<3xf32>
    %rounded = tgpt.cast %v1 : (tensor<3xf32>) -> tensor<3xf16>
    tgpt.write %rounded, @v : tensor<3xf16>
    %sum = tgpt.read @loss_sum : tensor<f32>
    %loss = tgpt.divide %sum, %count : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %loss, %norm, %count : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
