// RUN: tgpt-opt %s --dist-split-stages -split-input-file | FileCheck %s

// A table used by the first and the last of three stages. The micro-batch sums its two
// gradients before it adds them up; each stage adds its own part to its own copy instead, so
// no table-sized gradient is sent. In the update the copies are summed between stages 0
// and 2 before the sum over dp, the norm counts the table on stage 0 alone, and both stages
// make the same step.
// CHECK-LABEL: func.func @micro_batch_of_a_tied_table
// CHECK-SAME: (%[[TOKENS:[^:]+]]: {{.+}}, %[[LABELS:[^:]+]]: tensor
// CHECK:      dist.segment forward stage 0 {
// CHECK-NEXT:   tgpt.read @table
// CHECK:      dist.segment forward stage 1 {
// CHECK-NOT:    tgpt.read @table
// CHECK:      dist.segment forward stage 2 {
// CHECK-NEXT:   tgpt.read @table
// CHECK:      %[[B2:.+]] = dist.segment backward stage 2 {
// CHECK:        %[[DHEAD:.+]] = tgpt.linear_wgrad
// CHECK-NEXT:   tgpt.accumulate %[[DHEAD]], @table.gradient
// CHECK:      dist.send_recv %[[B2]] from 2 to 1 : tensor<2x3x5xf32
// CHECK-NEXT: %[[B1:.+]] = dist.segment backward stage 1 {
// CHECK:      %[[BACK:.+]] = dist.send_recv %[[B1]] from 1 to 0
// CHECK-NEXT: dist.segment backward stage 0 {
// CHECK-NEXT:   %[[DEMBED:.+]] = tgpt.embedding_grad %[[TOKENS]], %[[BACK]]
// CHECK-NEXT:   tgpt.accumulate %[[DEMBED]], @table.gradient
// CHECK-NEXT: }
// CHECK-NOT: dist.send_recv

// CHECK-LABEL: func.func @begin_of_a_tied_table
// CHECK:      dist.segment begin stage 0 {
// CHECK:        tgpt.write {{.*}}@table.gradient
// CHECK:      dist.segment begin stage 1 {
// CHECK-NEXT: }
// CHECK:      dist.segment begin stage 2 {
// CHECK:        tgpt.write {{.*}}@table.gradient

