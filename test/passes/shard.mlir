// RUN: split-file %s %t
// RUN: tgpt-opt %t/block.mlir --tgpt-shard='dp=2 pp=3 tp=2' | FileCheck %s --check-prefixes=TP,NOSP
// RUN: tgpt-opt %t/block.mlir --tgpt-shard='dp=2 tp=2 sequence-parallel' | FileCheck %s --check-prefixes=TP,SP
// RUN: tgpt-opt %t/block.mlir --tgpt-shard='dp=2' | FileCheck %s --check-prefix=DP
// RUN: tgpt-opt %t/block.mlir --tgpt-shard | FileCheck %s --check-prefix=ONE
// RUN: tgpt-opt %t/decided.mlir --tgpt-shard=tp=2 | FileCheck %s --check-prefix=DECIDED

// Linears alternate. One whose input is whole is column-parallel, weight and bias sharded over the
// output features; one whose input has sharded features is row-parallel, its bias whole. Embedding and
// head are sharded over the vocabulary.
// NOSP: dist.mesh @mesh (dp = 2, pp = 3, tp = 2)
// SP: dist.mesh @mesh (dp = 2, pp = 1, tp = 2)
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
