// RUN: tgpt-opt %s --tgpt-add-optimizer='max-grad-norm=0.5 beta1=0.75 beta2=0.875 epsilon=0.25 weight-decay=0.125' -split-input-file | FileCheck %s

// Two moments a parameter, beside its gradient.
// CHECK-LABEL: module @f32
// CHECK: tgpt.state {{.*}}gradient @w.gradient of @w
// CHECK-NEXT: tgpt.state {{.*}}moment1 @w.moment1 of @w : tensor<3x5xf32>{{$}}
// CHECK-NEXT: tgpt.state {{.*}}moment2 @w.moment2 of @w : tensor<3x5xf32>{{$}}
// CHECK-NEXT: tgpt.state {{.*}}gradient @b.gradient of @b
// CHECK-NEXT: tgpt.state {{.*}}moment1 @b.moment1 of @b : tensor<3xf32>{{$}}
// CHECK-NEXT: tgpt.state {{.*}}moment2 @b.moment2 of @b : tensor<3xf32>{{$}}
// CHECK-NOT: master
module @f32 {
  tgpt.parameter @w : tensor<3x5xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.parameter @b : tensor<3xf32> = #tgpt.init<mean = 0.0, stddev = 0.0> {no_decay}
  tgpt.parameter @frozen : tensor<7xf32> = #tgpt.init<mean = 0.0, stddev = 0.0>
  tgpt.state gradient @w.gradient of @w : tensor<3x5xf32> {transient}
  tgpt.state gradient @b.gradient of @b : tensor<3xf32> {transient}
  tgpt.state metric @loss_sum : tensor<f32> {transient}
  tgpt.state metric @token_count : tensor<f32> {transient}
}
// One norm over all gradients, divided by the token count and clipped, gives one scale for all.
// CHECK: func.func @update(%[[LR:.+]]: tensor<f32> {tgpt.name = "learning_rate"}, %[[STEP:.+]]: tensor<f32> {tgpt.name = "step"})
// CHECK-SAME: -> (tensor<f32> {tgpt.name = "loss"}, tensor<f32> {tgpt.name = "grad_norm"}, tensor<f32> {tgpt.name = "token_count"})
// CHECK-SAME: attributes {tgpt.phase = "update"}
// CHECK: %[[COUNT:.+]] = tgpt.read @token_count
// CHECK: %[[GW:.+]] = tgpt.read @w.gradient
// CHECK: %[[SW:.+]] = tgpt.sum_squares %[[GW]]
// CHECK: %[[GB:.+]] = tgpt.read @b.gradient
// CHECK: %[[SB:.+]] = tgpt.sum_squares %[[GB]]
// CHECK: %[[SQUARED:.+]] = tgpt.add_n %[[SW]], %[[SB]]
// CHECK: %[[CLIP:.+]]:2 = tgpt.clip_scale %[[SQUARED]], %[[COUNT]] {max_norm = 5.0{{0*}}e-01 : f64}
// CHECK: %[[W:.+]] = tgpt.read @w :
// CHECK: %[[M:.+]] = tgpt.read @w.moment1
// CHECK: %[[V:.+]] = tgpt.read @w.moment2
// CHECK: %[[W1:.+]]:3 = tgpt.adamw %[[W]], %[[GW]], %[[M]], %[[V]], %[[CLIP]]#1, %[[LR]], %[[STEP]]
// CHECK-SAME: {beta1 = 7.5{{0*}}e-01 : f64, beta2 = 8.75{{0*}}e-01 : f64, epsilon = 2.5{{0*}}e-01 : f64, weight_decay = 1.25{{0*}}e-01 : f64}
// CHECK: tgpt.write %[[W1]]#0, @w :
// CHECK: tgpt.write %[[W1]]#1, @w.moment1
// CHECK: tgpt.write %[[W1]]#2, @w.moment2
// A parameter marked no_decay does not decay.
// CHECK: tgpt.adamw %{{.+}}, %[[GB]], {{.*}}weight_decay = 0.0{{0*}}e+00 : f64
// CHECK-NOT: tgpt.adamw
// CHECK-NOT: @frozen
// CHECK: %[[SUM:.+]] = tgpt.read @loss_sum
// CHECK: %[[LOSS:.+]] = tgpt.divide %[[SUM]], %[[COUNT]]
// CHECK: return %[[LOSS]], %[[CLIP]]#0, %[[COUNT]]

// -----

// In bf16 the optimizer works on an f32 master copy, and the parameter is its rounding.
// CHECK-LABEL: module @bf16
// CHECK: tgpt.state {{.*}}moment1 @w.moment1 of @w : tensor<3x5xf32>
// CHECK: tgpt.state {{.*}}moment2 @w.moment2 of @w : tensor<3x5xf32>
// CHECK: tgpt.state {{.*}}master @w.master of @w : tensor<3x5xf32>
// CHECK: %[[MASTER:.+]] = tgpt.read @w.master : tensor<3x5xf32>
// CHECK: %[[NEXT:.+]]:3 = tgpt.adamw %[[MASTER]],
// CHECK: tgpt.write %[[NEXT]]#0, @w.master : tensor<3x5xf32>
// CHECK: %[[ROUNDED:.+]] = tgpt.cast %[[NEXT]]#0 : (tensor<3x5xf32>) -> tensor<3x5xbf16>
// CHECK: tgpt.write %[[ROUNDED]], @w : tensor<3x5xbf16>
module @bf16 {
  tgpt.parameter @w : tensor<3x5xbf16> = #tgpt.init<mean = 0.0, stddev = 0.02>
  tgpt.state gradient @w.gradient of @w : tensor<3x5xf32> {transient}
  tgpt.state metric @loss_sum : tensor<f32> {transient}
  tgpt.state metric @token_count : tensor<f32> {transient}
}
