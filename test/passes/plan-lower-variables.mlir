// RUN: tgpt-opt %s --plan-lower -split-input-file | FileCheck %s

// The update of a bf16 weight: the gradient is summed where it is, so its variable holds
// no addends any more; AdamW changes master copy and moments in place; the rounded
// weight is computed straight in its variable.
// CHECK-LABEL: plan.program @update_in_place
// CHECK-DAG: %[[W:.*]] = plan.buffer "w" in parameters : <4xbf16>
// CHECK-DAG: %[[MASTER:.*]] = plan.buffer "w.master" in optimizer : <4xf32>
// CHECK-DAG: %[[G:.*]] = plan.buffer "w.gradient" in gradients : <4xf32>
// CHECK-DAG: %[[M1:.*]] = plan.buffer "w.moment1" in optimizer : <4xf32>
// CHECK-DAG: %[[M2:.*]] = plan.buffer "w.moment2" in optimizer : <4xf32>
// CHECK: plan.variable parameter "w" of "w" {{.*}} init <value = 0.000000e+00 : f64, stddev = 2.000000e-02 : f64, key = "w"> owner : <4xbf16>
// The master copy starts as its parameter does, from the same stream.
// CHECK: plan.variable master "w.master" of "w" {{.*}} init <value = 0.000000e+00 : f64, stddev = 2.000000e-02 : f64, key = "w"> owner : <4xf32>
// CHECK: plan.variable gradient "w.gradient" of "w" in %[[G]] layout <[-], of = [4]> init
// CHECK: plan.segment update
// CHECK-NEXT: plan.collective all_reduce_sum %[[G]] to %[[G]] over @dp {{.*}} {plan.layouts = [#dist.layout<[-], partial = [dp]>, #dist.layout<[-]>], plan.values = array<i64: 0, 1>}
// CHECK-NEXT: plan.input "learning_rate" into %[[LR:[^ ]+]]
// CHECK-NEXT: plan.input "step" into %[[STEP:[^ ]+]]
// CHECK-NEXT: "adamw"(%[[MASTER]], %[[G]], %[[M1]], %[[M2]], %[[LR]], %[[LR]], %[[STEP]]) -> (%[[MASTER]], %[[M1]], %[[M2]]) {{.*}}plan.values = array<i64: 0, 1, 0, 0, 2, 2, 3, 4, 5, 6>}
// CHECK-NEXT: "cast"(%[[MASTER]]) -> (%[[W]])
// CHECK-NEXT: {{^ *[}]$}}
module @update_in_place {
  dist.mesh @mesh (dp = 2)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  tgpt.parameter @w : tensor<4xbf16, #dist.layout<[-], of = [4]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state master @w.master of @w : tensor<4xf32, #dist.layout<[-], of = [4]>>
  tgpt.state gradient @w.gradient of @w : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> {transient}
  tgpt.state moment1 @w.moment1 of @w : tensor<4xf32, #dist.layout<[-], of = [4]>>
  tgpt.state moment2 @w.moment2 of @w : tensor<4xf32, #dist.layout<[-], of = [4]>>
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    return
  }
  func.func @update(%lr: tensor<f32, #dist.layout<[], of = []>> {tgpt.name = "learning_rate"}, %step: tensor<f32, #dist.layout<[], of = []>> {tgpt.name = "step"}) attributes {tgpt.phase = "update"} {
    dist.segment update stage 0 {
      %g = tgpt.read @w.gradient : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>>
      %sum = dist.all_reduce sum %g over ["dp"] : tensor<4xf32, #dist.layout<[-], partial = [dp], of = [4]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
      %master = tgpt.read @w.master : tensor<4xf32, #dist.layout<[-], of = [4]>>
      %m1 = tgpt.read @w.moment1 : tensor<4xf32, #dist.layout<[-], of = [4]>>
      %m2 = tgpt.read @w.moment2 : tensor<4xf32, #dist.layout<[-], of = [4]>>
      %new:3 = tgpt.adamw %master, %sum, %m1, %m2, %lr, %lr, %step {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (tensor<4xf32, #dist.layout<[-], of = [4]>>, tensor<4xf32, #dist.layout<[-], of = [4]>>, tensor<4xf32, #dist.layout<[-], of = [4]>>, tensor<4xf32, #dist.layout<[-], of = [4]>>, tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>, tensor<f32, #dist.layout<[], of = []>>) -> (tensor<4xf32, #dist.layout<[-], of = [4]>>, tensor<4xf32, #dist.layout<[-], of = [4]>>, tensor<4xf32, #dist.layout<[-], of = [4]>>)
      tgpt.write %new#0, @w.master : tensor<4xf32, #dist.layout<[-], of = [4]>>
      tgpt.write %new#1, @w.moment1 : tensor<4xf32, #dist.layout<[-], of = [4]>>
      tgpt.write %new#2, @w.moment2 : tensor<4xf32, #dist.layout<[-], of = [4]>>
      %rounded = tgpt.cast %new#0 : (tensor<4xf32, #dist.layout<[-], of = [4]>>) -> tensor<4xbf16, #dist.layout<[-], of = [4]>>
      tgpt.write %rounded, @w : tensor<4xbf16, #dist.layout<[-], of = [4]>>
      dist.yield
    }
    return
  }
}

// -----

// A state that is not transient keeps its addends: the sum goes elsewhere.
// CHECK-LABEL: plan.program @sum_beside_the_state
// CHECK: plan.variable metric "s" in %[[S:.*]] layout <[], partial = [dp], of = []>
// CHECK: plan.collective all_reduce_sum %[[S]] to %[[SUM:.*]] over @dp
// CHECK: plan.output %[[SUM]] as "sum"
module @sum_beside_the_state {
  dist.mesh @mesh (dp = 2)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  tgpt.state metric @s : tensor<f32, #dist.layout<[], partial = [dp], of = []>>
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    return
  }
  func.func @update() -> (tensor<f32, #dist.layout<[], of = []>> {tgpt.name = "sum"}) attributes {tgpt.phase = "update"} {
    %0 = dist.segment update stage 0 {
      %s = tgpt.read @s : tensor<f32, #dist.layout<[], partial = [dp], of = []>>
      %sum = dist.all_reduce sum %s over ["dp"] : tensor<f32, #dist.layout<[], partial = [dp], of = []>> to tensor<f32, #dist.layout<[], of = []>>
      dist.yield %sum : tensor<f32, #dist.layout<[], of = []>>
    } : tensor<f32, #dist.layout<[], of = []>>
    return %0 : tensor<f32, #dist.layout<[], of = []>>
  }
}

