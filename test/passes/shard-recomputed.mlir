// RUN: tgpt-opt %s --tgpt-shard='tp=2' | FileCheck %s --check-prefixes=CHECK,NOSP
// RUN: tgpt-opt %s --tgpt-shard='tp=2 sequence-parallel' | FileCheck %s --check-prefixes=CHECK,SP

// What the backward computes again is sharded as its original is: the bias of the row-parallel linear moves behind the
// reduction of the clone too, with the same decision on its layout. Other ops of the backward are not looked at.
// CHECK: tgpt.begin_backward
// CHECK-NEXT: %[[U:.+]] = tgpt.linear %{{.+}}, %{{.+}}, %{{.+}} {tgpt.recomputed}
// NOSP-NEXT: %[[D:.+]] = tgpt.linear %[[U]], %{{[^,]+}} {tgpt.recomputed}
// SP-NEXT: %[[D:.+]] = tgpt.linear %[[U]], %{{[^,]+}} {dist.layout = #dist.layout<[-, tp, -]>, tgpt.recomputed}
// CHECK-NEXT: %[[B:.+]] = tgpt.add %[[D]], %{{.+}} {tgpt.recomputed}
// CHECK-NEXT: tgpt.accumulate %[[B]]
// CHECK-NEXT: tgpt.linear %{{.+}}, %{{.+}}, %{{.+}} :
tgpt.parameter @up : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @up.bias : tensor<12xf32> = #tgpt.init<mean = 0.0, stddev = 0.0>
tgpt.parameter @down : tensor<8x12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @down.bias : tensor<8xf32> = #tgpt.init<mean = 0.0, stddev = 0.0>
tgpt.state metric @sum : tensor<4x6x8xf32> {transient}
func.func @micro_batch(%x: tensor<4x6x8xf32>) attributes {tgpt.phase = "micro_batch"} {
  %up = tgpt.read @up : tensor<12x8xf32>
  %up_bias = tgpt.read @up.bias : tensor<12xf32>
  %down = tgpt.read @down : tensor<8x12xf32>
  %down_bias = tgpt.read @down.bias : tensor<8xf32>
  %u = tgpt.linear %x, %up, %up_bias : (tensor<4x6x8xf32>, tensor<12x8xf32>, tensor<12xf32>) -> tensor<4x6x12xf32>
  %d = tgpt.linear %u, %down, %down_bias : (tensor<4x6x12xf32>, tensor<8x12xf32>, tensor<8xf32>) -> tensor<4x6x8xf32>
  tgpt.begin_backward
  %u1 = tgpt.linear %x, %up, %up_bias {tgpt.recomputed} : (tensor<4x6x8xf32>, tensor<12x8xf32>, tensor<12xf32>) -> tensor<4x6x12xf32>
  %d1 = tgpt.linear %u1, %down, %down_bias {tgpt.recomputed} : (tensor<4x6x12xf32>, tensor<8x12xf32>, tensor<8xf32>) -> tensor<4x6x8xf32>
  tgpt.accumulate %d1, @sum : tensor<4x6x8xf32>
  %d2 = tgpt.linear %u1, %down, %down_bias : (tensor<4x6x12xf32>, tensor<8x12xf32>, tensor<8xf32>) -> tensor<4x6x8xf32>
  return
}
