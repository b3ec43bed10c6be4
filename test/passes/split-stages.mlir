// RUN: tgpt-opt %s --dist-split-stages -split-input-file | FileCheck %s

// Two layers on two stages. The weights are read again in the backward, not saved; the
// activation crosses once, is used by forward and backward of stage 1, and its gradient
// comes back. Nothing that only the optimizer pass needs remains.
// CHECK-LABEL: func.func @micro_batch_of_two_stages
// CHECK-SAME: (%[[X:.+]]: tensor<4x6xf32>)
// CHECK-NEXT: %[[F0:.+]] = dist.segment forward stage 0 {
// CHECK-NEXT:   %[[W0:.+]] = tgpt.read @w0
// CHECK-NEXT:   %[[H:.+]] = tgpt.linear %[[X]], %[[W0]]
// CHECK-NEXT:   dist.yield %[[H]]
// CHECK:      %[[RECEIVED:.+]] = dist.send_recv %[[F0]] from 0 to 1 : tensor<4x5xf32>
// CHECK-NEXT: %[[F1:.+]] = dist.segment forward stage 1 {
// CHECK-NEXT:   %[[W1:.+]] = tgpt.read @w1
// CHECK-NEXT:   %[[G:.+]] = tgpt.gelu %[[RECEIVED]]
// CHECK-NEXT:   %[[Y:.+]] = tgpt.linear %[[G]], %[[W1]]
// CHECK-NEXT:   %[[S:.+]] = tgpt.sum_squares %[[Y]]
// CHECK-NEXT:   tgpt.accumulate %[[S]], @loss_sum
// CHECK-NEXT:   dist.yield %[[G]]
// CHECK:      %[[B1:.+]] = dist.segment backward stage 1 {
// CHECK-NEXT:   %[[W1AGAIN:.+]] = tgpt.read @w1
// CHECK-NEXT:   %[[DY:.+]] = tgpt.fill
// CHECK-NEXT:   %[[DW1:.+]] = tgpt.linear_wgrad %[[DY]], %[[F1]]
// CHECK-NEXT:   tgpt.accumulate %[[DW1]], @w1.gradient
// CHECK-NEXT:   %[[DG:.+]] = tgpt.linear_dgrad %[[DY]], %[[W1AGAIN]]
// CHECK-NEXT:   %[[DH:.+]] = tgpt.gelu_grad %[[DG]], %[[RECEIVED]]
// CHECK-NEXT:   dist.yield %[[DH]]
// CHECK:      %[[RETURNED:.+]] = dist.send_recv %[[B1]] from 1 to 0 : tensor<4x5xf32>
// CHECK-NEXT: dist.segment backward stage 0 {
// CHECK-NEXT:   %[[DW0:.+]] = tgpt.linear_wgrad %[[RETURNED]], %[[X]]
// CHECK-NEXT:   tgpt.accumulate %[[DW0]], @w0.gradient
// CHECK-NEXT: }
// CHECK-NEXT: return

