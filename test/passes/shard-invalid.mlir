// RUN: split-file %s %t
// RUN: tgpt-opt %t/axis.mlir --tgpt-shard=tp=0 -verify-diagnostics
// RUN: tgpt-opt %t/order.mlir --tgpt-shard='axis-order=dp,tp' -verify-diagnostics
// RUN: tgpt-opt %t/order.mlir --tgpt-shard='axis-order=dp,tp,tp' -verify-diagnostics
// RUN: tgpt-opt %t/mesh.mlir --tgpt-shard=tp=2 -verify-diagnostics
// RUN: tgpt-opt %t/training.mlir --tgpt-shard=tp=2 -verify-diagnostics
// RUN: tgpt-opt %t/vocabulary.mlir --tgpt-shard=tp=3 -verify-diagnostics
// RUN: tgpt-opt %t/sequence.mlir --tgpt-shard='tp=5 sequence-parallel' -verify-diagnostics
// RUN: tgpt-opt %t/sequence.mlir --tgpt-shard='tp=5' -o /dev/null
// RUN: tgpt-opt %t/features.mlir --tgpt-shard=tp=5 -verify-diagnostics
// RUN: tgpt-opt %t/heads.mlir --tgpt-shard=tp=4 -verify-diagnostics
// RUN: tgpt-opt %t/kv-heads.mlir --tgpt-shard=tp=4 -verify-diagnostics
// RUN: tgpt-opt %t/query-heads.mlir --tgpt-shard=tp=8 -verify-diagnostics
// RUN: tgpt-opt %t/two-splits.mlir --tgpt-shard=tp=6 -verify-diagnostics

//--- axis.mlir
// expected-error @below {{mesh axis 'tp' has size 0, expected at least 1}}
module {}

//--- order.mlir
// expected-error @below {{expected dp, pp and tp, each once, such as dp,pp,tp}}
module {}

//--- mesh.mlir
// expected-error @below {{the module has a mesh already}}
dist.mesh @mesh (dp = 1, pp = 1, tp = 2)

//--- training.mlir
// expected-error @below {{no function '@micro_batch', run tgpt-differentiate first}}
module {}

//--- vocabulary.mlir
tgpt.parameter @table : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @micro_batch(%tokens: tensor<4x6xi32>) {
  %table = tgpt.read @table : tensor<10x8xf32>
  // expected-error @below {{the vocabulary is 10, which tp = 3 does not divide; the nearest legal tp is 2}}
  // expected-note @below {{with tp = 3 the nearest legal size is 9}}
  %x = tgpt.embedding %tokens, %table : (tensor<4x6xi32>, tensor<10x8xf32>) -> tensor<4x6x8xf32>
  return
}

//--- sequence.mlir
// Without sequence parallelism the sequence is never sharded, so 6 tokens are fine.
tgpt.parameter @table : tensor<10x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @micro_batch(%tokens: tensor<4x6xi32>) {
  %table = tgpt.read @table : tensor<10x8xf32>
  // expected-error @below {{under sequence parallelism the sequence length is 6, which tp = 5 does not divide; the nearest legal tp is 6}}
  // expected-note @below {{with tp = 5 the nearest legal size is 5}}
  %x = tgpt.embedding %tokens, %table : (tensor<4x6xi32>, tensor<10x8xf32>) -> tensor<4x6x8xf32>
  return
}

//--- features.mlir
tgpt.parameter @up : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @micro_batch(%x: tensor<4x6x8xf32>) {
  %up = tgpt.read @up : tensor<12x8xf32>
  // expected-error @below {{the number of output features is 12, which tp = 5 does not divide; the nearest legal tp is 4}}
  // expected-note @below {{with tp = 5 the nearest legal size is 10}}
  %u = tgpt.linear %x, %up : (tensor<4x6x8xf32>, tensor<12x8xf32>) -> tensor<4x6x12xf32>
  return
}

//--- heads.mlir
// 12 features are divisible by 4, but not their 6 heads: heads stay whole.
tgpt.parameter @q : tensor<12x8xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @micro_batch(%x: tensor<4x6x8xf32>) {
  %q = tgpt.read @q : tensor<12x8xf32>
  %h = tgpt.linear %x, %q : (tensor<4x6x8xf32>, tensor<12x8xf32>) -> tensor<4x6x12xf32>
  // expected-error @below {{the number of heads is 6, which tp = 4 does not divide; the nearest legal tp is 3}}
  // expected-note @below {{with tp = 4 the nearest legal size is 8}}
  %r = tgpt.rope %h {head_dim = 2 : i64, theta = 10000.0 : f64} : (tensor<4x6x12xf32>) -> tensor<4x6x12xf32>
  return
}

//--- kv-heads.mlir
// 12 heads are divisible by 4, but no rank can have one and a half KV heads: a multiple of the 6 KV heads would do.
func.func @micro_batch(%q: tensor<4x6x24xf32>, %k: tensor<4x6x12xf32>) {
  // expected-error @below {{the number of KV heads is 6, which tp = 4 does not divide; the nearest legal tp is 3}}
  // expected-note @below {{with tp = 4 the nearest legal size is 8}}
  %o, %lse = tgpt.attention %q, %k, %k {head_dim = 2 : i64, scale = 1.0 : f64} : (tensor<4x6x24xf32>, tensor<4x6x12xf32>, tensor<4x6x12xf32>) -> (tensor<4x6x24xf32>, tensor<4x12x6xf32>)
  return
}

//--- query-heads.mlir
// 2 KV heads of 3 query heads: tp can be 1, 2 or 6.
func.func @micro_batch(%q: tensor<4x6x12xf32>, %k: tensor<4x6x4xf32>) {
  // expected-error @below {{the number of heads is 6, which tp = 8 does not divide; the nearest legal tp is 6}}
  // expected-note @below {{with tp = 8 the nearest legal size is 8}}
  %o, %lse = tgpt.attention %q, %k, %k {head_dim = 2 : i64, scale = 1.0 : f64} : (tensor<4x6x12xf32>, tensor<4x6x4xf32>, tensor<4x6x4xf32>) -> (tensor<4x6x12xf32>, tensor<4x6x6xf32>)
  return
}

//--- two-splits.mlir
func.func @micro_batch(%q: tensor<4x6x12xf32>, %k2: tensor<4x6x4xf32>, %k3: tensor<4x6x6xf32>) {
  // expected-note @below {{but is split into 2 x 3 here}}
  %o, %lse = tgpt.attention %q, %k2, %k2 {head_dim = 2 : i64, scale = 1.0 : f64} : (tensor<4x6x12xf32>, tensor<4x6x4xf32>, tensor<4x6x4xf32>) -> (tensor<4x6x12xf32>, tensor<4x6x6xf32>)
  // expected-error @below {{has 3 KV heads, so tp = 6 is to be split into 3 x 2}}
  %o_1, %lse_1 = tgpt.attention %q, %k3, %k3 {head_dim = 2 : i64, scale = 1.0 : f64} : (tensor<4x6x12xf32>, tensor<4x6x6xf32>, tensor<4x6x6xf32>) -> (tensor<4x6x12xf32>, tensor<4x6x6xf32>)
  return
}
