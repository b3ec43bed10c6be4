// RUN: tgpt-opt %s --tgpt-canonical-reduction='dp=2 micro-batches=4' -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --tgpt-canonical-reduction='dp=2 micro-batches=2' -split-input-file | FileCheck %s --check-prefix=TWO

// A norm's weight gradient sums over samples and positions, which sequence parallelism
// shards: one sum a sample, then a sum over samples. Four micro-batches need a sum of two
// of them that waits for the others.
// CHECK-LABEL: module @norm attributes {tgpt.reduction = "canonical"}
// CHECK: tgpt.state {{.*}}gradient @w.gradient of @w : tensor<5xf32> {transient}
// CHECK-NEXT: tgpt.state {{.*}}gradient @w.gradient.carry.0 of @w : tensor<5xf32> {transient}
// CHECK: func.func @micro_batch({{.*}}, %[[NUMBER:.+]]: tensor<i32> {tgpt.name = "micro_batch"})
// CHECK: %[[GRAD:.+]]:2 = tgpt.rms_norm_grad {{.*}} -> (tensor<4x6x5xf32>, tensor<4x5xf32>)
// CHECK-NEXT: %[[SUM:.+]] = tgpt.sum_leading %[[GRAD]]#1 : (tensor<4x5xf32>) -> tensor<5xf32>
// CHECK-NEXT: tgpt.accumulate %[[SUM]], @w.gradient carry [@w.gradient.carry.0] at %[[NUMBER]] of 4
// The carry holds nothing between steps, so @begin does not clear it.
// CHECK: func.func @begin
// CHECK-NOT: carry
// Two have one order: nothing waits.
// TWO-LABEL: module @norm
// TWO-NOT: carry
// TWO: tgpt.accumulate %{{.+}}, @w.gradient : tensor<5xf32>
module @norm {
  tgpt.parameter @w : tensor<5xf32> = #tgpt.init<mean = 1.0, stddev = 0.0>
  tgpt.state gradient @w.gradient of @w : tensor<5xf32> {transient}
  func.func @micro_batch(%dy: tensor<4x6x5xf32>, %x: tensor<4x6x5xf32>, %rstd: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %w = tgpt.read @w : tensor<5xf32>
    %dx, %dw = tgpt.rms_norm_grad %dy, %x, %w, %rstd : (tensor<4x6x5xf32>, tensor<4x6x5xf32>, tensor<5xf32>, tensor<4x6xf32>) -> (tensor<4x6x5xf32>, tensor<5xf32>)
    tgpt.accumulate %dw, @w.gradient : tensor<5xf32>
    return
  }
  func.func @begin() attributes {tgpt.phase = "begin"} {
    %0 = tgpt.fill {value = 0.0 : f64} : () -> tensor<5xf32>
    tgpt.write %0, @w.gradient : tensor<5xf32>
    return
  }
  func.func @update() attributes {tgpt.phase = "update"} {
    return
  }
}

// -----

// A bias is added up as a norm's weight is; a position table keeps its positions, and is
// left as it was.
// CHECK-LABEL: module @biases
// CHECK: %[[SAMPLES:.+]] = tgpt.sum_positions %{{.+}} : (tensor<4x6x5xf32>) -> tensor<4x5xf32>
// CHECK: tgpt.sum_leading %[[SAMPLES]] : (tensor<4x5xf32>) -> tensor<5xf32>
// CHECK: tgpt.sum_leading %{{.+}} : (tensor<4x6x5xf32>) -> tensor<6x5xf32>
module @biases {
  tgpt.state metric @bias : tensor<5xf32>
  tgpt.state metric @positions : tensor<6x5xf32>
  func.func @micro_batch(%dy: tensor<4x6x5xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.sum_leading %dy : (tensor<4x6x5xf32>) -> tensor<5xf32>
    tgpt.accumulate %0, @bias : tensor<5xf32>
    %1 = tgpt.sum_leading %dy : (tensor<4x6x5xf32>) -> tensor<6x5xf32>
    tgpt.accumulate %1, @positions : tensor<6x5xf32>
    return
  }
  func.func @begin() attributes {tgpt.phase = "begin"} {
    return
  }
  func.func @update() attributes {tgpt.phase = "update"} {
    return
  }
}

// -----