// States begin on the stage where they live; the shared zero is made on each.
// CHECK-LABEL: func.func @begin_of_two_stages
// CHECK:      dist.segment begin stage 0 {
// CHECK-NEXT:   %[[Z:.+]] = tgpt.fill
// CHECK-NEXT:   tgpt.write %[[Z]], @w0.gradient
// CHECK-NEXT: }
// CHECK-NEXT: dist.segment begin stage 1 {
// CHECK-NEXT:   %[[Z1:.+]] = tgpt.fill {{.*}} tensor<7x5xf32>
// CHECK-NEXT:   tgpt.write %[[Z1]], @w1.gradient
// CHECK-NEXT:   %[[ZS:.+]] = tgpt.fill {{.*}} tensor<f32>
// CHECK-NEXT:   tgpt.write %[[ZS]], @loss_sum
// CHECK-NEXT: }
// CHECK-NOT: tgpt.layer
// CHECK-NOT: tgpt.begin_backward
module attributes {dist.stages = array<i64: 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  tgpt.parameter @w0 : tensor<5x6xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @w1 : tensor<7x5xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @w0.gradient of @w0 : tensor<5x6xf32> {transient}
  tgpt.state gradient @w1.gradient of @w1 : tensor<7x5xf32> {transient}
  tgpt.state metric @loss_sum : tensor<f32> {transient}
  func.func @micro_batch_of_two_stages(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %w0 = tgpt.read @w0 {tgpt.layer = 0 : i64} : tensor<5x6xf32>
    %h = tgpt.linear %x, %w0 {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<5x6xf32>) -> tensor<4x5xf32>
    %w1 = tgpt.read @w1 {tgpt.layer = 1 : i64} : tensor<7x5xf32>
    %g = tgpt.gelu %h {tgpt.layer = 1 : i64} : (tensor<4x5xf32>) -> tensor<4x5xf32>
    %y = tgpt.linear %g, %w1 {tgpt.layer = 1 : i64} : (tensor<4x5xf32>, tensor<7x5xf32>) -> tensor<4x7xf32>
    %s = tgpt.sum_squares %y {tgpt.layer = 2 : i64} : (tensor<4x7xf32>) -> tensor<f32>
    tgpt.accumulate %s, @loss_sum {tgpt.layer = 2 : i64} : tensor<f32>
    tgpt.begin_backward
    %dy = tgpt.fill {value = 1.0 : f64, tgpt.layer = 2 : i64} : () -> tensor<4x7xf32>
    %dw1 = tgpt.linear_wgrad %dy, %g {tgpt.layer = 1 : i64} : (tensor<4x7xf32>, tensor<4x5xf32>) -> tensor<7x5xf32>
    tgpt.accumulate %dw1, @w1.gradient {tgpt.layer = 1 : i64} : tensor<7x5xf32>
    %dg = tgpt.linear_dgrad %dy, %w1 {tgpt.layer = 1 : i64} : (tensor<4x7xf32>, tensor<7x5xf32>) -> tensor<4x5xf32>
    %dh = tgpt.gelu_grad %dg, %h {tgpt.layer = 1 : i64} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    %dw0 = tgpt.linear_wgrad %dh, %x {tgpt.layer = 0 : i64} : (tensor<4x5xf32>, tensor<4x6xf32>) -> tensor<5x6xf32>
    tgpt.accumulate %dw0, @w0.gradient {tgpt.layer = 0 : i64} : tensor<5x6xf32>
    return
  }
  func.func @begin_of_two_stages() attributes {tgpt.phase = "begin"} {
    %z0 = tgpt.fill {value = 0.0 : f64} : () -> tensor<5x6xf32>
    tgpt.write %z0, @w0.gradient : tensor<5x6xf32>
    %z1 = tgpt.fill {value = 0.0 : f64} : () -> tensor<7x5xf32>
    tgpt.write %z1, @w1.gradient : tensor<7x5xf32>
    %zs = tgpt.fill {value = 0.0 : f64} : () -> tensor<f32>
    tgpt.write %zs, @loss_sum : tensor<f32>
    return
  }
}

// -----

