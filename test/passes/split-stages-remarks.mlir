// RUN: tgpt-opt %s --dist-split-stages --remarks-filter=dist-split-stages --remark-format=emitRemark -o %t 2>&1 | FileCheck %s

// The activation and its gradient are sent. Stage 1 keeps what it received (4x5 f32, 80
// bytes) and its gelu (80 bytes); stage 0 keeps nothing, since its input is an argument.
// Of the two reads of @w1 one is a repetition; @w0 is tied to both stages, read three times.
// CHECK-DAG: remark: [Analysis] micro-batch | Category:dist-split-stages | opsRepeated=3, parametersTied=1, valuesSaved=2, valuesSent=2
// CHECK-DAG: remark: [Analysis] stage | Category:dist-split-stages | layers=1, savedBytesPerMicroBatch=0, stage=0
// CHECK-DAG: remark: [Analysis] stage | Category:dist-split-stages | layers=1, savedBytesPerMicroBatch=160, stage=1
module attributes {dist.stages = array<i64: 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  tgpt.parameter @w0 : tensor<5x6xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @w1 : tensor<6x5xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @w0.gradient of @w0 : tensor<5x6xf32> {transient}
  tgpt.state gradient @w1.gradient of @w1 : tensor<6x5xf32> {transient}
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %w0 = tgpt.read @w0 : tensor<5x6xf32>
    %h = tgpt.linear %x, %w0 {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<5x6xf32>) -> tensor<4x5xf32>
    %w1 = tgpt.read @w1 : tensor<6x5xf32>
    %g = tgpt.gelu %h {tgpt.layer = 1 : i64} : (tensor<4x5xf32>) -> tensor<4x5xf32>
    %y = tgpt.linear %g, %w1 {tgpt.layer = 1 : i64} : (tensor<4x5xf32>, tensor<6x5xf32>) -> tensor<4x6xf32>
    %z = tgpt.linear %y, %w0 {tgpt.layer = 2 : i64} : (tensor<4x6xf32>, tensor<5x6xf32>) -> tensor<4x5xf32>
    tgpt.begin_backward
    %dz = tgpt.fill {value = 1.0 : f64, tgpt.layer = 2 : i64} : () -> tensor<4x5xf32>
    %dy = tgpt.linear_dgrad %dz, %w0 {tgpt.layer = 2 : i64} : (tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
    %dw1 = tgpt.linear_wgrad %dy, %g {tgpt.layer = 1 : i64} : (tensor<4x6xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    tgpt.accumulate %dw1, @w1.gradient {tgpt.layer = 1 : i64} : tensor<6x5xf32>
    %dg = tgpt.linear_dgrad %dy, %w1 {tgpt.layer = 1 : i64} : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
    %dh = tgpt.gelu_grad %dg, %h {tgpt.layer = 1 : i64} : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    %dw0 = tgpt.linear_wgrad %dh, %x {tgpt.layer = 0 : i64} : (tensor<4x5xf32>, tensor<4x6xf32>) -> tensor<5x6xf32>
    tgpt.accumulate %dw0, @w0.gradient {tgpt.layer = 0 : i64} : tensor<5x6xf32>
    return
  }
}
