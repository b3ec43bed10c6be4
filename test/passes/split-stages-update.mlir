// RUN: tgpt-opt %s --dist-split-stages -split-input-file | FileCheck %s

// The update over 2 stages. Each stage sums the squares of its own gradients, and one
// all_reduce gives all of them the norm; with the counts of the last stage likewise. Stage 0
// returns the results; each stage updates its own parameters. Both stages issue their
// all_reduces over pp in the same order: norm, count, then (loss_sum is read last) the loss.
// CHECK-LABEL: func.func @update_of_two_stages
// CHECK-SAME: (%[[LR:[^:]+]]: {{.+}}, %[[STEP:[^:]+]]: tensor
// CHECK-NEXT: %[[RESULTS:.+]]:3 = dist.segment update stage 0 {
// CHECK-NEXT:   %[[G0:.+]] = tgpt.read @w0.gradient
// CHECK-NEXT:   %[[S0:.+]] = tgpt.sum_squares %[[G0]]
// CHECK-NEXT:   %[[S0_ADDEND1:.+]] = dist.stage_addend %[[S0]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   %[[NORM:.+]] = dist.all_reduce sum %[[S0_ADDEND1]] over ["pp"] :
// CHECK-NEXT:   %[[NONE:.+]] = tgpt.fill {{.*}}value = 0.000000e+00
// CHECK-NEXT:   %[[NONE_ADDEND2:.+]] = dist.stage_addend %[[NONE]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   %[[COUNT:.+]] = dist.all_reduce sum %[[NONE_ADDEND2]] over ["pp"]
// CHECK-NEXT:   %[[CLIP:.+]]:2 = tgpt.clip_scale %[[NORM]], %[[COUNT]]
// CHECK-NEXT:   tgpt.read @w0 :
// CHECK-NEXT:   tgpt.read @w0.moment1
// CHECK-NEXT:   tgpt.read @w0.moment2
// CHECK-NEXT:   %[[P0:.+]]:3 = tgpt.adamw {{.*}}%[[G0]], {{.*}}%[[CLIP]]#1, %[[LR]], %[[STEP]]
// CHECK-NEXT:   tgpt.write %[[P0]]#0, @w0 :
// CHECK-NEXT:   tgpt.write {{.*}}, @w0.moment1
// CHECK-NEXT:   tgpt.write {{.*}}, @w0.moment2
// CHECK-NEXT:   %[[NOLOSS:.+]] = tgpt.fill
// CHECK-NEXT:   %[[NOLOSS_ADDEND3:.+]] = dist.stage_addend %[[NOLOSS]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   %[[LOSSSUM:.+]] = dist.all_reduce sum %[[NOLOSS_ADDEND3]] over ["pp"]
// CHECK-NEXT:   %[[LOSS:.+]] = tgpt.divide %[[LOSSSUM]], %[[COUNT]]
// CHECK-NEXT:   dist.yield %[[LOSS]], %[[CLIP]]#0, %[[COUNT]]
// CHECK:      dist.segment update stage 1 {
// CHECK-NEXT:   %[[G1:.+]] = tgpt.read @w1.gradient
// CHECK-NEXT:   %[[S1:.+]] = tgpt.sum_squares %[[G1]]
// CHECK-NEXT:   %[[GB:.+]] = tgpt.read @bias.gradient
// CHECK-NEXT:   %[[SB:.+]] = tgpt.sum_squares %[[GB]]
// CHECK-NEXT:   %[[OWN:.+]] = tgpt.add_n %[[S1]], %[[SB]]
// CHECK-NEXT:   %[[OWN_ADDEND4:.+]] = dist.stage_addend %[[OWN]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   %[[NORM1:.+]] = dist.all_reduce sum %[[OWN_ADDEND4]] over ["pp"]
// CHECK-NEXT:   %[[COUNTED:.+]] = tgpt.read @token_count
// CHECK-NEXT:   %[[COUNTED_ADDEND5:.+]] = dist.stage_addend %[[COUNTED]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   %[[COUNT1:.+]] = dist.all_reduce sum %[[COUNTED_ADDEND5]] over ["pp"]
// CHECK-NEXT:   %[[CLIP1:.+]]:2 = tgpt.clip_scale %[[NORM1]], %[[COUNT1]]
// CHECK-NEXT:   tgpt.read @w1 :
// CHECK:        tgpt.adamw {{.*}}%[[G1]], {{.*}}%[[CLIP1]]#1, %[[LR]], %[[STEP]]
// CHECK:        %[[LOST:.+]] = tgpt.read @loss_sum
// CHECK-NEXT:   %[[LOST_ADDEND6:.+]] = dist.stage_addend %[[LOST]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   dist.all_reduce sum %[[LOST_ADDEND6]] over ["pp"]
// CHECK-NEXT: }
// CHECK-NEXT: return %[[RESULTS]]#0, %[[RESULTS]]#1, %[[RESULTS]]#2
!scalar = tensor<f32, #dist.layout<[], of = []>>
!w0 = tensor<5x6xf32, #dist.layout<[-, -], of = [5, 6]>>
!w1 = tensor<7x5xf32, #dist.layout<[-, -], of = [7, 5]>>
!x = tensor<2x3x6xf32, #dist.layout<[-, -, -], of = [2, 3, 6]>>
!h = tensor<2x3x5xf32, #dist.layout<[-, -, -], of = [2, 3, 5]>>
!y = tensor<2x3x7xf32, #dist.layout<[-, -, -], of = [2, 3, 7]>>
!lse = tensor<2x3xf32, #dist.layout<[-, -], of = [2, 3]>>
!labels = tensor<2x3xi32, #dist.layout<[-, -], of = [2, 3]>>
!bias = tensor<7xf32, #dist.layout<[-], of = [7]>>
module attributes {dist.stages = array<i64: 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  tgpt.parameter @w0 : !w0 = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @w1 : !w1 = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @bias : !bias = #tgpt.init<mean = 0.0, stddev = 0.0> {no_decay}
  tgpt.state gradient @w0.gradient of @w0 : !w0 {transient}
  tgpt.state gradient @w1.gradient of @w1 : !w1 {transient}
  tgpt.state gradient @bias.gradient of @bias : !bias {transient}
  tgpt.state moment1 @w0.moment1 of @w0 : !w0
  tgpt.state moment2 @w0.moment2 of @w0 : !w0
  tgpt.state moment1 @w1.moment1 of @w1 : !w1
  tgpt.state moment2 @w1.moment2 of @w1 : !w1
  tgpt.state metric @loss_sum : !scalar {transient}
  tgpt.state metric @token_count : !scalar {transient}
  func.func @micro_batch(%x: !x, %labels: !labels) attributes {tgpt.phase = "micro_batch"} {
    %w0 = tgpt.read @w0 : !w0
    %h = tgpt.linear %x, %w0 {tgpt.layer = 0 : i64} : (!x, !w0) -> !h
    %w1 = tgpt.read @w1 : !w1
    %bias = tgpt.read @bias : !bias
    %y = tgpt.linear %h, %w1, %bias {tgpt.layer = 1 : i64} : (!h, !w1, !bias) -> !y
    %loss, %count, %lse = tgpt.cross_entropy %y, %labels {tgpt.layer = 2 : i64} : (!y, !labels) -> (!scalar, !scalar, !lse)
    tgpt.accumulate %loss, @loss_sum {tgpt.layer = 2 : i64} : !scalar
    tgpt.accumulate %count, @token_count {tgpt.layer = 2 : i64} : !scalar
    tgpt.begin_backward
    return
  }
  func.func @update_of_two_stages(%lr: !scalar, %step: !scalar) -> (!scalar, !scalar, !scalar) attributes {tgpt.phase = "update"} {
    %g0 = tgpt.read @w0.gradient : !w0
    %s0 = tgpt.sum_squares %g0 : (!w0) -> !scalar
    %g1 = tgpt.read @w1.gradient : !w1
    %s1 = tgpt.sum_squares %g1 : (!w1) -> !scalar
    %gb = tgpt.read @bias.gradient : !bias
    %sb = tgpt.sum_squares %gb : (!bias) -> !scalar
    %squared = tgpt.add_n %s0, %s1, %sb : (!scalar, !scalar, !scalar) -> !scalar
    %count = tgpt.read @token_count : !scalar
    %norm, %scale = tgpt.clip_scale %squared, %count {max_norm = 1.0 : f64} : (!scalar, !scalar) -> (!scalar, !scalar)
    %p0 = tgpt.read @w0 : !w0
    %m0 = tgpt.read @w0.moment1 : !w0
    %v0 = tgpt.read @w0.moment2 : !w0
    %p0_1, %m0_1, %v0_1 = tgpt.adamw %p0, %g0, %m0, %v0, %scale, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (!w0, !w0, !w0, !w0, !scalar, !scalar, !scalar) -> (!w0, !w0, !w0)
    tgpt.write %p0_1, @w0 : !w0
    tgpt.write %m0_1, @w0.moment1 : !w0
    tgpt.write %v0_1, @w0.moment2 : !w0
    %p1 = tgpt.read @w1 : !w1
    %m1 = tgpt.read @w1.moment1 : !w1
    %v1 = tgpt.read @w1.moment2 : !w1
    %p1_1, %m1_1, %v1_1 = tgpt.adamw %p1, %g1, %m1, %v1, %scale, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (!w1, !w1, !w1, !w1, !scalar, !scalar, !scalar) -> (!w1, !w1, !w1)
    tgpt.write %p1_1, @w1 : !w1
    tgpt.write %m1_1, @w1.moment1 : !w1
    tgpt.write %v1_1, @w1.moment2 : !w1
    %loss_sum = tgpt.read @loss_sum : !scalar
    %loss = tgpt.divide %loss_sum, %count : (!scalar, !scalar) -> !scalar
    return %loss, %norm, %count : !scalar, !scalar, !scalar
  }
}

