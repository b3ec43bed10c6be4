// RUN: tgpt-opt %s --plan-lower --plan-assign-memory --tgpt-pass-statistics -o /dev/null 2>&1 | FileCheck %s

// Six kernels: the fills of @s and %dy, a copy from one variable to another, gelu_grad
// over its dead operand, sum_squares, and the accumulation that it cannot do itself.
// Seven buffers: @a, @b, @s, %x, %dy, the loss and the workspace of sum_squares; %dx has none of its own. Five regions:
// no activation is kept, so theirs is empty.
// CHECK: plan-lower
// CHECK-DAG: 6 kernels
// CHECK-DAG: 1 in-place-results
// CHECK-DAG: 1 separate-accumulations
// CHECK-DAG: 1 copies
// CHECK: plan-assign-memory
// CHECK-DAG: 7 buffers-placed
// CHECK-DAG: 5 regions-tight
module @counted {
  dist.mesh @mesh (tp = 1)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  tgpt.parameter @a : tensor<4xf32> = #tgpt.init<mean = 1.0, stddev = 0.0>
  tgpt.parameter @b : tensor<4xf32> = #tgpt.init<mean = 1.0, stddev = 0.0>
  tgpt.state metric @s : tensor<f32> {transient}
  func.func @begin() attributes {tgpt.phase = "begin"} {
    dist.segment begin stage 0 {
      %0 = tgpt.fill {value = 0.0 : f64} : () -> tensor<f32>
      tgpt.write %0, @s : tensor<f32>
      %1 = tgpt.read @a : tensor<4xf32>
      tgpt.write %1, @b : tensor<4xf32>
      dist.yield
    }
    return
  }
  func.func @micro_batch(%x: tensor<4xf32> {tgpt.name = "x"}) attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
      %dy = tgpt.fill {value = 1.0 : f64} : () -> tensor<4xf32>
      %dx = tgpt.gelu_grad %dy, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %0 = tgpt.sum_squares %dx : (tensor<4xf32>) -> tensor<f32>
      tgpt.accumulate %0, @s : tensor<f32>
      dist.yield
    }
    return
  }
}
