// RUN: tgpt-opt %s --tgpt-split-fused -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --tgpt-split-fused --tgpt-split-fused -split-input-file | FileCheck %s

// Each part has its own rows of weight and bias, which are windows on the fused ones; the fused ones are gone.
// CHECK-NOT: @layers.0.attn.qkv.weight :
// CHECK: tgpt.parameter @layers.0.attn.q.weight : tensor<8x8xf32> = <mean = 0.000000e+00, stddev = 2.000000e-02> {window = #dist.window<"layers.0.attn.qkv.weight", shape = [12, 8], at = [0, 0]>}
// CHECK: tgpt.parameter @layers.0.attn.k.weight : tensor<2x8xf32> {{.*}}at = [8, 0]
// CHECK: tgpt.parameter @layers.0.attn.v.weight : tensor<2x8xf32> {{.*}}at = [10, 0]
// CHECK: tgpt.parameter @layers.0.attn.q.bias : tensor<8xf32> = <mean = 0.000000e+00, stddev = 0.000000e+00> {no_decay, window = #dist.window<"layers.0.attn.qkv.bias", shape = [12], at = [0]>}
// CHECK: tgpt.parameter @layers.0.attn.k.bias : tensor<2xf32> {{.*}}at = [8]
// CHECK: tgpt.parameter @layers.0.attn.v.bias : tensor<2xf32> {{.*}}at = [10]
// CHECK-LABEL: func.func @block
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x6x8xf32>
// CHECK-NEXT: %[[WQ:.+]] = tgpt.read @layers.0.attn.q.weight {tgpt.layer = 0 : i64} : tensor<8x8xf32>
// CHECK-NEXT: %[[BQ:.+]] = tgpt.read @layers.0.attn.q.bias {tgpt.layer = 0 : i64} : tensor<8xf32>
// CHECK-NEXT: %[[Q:.+]] = tgpt.linear %[[X]], %[[WQ]], %[[BQ]] {tgpt.layer = 0 : i64} : {{.*}} -> tensor<4x6x8xf32>
// CHECK: %[[WK:.+]] = tgpt.read @layers.0.attn.k.weight
// CHECK: %[[K:.+]] = tgpt.linear %[[X]], %[[WK]]
// CHECK: %[[WV:.+]] = tgpt.read @layers.0.attn.v.weight
// CHECK: %[[V:.+]] = tgpt.linear %[[X]], %[[WV]]
// CHECK-NOT: tgpt.split
// CHECK: tgpt.attention %[[Q]], %[[K]], %[[V]]
tgpt.parameter @layers.0.attn.qkv.weight : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @layers.0.attn.qkv.bias : tensor<12xf32> = #tgpt.init<mean = 0.0, stddev = 0.0> {no_decay}
func.func @block(%x: tensor<4x6x8xf32>) {
  %w = tgpt.read @layers.0.attn.qkv.weight {tgpt.layer = 0 : i64} : tensor<12x8xf32>
  %b = tgpt.read @layers.0.attn.qkv.bias {tgpt.layer = 0 : i64} : tensor<12xf32>
  %qkv = tgpt.linear %x, %w, %b {tgpt.layer = 0 : i64} : (tensor<4x6x8xf32>, tensor<12x8xf32>, tensor<12xf32>) -> tensor<4x6x12xf32>
  %q, %k, %v = tgpt.split %qkv {names = ["q", "k", "v"], tgpt.layer = 0 : i64} : (tensor<4x6x12xf32>) -> (tensor<4x6x8xf32>, tensor<4x6x2xf32>, tensor<4x6x2xf32>)
  %o, %lse = tgpt.attention %q, %k, %v {head_dim = 2 : i64, scale = 1.0 : f64} : (tensor<4x6x8xf32>, tensor<4x6x2xf32>, tensor<4x6x2xf32>) -> (tensor<4x6x8xf32>, tensor<4x4x6xf32>)
  return
}

// -----

// A name without a scope.
// CHECK: tgpt.parameter @gate : tensor<6x8xf32> {{.*}}window = #dist.window<"both", shape = [12, 8], at = [0, 0]>
// CHECK: tgpt.parameter @up : tensor<6x8xf32> {{.*}}at = [6, 0]
tgpt.parameter @both : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @mlp(%x: tensor<4x6x8xf32>) {
  %w = tgpt.read @both : tensor<12x8xf32>
  %y = tgpt.linear %x, %w : (tensor<4x6x8xf32>, tensor<12x8xf32>) -> tensor<4x6x12xf32>
  %g, %u = tgpt.split %y {names = ["gate", "up"]} : (tensor<4x6x12xf32>) -> (tensor<4x6x6xf32>, tensor<4x6x6xf32>)
  %a = tgpt.swiglu %g, %u : (tensor<4x6x6xf32>, tensor<4x6x6xf32>) -> tensor<4x6x6xf32>
  return
}