// -----

// With one stage there is nobody to ask: no all_reduce over pp, and the sum stays whole.
// CHECK-LABEL: func.func @update_of_one_stage
// CHECK-NOT: all_reduce
// CHECK:      %[[R:.+]] = dist.segment update stage 0 {
// CHECK-NEXT:   %[[A:.+]] = tgpt.read @a
// CHECK-NEXT:   %[[B:.+]] = tgpt.read @b
// CHECK-NEXT:   %[[SUM:.+]] = tgpt.add_n %[[A]], %[[B]]
// CHECK-NEXT:   dist.yield %[[SUM]]
// CHECK-NOT: all_reduce
// CHECK:      return %[[R]]
module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
  tgpt.state metric @a : tensor<f32> {transient}
  tgpt.state metric @b : tensor<f32> {transient}
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    tgpt.begin_backward
    return
  }
  func.func @update_of_one_stage() -> tensor<f32> attributes {tgpt.phase = "update"} {
    %a = tgpt.read @a : tensor<f32>
    %b = tgpt.read @b : tensor<f32>
    %sum = tgpt.add_n %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %sum : tensor<f32>
  }
}

// -----

// A metric that two of three stages add to: its true value is the sum of their parts.
// The unused op is on no stage.
// CHECK-LABEL: func.func @metric_of_two_stages
// CHECK:      dist.segment update stage 0 {
// CHECK-NEXT:   %[[PART0:.+]] = tgpt.read @seen
// CHECK-NEXT:   %[[PART0_ADDEND7:.+]] = dist.stage_addend %[[PART0]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   %[[SEEN:.+]] = dist.all_reduce sum %[[PART0_ADDEND7]] over ["pp"]
// CHECK-NEXT:   dist.yield %[[SEEN]]
// CHECK:      dist.segment update stage 1 {
// CHECK-NEXT:   %[[NONE:.+]] = tgpt.fill
// CHECK-NEXT:   %[[NONE_ADDEND8:.+]] = dist.stage_addend %[[NONE]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   dist.all_reduce sum %[[NONE_ADDEND8]] over ["pp"]
// CHECK-NEXT: }
// CHECK-NEXT: dist.segment update stage 2 {
// CHECK-NEXT:   %[[PART2:.+]] = tgpt.read @seen
// CHECK-NEXT:   %[[PART2_ADDEND9:.+]] = dist.stage_addend %[[PART2]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   dist.all_reduce sum %[[PART2_ADDEND9]] over ["pp"]
// CHECK-NEXT: }
!scalar = tensor<f32, #dist.layout<[], of = []>>
!x = tensor<4x6xf32, #dist.layout<[-, -], of = [4, 6]>>
module attributes {dist.stages = array<i64: 1, 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 3, tp = 1)
  tgpt.state metric @seen : !scalar {transient}
  func.func @micro_batch(%x: !x) attributes {tgpt.phase = "micro_batch"} {
    %a = tgpt.sum_squares %x {tgpt.layer = 0 : i64} : (!x) -> !scalar
    tgpt.accumulate %a, @seen {tgpt.layer = 0 : i64} : !scalar
    %b = tgpt.sum_squares %x {tgpt.layer = 3 : i64} : (!x) -> !scalar
    tgpt.accumulate %b, @seen {tgpt.layer = 3 : i64} : !scalar
    tgpt.begin_backward
    return
  }
  func.func @metric_of_two_stages() -> !scalar attributes {tgpt.phase = "update"} {
    %seen = tgpt.read @seen : !scalar
    %unused = tgpt.add_n %seen, %seen : (!scalar, !scalar) -> !scalar
    return %seen : !scalar
  }
}