// -----

// A group of one rank has nothing to exchange.
// CHECK-LABEL: plan.program @alone
// CHECK-NOT: plan.group
// CHECK-NOT: plan.collective
// CHECK: plan.output %{{.*}} as "sum"
module @alone {
  dist.mesh @mesh (dp = 1)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  tgpt.state metric @s : tensor<f32, #dist.layout<[], partial = [dp], of = []>> {transient}
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    return
  }
  func.func @update() -> (tensor<f32, #dist.layout<[], of = []>> {tgpt.name = "sum"}) attributes {tgpt.phase = "update"} {
    %0 = dist.segment update stage 0 {
      %s = tgpt.read @s : tensor<f32, #dist.layout<[], partial = [dp], of = []>>
      %sum = dist.all_reduce sum %s over ["dp"] : tensor<f32, #dist.layout<[], partial = [dp], of = []>> to tensor<f32, #dist.layout<[], of = []>>
      dist.yield %sum : tensor<f32, #dist.layout<[], of = []>>
    } : tensor<f32, #dist.layout<[], of = []>>
    return %0 : tensor<f32, #dist.layout<[], of = []>>
  }
}

// -----

// What was read stays as it was, whatever is written meanwhile: the old value of @a is
// used after the write, so it is copied first; @b gets the value of another variable by
// a copy; the new @a is computed in place of nothing that is still needed.
// CHECK-LABEL: plan.program @old_values
// CHECK: plan.buffer "a.before" in scratch
// CHECK: plan.segment begin
// CHECK-NEXT: "copy"(%[[A:.*]]) -> (%[[OLD:.*]]) {}
// CHECK-NEXT: "gelu"(%[[OLD]]) -> (%[[A]])
// CHECK-NEXT: "copy"(%[[OLD]]) -> (%[[B:.*]]) {}
// CHECK-NEXT: {{^ *[}]$}}
module @old_values {
  dist.mesh @mesh (dp = 1)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  tgpt.parameter @a : tensor<4xf32> = #tgpt.init<mean = 1.0, stddev = 0.0>
  tgpt.parameter @b : tensor<4xf32> = #tgpt.init<mean = 1.0, stddev = 0.0>
  func.func @begin() attributes {tgpt.phase = "begin"} {
    dist.segment begin stage 0 {
      %a = tgpt.read @a : tensor<4xf32>
      %new = tgpt.gelu %a : (tensor<4xf32>) -> tensor<4xf32>
      tgpt.write %new, @a : tensor<4xf32>
      tgpt.write %a, @b : tensor<4xf32>
      dist.yield
    }
    return
  }
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    return
  }
}

// -----

// A gradient that is used for something else too is made apart and added by a kernel; so
// is one whose sum is read before it would be added.
// CHECK-LABEL: plan.program @accumulations_apart
// CHECK: plan.segment begin
// CHECK: "sum_leading"(%{{.*}}) -> (%[[USED:.*]]) {} workspace
// CHECK-NEXT: "accumulate"(%[[USED]]) -> (%[[G:.*]]) {}
// CHECK-NEXT: "sum_squares"(%[[USED]])
// CHECK-NEXT: "sum_leading"(%{{.*}}) -> (%[[LATE:.*]]) {} workspace
// CHECK-NEXT: "sum_squares"(%[[G]])
// CHECK-NEXT: "accumulate"(%[[LATE]]) -> (%[[G]]) {}
module @accumulations_apart {
  dist.mesh @mesh (dp = 1)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  tgpt.parameter @w : tensor<4xf32> = #tgpt.init<mean = 1.0, stddev = 0.0>
  tgpt.state gradient @w.gradient of @w : tensor<4xf32>
  func.func @begin() attributes {tgpt.phase = "begin"} {
    dist.segment begin stage 0 {
      %x = tgpt.fill {value = 1.0 : f64} : () -> tensor<3x4xf32>
      %used = tgpt.sum_leading %x : (tensor<3x4xf32>) -> tensor<4xf32>
      tgpt.accumulate %used, @w.gradient : tensor<4xf32>
      %0 = tgpt.sum_squares %used : (tensor<4xf32>) -> tensor<f32>
      %late = tgpt.sum_leading %x : (tensor<3x4xf32>) -> tensor<4xf32>
      %g = tgpt.read @w.gradient : tensor<4xf32>
      %1 = tgpt.sum_squares %g : (tensor<4xf32>) -> tensor<f32>
      tgpt.accumulate %late, @w.gradient : tensor<4xf32>
      dist.yield
    }
    return
  }
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    return
  }
}
