// RUN: split-file %s %t
// RUN: tgpt-opt %t/block.mlir --tgpt-shard='dp=2 pp=3 tp=2' | FileCheck %s --check-prefixes=TP,NOSP
// RUN: tgpt-opt %t/block.mlir --tgpt-shard='dp=2 tp=2 sequence-parallel' | FileCheck %s --check-prefixes=TP,SP
// RUN: tgpt-opt %t/block.mlir --tgpt-shard='dp=2' | FileCheck %s --check-prefix=DP
// RUN: tgpt-opt %t/block.mlir --tgpt-shard | FileCheck %s --check-prefix=ONE
// RUN: tgpt-opt %t/block.mlir --tgpt-shard='dp=2 dp-replicas=5 pp=3 tp=2 axis-order=pp,tp,dp' | FileCheck %s --check-prefix=ORDER
// RUN: tgpt-opt %t/kv-heads.mlir --tgpt-shard='dp=3 tp=4 axis-order=tp,pp,dp' | FileCheck %s --check-prefix=ORDER-KV
// RUN: tgpt-opt %t/decided.mlir --tgpt-shard=tp=2 | FileCheck %s --check-prefix=DECIDED
// RUN: tgpt-opt %t/kv-heads.mlir --tgpt-shard=tp=2 | FileCheck %s --check-prefix=KV2
// RUN: tgpt-opt %t/kv-heads.mlir --tgpt-shard='dp=2 tp=4 sequence-parallel' | FileCheck %s --check-prefix=KV4
// RUN: tgpt-opt %t/kv-heads.mlir --tgpt-shard=tp=8 | FileCheck %s --check-prefix=KV8
// RUN: tgpt-opt %t/one-kv-head.mlir --tgpt-shard=tp=4 | FileCheck %s --check-prefix=MQA

// Linears alternate. One whose input is whole is column-parallel, weight and bias sharded over the
// output features; one whose input has sharded features is row-parallel, its bias whole. Embedding and
// head are sharded over the vocabulary.
// NOSP: dist.mesh @mesh (dp = 2, pp = 3, tp = 2)
// SP: dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
// What an axis is split into stays together, whatever the order.
// ORDER: dist.mesh @mesh (pp = 3, tp = 2, dp_replica = 5, dp = 2)
// ORDER-KV: dist.mesh @mesh (tp = 2, tp_inner = 2, pp = 1, dp = 3)
// TP: tgpt.parameter @table {{.*}} {dist.layout = #dist.layout<[tp, -]>}
// TP: tgpt.parameter @norm {{.*}} {dist.layout = #dist.layout<[-]>}
// TP: tgpt.parameter @up {{.*}} {dist.layout = #dist.layout<[tp, -]>}
// TP: tgpt.parameter @up.bias {{.*}} {dist.layout = #dist.layout<[tp]>}
// TP: tgpt.parameter @down {{.*}} {dist.layout = #dist.layout<[-, tp]>}
// TP: tgpt.parameter @down.bias {{.*}} {dist.layout = #dist.layout<[-]>}
// TP: tgpt.parameter @head {{.*}} {dist.layout = #dist.layout<[tp, -]>}
// Batches are sharded over dp whatever tp is.
// TP: func.func @micro_batch(%{{.+}}: tensor<4x6xi32> {dist.layout = #dist.layout<[dp, -]>}, %{{.+}}: tensor<4x6xi32> {dist.layout = #dist.layout<[dp, -]>})
// Under sequence parallelism the embedding seeds the layout of the residual stream.
// SP: tgpt.embedding {{.*}} {dist.layout = #dist.layout<[dp, tp, -]>}
// NOSP-NOT: {dist.layout
// The bias of the column-parallel linear stays in it, that of the row-parallel one becomes an add.
// TP: %[[UP_BIAS:.+]] = tgpt.read @up.bias
// TP: tgpt.linear %{{.+}}, %{{.+}}, %[[UP_BIAS]]
// TP: %[[DOWN:.+]] = tgpt.read @down :
// TP: %[[DOWN_BIAS:.+]] = tgpt.read @down.bias
// NOSP: %[[PARTIAL:.+]] = tgpt.linear %{{[^,]+}}, %[[DOWN]] {tgpt.layer = 0 : i64}
// SP: %[[PARTIAL:.+]] = tgpt.linear %{{[^,]+}}, %[[DOWN]] {dist.layout = #dist.layout<[dp, tp, -]>, tgpt.layer = 0 : i64}
// TP: %[[BIASED:.+]] = tgpt.add %[[PARTIAL]], %[[DOWN_BIAS]] {tgpt.layer = 0 : i64}
// TP: tgpt.add %{{[^,]+}}, %[[BIASED]] :

