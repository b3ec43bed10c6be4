// RUN: tgpt-opt %s --dist-partition --dist-verify-partitioned -split-input-file | FileCheck %s

// Types of parameters, states, functions and values become those of a shard, and
// say of which global tensor. Axes of size 1 (pp, ep) leave the layouts.

dist.mesh @mesh (dp = 2, pp = 1, tp = 3, ep = 1)

// CHECK: tgpt.parameter @w : tensor<2x4xf32, #dist.layout<[tp, -], of = [6, 4]>>
tgpt.parameter @w : tensor<6x4xf32, #dist.layout<[tp, -]>> = #tgpt.init<mean = 0.0, stddev = 0.02>
// CHECK: tgpt.state gradient @w.gradient of @w : tensor<2x4xf32, #dist.layout<[tp, -], partial = [dp], of = [6, 4]>> {transient}
tgpt.state gradient @w.gradient of @w : tensor<6x4xf32, #dist.layout<[{tp, ep}, -], partial = [dp]>> {transient}

// CHECK-LABEL: func.func @micro_batch(
// CHECK-SAME: %[[X:.+]]: tensor<2x5x4xf32, #dist.layout<[dp, -, -], of = [4, 5, 4]>> {tgpt.name = "x"})
// CHECK-SAME: -> (tensor<f32, #dist.layout<[], of = []>> {tgpt.name = "one"})
func.func @micro_batch(%x: tensor<4x5x4xf32, #dist.layout<[dp, -, -]>> {tgpt.name = "x"}) -> (tensor<f32, #dist.layout<[]>> {tgpt.name = "one"}) {
  // CHECK: %[[W:.+]] = tgpt.read @w : tensor<2x4xf32, #dist.layout<[tp, -], of = [6, 4]>>
  %w = tgpt.read @w : tensor<6x4xf32, #dist.layout<[tp, -]>>
  // CHECK: %[[Y:.+]] = tgpt.linear %[[X]], %[[W]] {tgpt.layer = 3 : i64} : {{.*}} -> tensor<2x5x2xf32, #dist.layout<[dp, -, tp], of = [4, 5, 6]>>
  %y = tgpt.linear %x, %w {tgpt.layer = 3 : i64} : (tensor<4x5x4xf32, #dist.layout<[dp, -, -]>>, tensor<6x4xf32, #dist.layout<[tp, -]>>) -> tensor<4x5x6xf32, #dist.layout<[dp, -, tp]>>
  // CHECK: %[[G:.+]] = tgpt.linear_wgrad %[[Y]], %[[X]] : {{.*}} -> tensor<2x4xf32, #dist.layout<[tp, -], partial = [dp], of = [6, 4]>>
  %g = tgpt.linear_wgrad %y, %x : (tensor<4x5x6xf32, #dist.layout<[dp, -, tp]>>, tensor<4x5x4xf32, #dist.layout<[dp, -, -]>>) -> tensor<6x4xf32, #dist.layout<[tp, -], partial = [dp]>>
  // Only an axis of size 1 tells these layouts apart: nothing to do.
  %h = dist.reshard %g : tensor<6x4xf32, #dist.layout<[tp, -], partial = [dp]>> to tensor<6x4xf32, #dist.layout<[{tp, ep}, -], partial = [dp]>>
  // CHECK-NEXT: tgpt.accumulate %[[G]], @w.gradient : tensor<2x4xf32, #dist.layout<[tp, -], partial = [dp], of = [6, 4]>>
  tgpt.accumulate %h, @w.gradient : tensor<6x4xf32, #dist.layout<[{tp, ep}, -], partial = [dp]>>
  %one = tgpt.fill {value = 1.0 : f64} : () -> tensor<f32, #dist.layout<[]>>
  return %one : tensor<f32, #dist.layout<[]>>
}

// -----

// On one device everything is whole, and the claims say so.
dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
// CHECK: func.func @one_device(%{{.+}}: tensor<4x6xf32, #dist.layout<[-, -], of = [4, 6]>>)
func.func @one_device(%x: tensor<4x6xf32, #dist.layout<[dp, tp]>>) -> tensor<4x6xf32, #dist.layout<[dp, -]>> {
  // CHECK-NEXT: return %{{.+}} : tensor<4x6xf32, #dist.layout<[-, -], of = [4, 6]>>
  %0 = dist.reshard %x : tensor<4x6xf32, #dist.layout<[dp, tp]>> to tensor<4x6xf32, #dist.layout<[dp, -]>>
  return %0 : tensor<4x6xf32, #dist.layout<[dp, -]>>
}