// A value of stage 0 that stages 1 and 2 use goes straight to each; stage 2 needs it in
// its backward only and receives it in its forward. The gradients come back straight too.
// An op without layer stays with what it is computed from (%t, after %a).
// CHECK-LABEL: func.func @value_crosses_two_stages
// CHECK:      %[[F0:.+]]:2 = dist.segment forward stage 0 {
// CHECK-NEXT:   %[[A:.+]] = tgpt.gelu
// CHECK-NEXT:   %[[T:.+]] = tgpt.gelu %[[A]]
// CHECK-NEXT:   dist.yield %[[A]], %[[T]]
// CHECK:      %[[TO1:.+]] = dist.send_recv %[[F0]]#1 from 0 to 1
// CHECK-NEXT: %[[TO2:.+]] = dist.send_recv %[[F0]]#0 from 0 to 2
// CHECK-NEXT: %[[F1:.+]] = dist.segment forward stage 1 {
// CHECK-NEXT:   tgpt.gelu %[[TO1]]
// CHECK:      %[[FROM1:.+]] = dist.send_recv %[[F1]] from 1 to 2
// CHECK-NEXT: dist.segment forward stage 2 {
// CHECK-NEXT:   tgpt.sum_squares %[[FROM1]]
// CHECK:      %[[B2:.+]] = dist.segment backward stage 2 {
// CHECK-NEXT:   %[[D:.+]] = tgpt.gelu_grad %[[TO2]], %[[FROM1]]
// CHECK-NEXT:   dist.yield %[[D]]
// CHECK:      %[[BACK0:.+]] = dist.send_recv %[[B2]] from 2 to 0
// CHECK-NEXT: %[[BACK1:.+]] = dist.send_recv %[[B2]] from 2 to 1
// CHECK-NEXT: %[[B1:.+]] = dist.segment backward stage 1 {
// CHECK-NEXT:   tgpt.gelu_grad %[[BACK1]], %[[TO1]]
// CHECK:      %[[FROMB1:.+]] = dist.send_recv %[[B1]] from 1 to 0
// CHECK-NEXT: dist.segment backward stage 0 {
// CHECK-NEXT:   %[[E:.+]] = tgpt.add %[[BACK0]], %[[FROMB1]]
// CHECK-NEXT:   %[[S:.+]] = tgpt.sum_squares %[[E]]
// CHECK-NEXT:   tgpt.accumulate %[[S]], @seen
module attributes {dist.stages = array<i64: 1, 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 3, tp = 1)
  tgpt.state metric @loss_sum : tensor<f32> {transient}
  tgpt.state metric @seen : tensor<f32> {transient}
  func.func @value_crosses_two_stages(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %a = tgpt.gelu %x {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %t = tgpt.gelu %a : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %b = tgpt.gelu %t {tgpt.layer = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %s = tgpt.sum_squares %b {tgpt.layer = 3 : i64} : (tensor<4x6xf32>) -> tensor<f32>
    tgpt.accumulate %s, @loss_sum {tgpt.layer = 3 : i64} : tensor<f32>
    tgpt.begin_backward
    %d = tgpt.gelu_grad %a, %b {tgpt.layer = 2 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %c = tgpt.gelu_grad %d, %t {tgpt.layer = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %e = tgpt.add %d, %c {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %q = tgpt.sum_squares %e : (tensor<4x6xf32>) -> tensor<f32>
    tgpt.accumulate %q, @seen : tensor<f32>
    return
  }
}

// -----

// A value of a later stage's forward that an earlier stage's backward uses goes by way of
// the later stage's backward.
// CHECK-LABEL: func.func @forward_value_used_by_an_earlier_backward
// CHECK:      %[[F1:.+]] = dist.segment forward stage 1 {
// CHECK:        %[[B:.+]] = tgpt.gelu
// CHECK-NEXT:   dist.yield %[[B]]
// CHECK:      %[[B1:.+]] = dist.segment backward stage 1 {
// CHECK-NEXT:   dist.yield %[[F1]]
// CHECK:      %[[BACK:.+]] = dist.send_recv %[[B1]] from 1 to 0
// CHECK-NEXT: dist.segment backward stage 0 {
// CHECK-NEXT:   tgpt.gelu_grad %[[BACK]], %{{.+}}#0
module attributes {dist.stages = array<i64: 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  tgpt.state metric @seen : tensor<f32> {transient}
  func.func @forward_value_used_by_an_earlier_backward(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %z = tgpt.gelu %x {tgpt.layer = -1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %a = tgpt.gelu %z {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %b = tgpt.gelu %a {tgpt.layer = 2 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    tgpt.begin_backward
    %c = tgpt.gelu_grad %b, %z {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %q = tgpt.sum_squares %c {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<f32>
    tgpt.accumulate %q, @seen {tgpt.layer = 0 : i64} : tensor<f32>
    return
  }
}

// -----

// One stage: the same form, nothing is sent, and no decision is needed.
// CHECK-LABEL: func.func @one_stage
// CHECK-NEXT: %[[F:.+]]:2 = dist.segment forward stage 0 {
// CHECK-NOT: dist.send_recv
// CHECK:      dist.segment backward stage 0 {
// CHECK-NEXT:   tgpt.gelu_grad %[[F]]#1, %[[F]]#0
// CHECK-NOT: dist.send_recv
// CHECK:      return
module {
  dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
  tgpt.state metric @seen : tensor<f32> {transient}
  func.func @one_stage(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %a = tgpt.gelu %x {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %b = tgpt.gelu %a {tgpt.layer = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    tgpt.begin_backward
    %d = tgpt.gelu_grad %b, %a {tgpt.layer = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %q = tgpt.sum_squares %d {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<f32>
    tgpt.accumulate %q, @seen {tgpt.layer = 0 : i64} : tensor<f32>
    return
  }
}
