// RUN: tgpt-opt %s -split-input-file -verify-diagnostics

!s = tensor<f32>
func.func @adjust_loss_scale_c1_type(%squares: !s, %scale: tensor<f64>, %good: !s, %skipped: !s, %step: !s) {
  // expected-error @below {{C1: loss_scale is 'f64' but norm_squared is 'f32'}}
  %0:4 = tgpt.adjust_loss_scale %squares, %scale, %good, %skipped, %step {backoff = 0.5 : f64, growth = 2.0 : f64, growth_interval = 2000 : i64} : (!s, tensor<f64>, !s, !s, !s) -> (!s, !s, !s, !s)
  return
}

// -----

!s = tensor<f32>
func.func @adjust_loss_scale_c2_backoff(%squares: !s, %scale: !s, %good: !s, %skipped: !s, %step: !s) {
  // expected-error @below {{C2: backoff is 2, expected above 0 and at most 1}}
  %0:4 = tgpt.adjust_loss_scale %squares, %scale, %good, %skipped, %step {backoff = 2.0 : f64, growth = 2.0 : f64, growth_interval = 2000 : i64} : (!s, !s, !s, !s, !s) -> (!s, !s, !s, !s)
  return
}

// -----

!s = tensor<f32>
func.func @adjust_loss_scale_c3_growth(%squares: !s, %scale: !s, %good: !s, %skipped: !s, %step: !s) {
  // expected-error @below {{C3: growth is 0.5, expected a finite number of at least 1}}
  %0:4 = tgpt.adjust_loss_scale %squares, %scale, %good, %skipped, %step {backoff = 0.5 : f64, growth = 0.5 : f64, growth_interval = 2000 : i64} : (!s, !s, !s, !s, !s) -> (!s, !s, !s, !s)
  return
}

// -----

!s = tensor<f32>
func.func @adjust_loss_scale_c4_interval(%squares: !s, %scale: !s, %good: !s, %skipped: !s, %step: !s) {
  // expected-error @below {{C4: growth_interval is 0, expected at least 1}}
  %0:4 = tgpt.adjust_loss_scale %squares, %scale, %good, %skipped, %step {backoff = 0.5 : f64, growth = 2.0 : f64, growth_interval = 0 : i64} : (!s, !s, !s, !s, !s) -> (!s, !s, !s, !s)
  return
}

// -----

// Whether a step is skipped is known only from the norm over all ranks.
dist.mesh @mesh (dp = 2, tp = 3)
!s = tensor<f32, #dist.layout<[]>>
!p = tensor<f32, #dist.layout<[], partial = [tp]>>
func.func @adjust_loss_scale_partial_operand(%squares: !p, %scale: !s, %good: !s, %skipped: !s, %step: !s) {
  // expected-error @below {{operand 0 is partial over "tp" but the op is not linear in it}}
  %0:4 = tgpt.adjust_loss_scale %squares, %scale, %good, %skipped, %step {backoff = 0.5 : f64, growth = 2.0 : f64, growth_interval = 2000 : i64} : (!p, !s, !s, !s, !s) -> (!s, !s, !s, !s)
  return
}