// CHECK-LABEL: func.func @update_of_a_tied_table
// CHECK:      dist.segment update stage 0 {
// CHECK-NEXT:   %[[PART0:.+]] = tgpt.read @table.gradient
// CHECK-NEXT:   %[[PART0_ADDEND1:.+]] = dist.stage_addend %[[PART0]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   %[[ALL0:.+]] = dist.all_reduce sum %[[PART0_ADDEND1]] over ["pp"] stages [0, 2] {{.*}}partial = [dp, pp]{{.*}} to {{.*}}partial = [dp]
// CHECK-NEXT:   %[[TOTAL0:.+]] = dist.all_reduce sum %[[ALL0]] over ["dp"]
// CHECK-NEXT:   %[[S0:.+]] = tgpt.sum_squares %[[TOTAL0]]
// CHECK-NEXT:   %[[S0_ADDEND2:.+]] = dist.stage_addend %[[S0]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   %[[NORM0:.+]] = dist.all_reduce sum %[[S0_ADDEND2]] over ["pp"]
// CHECK:        tgpt.write {{.*}}@table
// CHECK:      dist.segment update stage 1 {
// CHECK-NEXT:   %[[G:.+]] = tgpt.read @scale.gradient
// CHECK-NEXT:   %[[TOTAL:.+]] = dist.all_reduce sum %[[G]] over ["dp"]
// CHECK-NEXT:   %[[S:.+]] = tgpt.sum_squares %[[TOTAL]]
// CHECK-NEXT:   %[[S_ADDEND3:.+]] = dist.stage_addend %[[S]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   %[[NORM:.+]] = dist.all_reduce sum %[[S_ADDEND3]] over ["pp"]
// CHECK:        tgpt.write {{.*}}@scale
// CHECK:      dist.segment update stage 2 {
// CHECK-NEXT:   %[[PART2:.+]] = tgpt.read @table.gradient
// CHECK-NEXT:   %[[PART2_ADDEND4:.+]] = dist.stage_addend %[[PART2]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   %[[ALL2:.+]] = dist.all_reduce sum %[[PART2_ADDEND4]] over ["pp"] stages [0, 2]
// CHECK-NEXT:   %[[TOTAL2:.+]] = dist.all_reduce sum %[[ALL2]] over ["dp"]
// CHECK-NEXT:   %[[ZERO:.+]] = tgpt.fill {{.*}}value = 0.0
// CHECK-NEXT:   %[[ZERO_ADDEND5:.+]] = dist.stage_addend %[[ZERO]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   %[[NORM2:.+]] = dist.all_reduce sum %[[ZERO_ADDEND5]] over ["pp"]
// CHECK:        tgpt.write {{.*}}@table
!scalar = tensor<f32, #dist.layout<[], of = []>>
!table = tensor<7x5xf32, #dist.layout<[-, -], of = [7, 5]>>
!table_addend = tensor<7x5xf32, #dist.layout<[-, -], partial = [dp], of = [7, 5]>>
!scale = tensor<5xf32, #dist.layout<[-], of = [5]>>
!scale_addend = tensor<5xf32, #dist.layout<[-], partial = [dp], of = [5]>>
!ids = tensor<2x3xi32, #dist.layout<[dp, -], of = [4, 3]>>
!rows = tensor<2x3xf32, #dist.layout<[dp, -], of = [4, 3]>>
!hidden = tensor<2x3x5xf32, #dist.layout<[dp, -, -], of = [4, 3, 5]>>
!logits = tensor<2x3x7xf32, #dist.layout<[dp, -, -], of = [4, 3, 7]>>
module attributes {dist.stages = array<i64: 1, 2, 1>} {
  dist.mesh @mesh (dp = 2, pp = 3, tp = 1)
  tgpt.parameter @table : !table = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @scale : !scale = #tgpt.init<mean = 1.0, stddev = 0.0> {no_decay}
  tgpt.state gradient @table.gradient of @table : !table_addend {transient}
  tgpt.state gradient @scale.gradient of @scale : !scale_addend {transient}
  tgpt.state moment1 @table.moment1 of @table : !table
  tgpt.state moment2 @table.moment2 of @table : !table
  tgpt.state moment1 @scale.moment1 of @scale : !scale
  tgpt.state moment2 @scale.moment2 of @scale : !scale
  tgpt.state metric @token_count : tensor<f32, #dist.layout<[], partial = [dp], of = []>> {transient}
  func.func @micro_batch_of_a_tied_table(%tokens: !ids, %labels: !ids) attributes {tgpt.phase = "micro_batch"} {
    %table = tgpt.read @table {tgpt.layer = -1 : i64} : !table
    %x = tgpt.embedding %tokens, %table {tgpt.layer = -1 : i64} : (!ids, !table) -> !hidden
    %a = tgpt.gelu %x {tgpt.layer = 0 : i64} : (!hidden) -> !hidden
    %scale = tgpt.read @scale {tgpt.layer = 1 : i64} : !scale
    %h, %rstd = tgpt.rms_norm %a, %scale {epsilon = 1.0e-5 : f64, tgpt.layer = 1 : i64} : (!hidden, !scale) -> (!hidden, !rows)
    %logits = tgpt.linear %h, %table {tgpt.layer = 4 : i64} : (!hidden, !table) -> !logits
    %loss, %count, %lse = tgpt.cross_entropy %logits, %labels {tgpt.layer = 4 : i64} : (!logits, !ids) -> (tensor<f32, #dist.layout<[], partial = [dp], of = []>>, tensor<f32, #dist.layout<[], partial = [dp], of = []>>, !rows)
    tgpt.accumulate %count, @token_count {tgpt.layer = 4 : i64} : tensor<f32, #dist.layout<[], partial = [dp], of = []>>
    tgpt.begin_backward
    %one = tgpt.fill {value = 1.0 : f64, tgpt.layer = 4 : i64} : () -> !scalar
    %dlogits = tgpt.cross_entropy_grad %logits, %labels, %lse, %one {tgpt.layer = 4 : i64} : (!logits, !ids, !rows, !scalar) -> !logits
    %dhead = tgpt.linear_wgrad %dlogits, %h {tgpt.layer = 4 : i64} : (!logits, !hidden) -> !table_addend
    %dh = tgpt.linear_dgrad %dlogits, %table {tgpt.layer = 4 : i64} : (!logits, !table) -> !hidden
    %da, %dscale = tgpt.rms_norm_grad %dh, %a, %scale, %rstd {tgpt.layer = 1 : i64} : (!hidden, !hidden, !scale, !rows) -> (!hidden, !scale_addend)
    tgpt.accumulate %dscale, @scale.gradient {tgpt.layer = 1 : i64} : !scale_addend
    %dembed = tgpt.embedding_grad %tokens, %da {tgpt.layer = -1 : i64} : (!ids, !hidden) -> !table_addend
    %dtable = tgpt.add %dhead, %dembed {tgpt.layer = -1 : i64} : (!table_addend, !table_addend) -> !table_addend
    tgpt.accumulate %dtable, @table.gradient {tgpt.layer = -1 : i64} : !table_addend
    return
  }
  func.func @begin_of_a_tied_table() attributes {tgpt.phase = "begin"} {
    %z = tgpt.fill {value = 0.0 : f64} : () -> !table_addend
    tgpt.write %z, @table.gradient : !table_addend
    return
  }
  func.func @update_of_a_tied_table(%lr: !scalar, %step: !scalar) attributes {tgpt.phase = "update"} {
    %part = tgpt.read @table.gradient : !table_addend
    %g = dist.all_reduce sum %part over ["dp"] : !table_addend to !table
    %s0 = tgpt.sum_squares %g : (!table) -> !scalar
    %part_1 = tgpt.read @scale.gradient : !scale_addend
    %g_1 = dist.all_reduce sum %part_1 over ["dp"] : !scale_addend to !scale
    %s1 = tgpt.sum_squares %g_1 : (!scale) -> !scalar
    %squared = tgpt.add_n %s0, %s1 : (!scalar, !scalar) -> !scalar
    %counted = tgpt.read @token_count : tensor<f32, #dist.layout<[], partial = [dp], of = []>>
    %count = dist.all_reduce sum %counted over ["dp"] : tensor<f32, #dist.layout<[], partial = [dp], of = []>> to !scalar
    %norm, %clip = tgpt.clip_scale %squared, %count {max_norm = 1.0 : f64} : (!scalar, !scalar) -> (!scalar, !scalar)
    %p = tgpt.read @table : !table
    %m = tgpt.read @table.moment1 : !table
    %v = tgpt.read @table.moment2 : !table
    %p_1, %m_1, %v_1 = tgpt.adamw %p, %g, %m, %v, %clip, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (!table, !table, !table, !table, !scalar, !scalar, !scalar) -> (!table, !table, !table)
    tgpt.write %p_1, @table : !table
    %q = tgpt.read @scale : !scale
    %n = tgpt.read @scale.moment1 : !scale
    %w = tgpt.read @scale.moment2 : !scale
    %q_1, %n_1, %w_1 = tgpt.adamw %q, %g_1, %n, %w, %clip, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : (!scale, !scale, !scale, !scale, !scalar, !scalar, !scalar) -> (!scale, !scale, !scale)
    tgpt.write %q_1, @scale : !scale
    return
  }
}

// -----

// A weight used on both of two stages, and in between: all stages are its home, so the
// all_reduce names none. Three addends, two on stage 1: each is added on its own stage.
// CHECK-LABEL: func.func @micro_batch_of_a_shared_weight
// CHECK:      dist.segment backward stage 1 {
// CHECK:        %[[D2:.+]] = tgpt.linear_wgrad
// CHECK-NEXT:   tgpt.accumulate %[[D2]], @w.gradient
// CHECK:        %[[D1:.+]] = tgpt.linear_wgrad
// CHECK-NEXT:   tgpt.accumulate %[[D1]], @w.gradient
// CHECK-NOT:    tgpt.accumulate
// CHECK:      dist.send_recv
// CHECK-NOT:  dist.send_recv
// CHECK:      dist.segment backward stage 0 {
// CHECK:        %[[D0:.+]] = tgpt.linear_wgrad
// CHECK-NEXT:   tgpt.accumulate %[[D0]], @w.gradient
// CHECK-LABEL: func.func @update_of_a_shared_weight
// CHECK:      dist.segment update stage 0 {
// CHECK-NEXT:   %[[READ:.+]] = tgpt.read @w.gradient
// CHECK-NEXT:   %[[READ_ADDEND6:.+]] = dist.stage_addend %[[READ]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   %[[G:.+]] = dist.all_reduce sum %[[READ_ADDEND6]] over ["pp"] :
// CHECK-NEXT:   tgpt.write %[[G]], @w :
// CHECK:      dist.segment update stage 1 {
// CHECK-NEXT:   %[[READ1:.+]] = tgpt.read @w.gradient
// CHECK-NEXT:   %[[READ1_ADDEND7:.+]] = dist.stage_addend %[[READ1]] : {{.*}}partial = [{{.*}}pp]
// CHECK-NEXT:   %[[G1:.+]] = dist.all_reduce sum %[[READ1_ADDEND7]] over ["pp"] :
// CHECK-NEXT:   tgpt.write %[[G1]], @w :
!w = tensor<6x6xf32, #dist.layout<[-, -], of = [6, 6]>>
!x = tensor<4x6xf32, #dist.layout<[-, -], of = [4, 6]>>
module attributes {dist.stages = array<i64: 1, 2>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  tgpt.parameter @w : !w = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @w.gradient of @w : !w {transient}
  func.func @micro_batch_of_a_shared_weight(%x: !x) attributes {tgpt.phase = "micro_batch"} {
    %w = tgpt.read @w : !w
    %a = tgpt.linear %x, %w {tgpt.layer = 0 : i64} : (!x, !w) -> !x
    %b = tgpt.linear %a, %w {tgpt.layer = 1 : i64} : (!x, !w) -> !x
    %c = tgpt.linear %b, %w {tgpt.layer = 3 : i64} : (!x, !w) -> !x
    tgpt.begin_backward
    %d2 = tgpt.linear_wgrad %c, %b {tgpt.layer = 3 : i64} : (!x, !x) -> !w
    %e2 = tgpt.linear_dgrad %c, %w {tgpt.layer = 3 : i64} : (!x, !w) -> !x
    %d1 = tgpt.linear_wgrad %e2, %a {tgpt.layer = 1 : i64} : (!x, !x) -> !w
    %s1 = tgpt.add %d2, %d1 {tgpt.layer = 1 : i64} : (!w, !w) -> !w
    %e1 = tgpt.linear_dgrad %e2, %w {tgpt.layer = 1 : i64} : (!x, !w) -> !x
    %d0 = tgpt.linear_wgrad %e1, %x {tgpt.layer = 0 : i64} : (!x, !x) -> !w
    %s0 = tgpt.add %s1, %d0 {tgpt.layer = 0 : i64} : (!w, !w) -> !w
    tgpt.accumulate %s0, @w.gradient {tgpt.layer = 0 : i64} : !w
    return
  }
  func.func @update_of_a_shared_weight() attributes {tgpt.phase = "update"} {
    %g = tgpt.read @w.gradient : !w
    tgpt.write %g, @w : !w
    return
  }
}