// Without tensor parallelism parameters are whole and no bias moves.
// DP: dist.mesh @mesh (dp = 2, pp = 1, tp = 1)
// DP: tgpt.parameter @table {{.*}} {dist.layout = #dist.layout<[-, -]>}
// DP: tgpt.parameter @up.bias {{.*}} {dist.layout = #dist.layout<[-]>}
// DP: func.func @micro_batch(%{{.+}}: tensor<4x6xi32> {dist.layout = #dist.layout<[dp, -]>}
// DP: %[[DOWN_BIAS:.+]] = tgpt.read @down.bias
// DP: tgpt.linear %{{.+}}, %{{.+}}, %[[DOWN_BIAS]]

// On one device there are decisions too: everything is whole.
// ONE: dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
// ONE: func.func @micro_batch(%{{.+}}: tensor<4x6xi32> {dist.layout = #dist.layout<[-, -]>}

//--- block.mlir
tgpt.parameter @table : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @norm : tensor<8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0>
tgpt.parameter @up : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @up.bias : tensor<12xf32> = #tgpt.init<mean = 0.0, stddev = 0.0>
tgpt.parameter @down : tensor<8x12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @down.bias : tensor<8xf32> = #tgpt.init<mean = 0.0, stddev = 0.0>
tgpt.parameter @head : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @micro_batch(%tokens: tensor<4x6xi32>, %labels: tensor<4x6xi32>) {
  %table = tgpt.read @table : tensor<10x8xf32>
  %x = tgpt.embedding %tokens, %table : (tensor<4x6xi32>, tensor<10x8xf32>) -> tensor<4x6x8xf32>
  %norm = tgpt.read @norm : tensor<8xf32>
  %n, %rstd = tgpt.rms_norm %x, %norm {epsilon = 1.0e-5 : f64} : (tensor<4x6x8xf32>, tensor<8xf32>) -> (tensor<4x6x8xf32>, tensor<4x6xf32>)
  %up = tgpt.read @up : tensor<12x8xf32>
  %up_bias = tgpt.read @up.bias : tensor<12xf32>
  %u = tgpt.linear %n, %up, %up_bias : (tensor<4x6x8xf32>, tensor<12x8xf32>, tensor<12xf32>) -> tensor<4x6x12xf32>
  %g = tgpt.gelu %u : (tensor<4x6x12xf32>) -> tensor<4x6x12xf32>
  %down = tgpt.read @down : tensor<8x12xf32>
  %down_bias = tgpt.read @down.bias : tensor<8xf32>
  %d = tgpt.linear %g, %down, %down_bias {tgpt.layer = 0 : i64} : (tensor<4x6x12xf32>, tensor<8x12xf32>, tensor<8xf32>) -> tensor<4x6x8xf32>
  %y = tgpt.add %x, %d : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %head = tgpt.read @head : tensor<10x8xf32>
  %logits = tgpt.linear %y, %head : (tensor<4x6x8xf32>, tensor<10x8xf32>) -> tensor<4x6x10xf32>
  return
}