// Query, key and value read one input: their partial sums would be added before they
// are whole on two ranks and after it on one. One sum has them all. A sum that others
// read as well stays.
// CHECK-LABEL: module @linears
// CHECK-NOT: tgpt.add
// CHECK: %[[JOINED:.+]] = tgpt.linear_dgrad_sum %[[DQ:.+]], %[[DK:.+]], %[[DV:.+]], %[[WQ:.+]], %[[WK:.+]], %[[WV:.+]] {tgpt.layer = 1 : i64} : (tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
// CHECK-NEXT: tgpt.accumulate %[[JOINED]], @dx
// CHECK: %[[A:.+]] = tgpt.linear_dgrad %
// CHECK: %[[B:.+]] = tgpt.linear_dgrad %
// CHECK: tgpt.add %[[A]], %[[B]]
module @linears {
  tgpt.state metric @dx : tensor<4x5xf32>
  tgpt.state metric @other : tensor<4x5xf32>
  tgpt.state metric @read : tensor<4x5xf32>
  func.func @micro_batch(%dq: tensor<4x8xf32>, %dk: tensor<4x4xf32>, %dv: tensor<4x4xf32>, %wq: tensor<8x5xf32>, %wk: tensor<4x5xf32>, %wv: tensor<4x5xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.linear_dgrad %dq, %wq {tgpt.layer = 1 : i64} : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
    %1 = tgpt.linear_dgrad %dk, %wk {tgpt.layer = 1 : i64} : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    %2 = tgpt.add %0, %1 {tgpt.layer = 1 : i64} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    %3 = tgpt.linear_dgrad %dv, %wv {tgpt.layer = 1 : i64} : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    %4 = tgpt.add %2, %3 {tgpt.layer = 1 : i64} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    tgpt.accumulate %4, @dx : tensor<4x5xf32>
    %5 = tgpt.linear_dgrad %dq, %wq : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
    %6 = tgpt.linear_dgrad %dk, %wk : (tensor<4x4xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    %7 = tgpt.add %5, %6 : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    tgpt.accumulate %7, @other : tensor<4x5xf32>
    tgpt.accumulate %5, @read : tensor<4x5xf32>
    return
  }
  func.func @begin() attributes {tgpt.phase = "begin"} {
    return
  }
  func.func @update() attributes {tgpt.phase = "update"} {
    return
  }
}

// -----

// A tied weight: each use has its own accumulator, cleared, and added in the update, where
// the sum is what the optimizer reads.
// CHECK-LABEL: module @tied
// CHECK: tgpt.state {{.*}}gradient @w.gradient of @w
// CHECK: tgpt.state {{.*}}gradient @w.gradient.use.1 of @w
// CHECK: tgpt.accumulate %{{.+}}, @w.gradient carry
// CHECK: tgpt.accumulate %{{.+}}, @w.gradient.use.1 carry
// CHECK: func.func @begin
// CHECK: tgpt.write %{{.+}}, @w.gradient.use.1
// CHECK: func.func @update
// CHECK: %[[FIRST:.+]] = tgpt.read @w.gradient :
// CHECK-NEXT: %[[SECOND:.+]] = tgpt.read @w.gradient.use.1
// CHECK-NEXT: %[[BOTH:.+]] = tgpt.add %[[FIRST]], %[[SECOND]]
// CHECK-NEXT: tgpt.sum_squares %[[BOTH]]
module @tied {
  tgpt.parameter @w : tensor<3x5xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @w.gradient of @w : tensor<3x5xf32> {transient}
  func.func @micro_batch(%a: tensor<4x5xf32>, %b: tensor<4x3xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.linear_wgrad %b, %a : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    tgpt.accumulate %0, @w.gradient : tensor<3x5xf32>
    %1 = tgpt.linear_wgrad %b, %a : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    tgpt.accumulate %1, @w.gradient : tensor<3x5xf32>
    return
  }
  func.func @begin() attributes {tgpt.phase = "begin"} {
    %0 = tgpt.fill {value = 0.0 : f64} : () -> tensor<3x5xf32>
    tgpt.write %0, @w.gradient : tensor<3x5xf32>
    return
  }
  func.func @update() -> tensor<f32> attributes {tgpt.phase = "update"} {
    %0 = tgpt.read @w.gradient : tensor<3x5xf32>
    %1 = tgpt.sum_squares %0 : (tensor<3x5xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}