// A decision that is there is kept: this weight stays whole, and so do its linear's users' inputs.
// DECIDED: tgpt.parameter @up {{.*}} {dist.layout = #dist.layout<[-, -]>}
//--- decided.mlir
tgpt.parameter @up : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02> {dist.layout = #dist.layout<[-, -]>}
func.func @micro_batch(%x: tensor<4x6x8xf32>) {
  %up = tgpt.read @up : tensor<12x8xf32>
  %u = tgpt.linear %x, %up : (tensor<4x6x8xf32>, tensor<12x8xf32>) -> tensor<4x6x12xf32>
  return
}

// As many KV heads as ranks: one axis.
// KV2: dist.mesh @mesh (dp = 1, pp = 1, tp = 2)
// KV2: @k {{.*}} {dist.layout = #dist.layout<[tp, -]>}
// KV2: @k.bias {{.*}} {dist.layout = #dist.layout<[tp]>}
// Fewer: an axis that counts them and one that counts the ranks that share one. Keys are sharded over the
// first, all else that is sharded over both.
// KV4: dist.mesh @mesh (dp = 2, pp = 1, tp = 2, tp_inner = 2)
// KV4: @table {{.*}} {dist.layout = #dist.layout<[{tp, tp_inner}, -]>}
// KV4: @q {{.*}} {dist.layout = #dist.layout<[{tp, tp_inner}, -]>}
// KV4: @k {{.*}} {dist.layout = #dist.layout<[tp, -]>}
// KV4: @k.bias {{.*}} {dist.layout = #dist.layout<[tp]>}
// KV4: @v {{.*}} {dist.layout = #dist.layout<[tp, -]>}
// KV4: @o {{.*}} {dist.layout = #dist.layout<[-, {tp, tp_inner}]>}
// KV4: tgpt.embedding {{.*}} {dist.layout = #dist.layout<[dp, {tp, tp_inner}, -]>}
// KV8: dist.mesh @mesh (dp = 1, pp = 1, tp = 2, tp_inner = 4)

//--- kv-heads.mlir
tgpt.parameter @table : tensor<16x6xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @q : tensor<16x6xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @k : tensor<4x6xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @k.bias : tensor<4xf32> = #tgpt.init<mean = 0.0, stddev = 0.0>
tgpt.parameter @v : tensor<4x6xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @o : tensor<6x16xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @micro_batch(%tokens: tensor<4x8xi32>) {
  %table = tgpt.read @table : tensor<16x6xf32>
  %x = tgpt.embedding %tokens, %table : (tensor<4x8xi32>, tensor<16x6xf32>) -> tensor<4x8x6xf32>
  %wq = tgpt.read @q : tensor<16x6xf32>
  %wk = tgpt.read @k : tensor<4x6xf32>
  %bk = tgpt.read @k.bias : tensor<4xf32>
  %wv = tgpt.read @v : tensor<4x6xf32>
  %wo = tgpt.read @o : tensor<6x16xf32>
  %q0 = tgpt.linear %x, %wq : (tensor<4x8x6xf32>, tensor<16x6xf32>) -> tensor<4x8x16xf32>
  %k0 = tgpt.linear %x, %wk, %bk : (tensor<4x8x6xf32>, tensor<4x6xf32>, tensor<4xf32>) -> tensor<4x8x4xf32>
  %v = tgpt.linear %x, %wv : (tensor<4x8x6xf32>, tensor<4x6xf32>) -> tensor<4x8x4xf32>
  %q = tgpt.rope %q0 {head_dim = 2 : i64, theta = 10000.0 : f64} : (tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  %k = tgpt.rope %k0 {head_dim = 2 : i64, theta = 10000.0 : f64} : (tensor<4x8x4xf32>) -> tensor<4x8x4xf32>
  %a, %lse = tgpt.attention %q, %k, %v {head_dim = 2 : i64, scale = 1.0 : f64} : (tensor<4x8x16xf32>, tensor<4x8x4xf32>, tensor<4x8x4xf32>) -> (tensor<4x8x16xf32>, tensor<4x8x8xf32>)
  %y = tgpt.linear %a, %wo : (tensor<4x8x16xf32>, tensor<6x16xf32>) -> tensor<4x8x6xf32>
  return
}

// One KV head is all ranks': the axis that cuts KV heads has size 1.
// MQA: dist.mesh @mesh (dp = 1, pp = 1, tp = 1, tp_inner = 4)
// MQA: @q {{.*}} {dist.layout = #dist.layout<[{tp, tp_inner}, -]>}
// MQA: @k {{.*}} {dist.layout = #dist.layout<[tp, -]>}

//--- one-kv-head.mlir
tgpt.parameter @q : tensor<8x6xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @k : tensor<2x6xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @micro_batch(%x: tensor<4x8x6xf32>) {
  %wq = tgpt.read @q : tensor<8x6xf32>
  %wk = tgpt.read @k : tensor<2x6xf32>
  %q = tgpt.linear %x, %wq : (tensor<4x8x6xf32>, tensor<8x6xf32>) -> tensor<4x8x8xf32>
  %k = tgpt.linear %x, %wk : (tensor<4x8x6xf32>, tensor<2x6xf32>) -> tensor<4x8x2xf32>
  %a, %lse = tgpt.attention %q, %k, %k {head_dim = 2 : i64, scale = 1.0 : f64} : (tensor<4x8x8xf32>, tensor<4x8x2xf32>, tensor<4x8x2xf32>) -> (tensor<4x8x8xf32>, tensor<4x4x8xf32>)
  return
}
