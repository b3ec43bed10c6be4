// RUN: split-file %s %t
// RUN: tgpt-opt %t/block.mlir --tgpt-choose-recompute=mode=none | FileCheck %s --check-prefix=NONE
// RUN: tgpt-opt %t/block.mlir --tgpt-choose-recompute=mode=selective | FileCheck %s --check-prefix=SELECTIVE
// RUN: tgpt-opt %t/block.mlir --tgpt-choose-recompute='mode=selective flops-per-byte=8.5' | FileCheck %s --check-prefix=DEARER
// RUN: tgpt-opt %t/block.mlir --tgpt-choose-recompute=mode=full | FileCheck %s --check-prefix=FULL
// RUN: tgpt-opt %t/decided.mlir --tgpt-choose-recompute=mode=full | FileCheck %s --check-prefix=DECIDED
// RUN: tgpt-opt %t/decided.mlir --tgpt-choose-recompute=mode=selective | FileCheck %s --check-prefix=DECIDED
// RUN: tgpt-opt %t/chain.mlir --tgpt-choose-recompute=mode=selective | FileCheck %s --check-prefix=CHAIN

// RUN: tgpt-opt %t/block.mlir --tgpt-choose-recompute=mode=selective --remarks-filter=tgpt-choose-recompute \
// RUN:   --remark-format=emitRemark -o %t/out 2>&1 | FileCheck %s --check-prefix=REMARK

// NONE-NOT: tgpt.recompute

// Layer 0 has a norm, a linear, a rope, an attention, a gelu and a last linear with its residual.
// The embedding before it and the norm of the head behind it are not looked at.
// SELECTIVE: tgpt.embedding %{{.*}} {tgpt.layer = -1 : i64} :
// The norm is cheap (4 operations an element of 4 bytes) and its input is kept anyway, for its own backward.
// SELECTIVE: tgpt.rms_norm {{.*}} tgpt.recompute = true}
// A linear of 16 features costs 32 operations an element: 8 a byte, the most that is allowed, but its result is
// not kept at all, so there is nothing to weigh.
// SELECTIVE: tgpt.linear %{{.*}} {tgpt.layer = 0 : i64} :
// Without the result of rope its input would be kept: no gain.
// SELECTIVE: tgpt.rope {{.*}}theta = 1.000000e+04 : f64} :
// Attention says itself that it is worth its operations.
// SELECTIVE: tgpt.attention {{.*}} tgpt.recompute = true}
// The result of this linear is kept for gelu_grad; its 33 operations an element (a bias too) are above 8 a byte.
// SELECTIVE: tgpt.linear %{{.*}} {tgpt.layer = 0 : i64} :
// SELECTIVE: tgpt.gelu {{.*}} {tgpt.layer = 0 : i64, tgpt.recompute = true}
// SELECTIVE: tgpt.linear %{{.*}} {tgpt.layer = 0 : i64} :
// SELECTIVE: tgpt.add %{{.*}} {tgpt.layer = 0 : i64} :
// SELECTIVE: tgpt.rms_norm {{.*}}tgpt.layer = 1 : i64} :
// SELECTIVE: tgpt.begin_backward
// SELECTIVE-NOT: tgpt.recompute

// The bound is an option: the linear in front of gelu, whose input is kept, may be computed again now.
// DEARER: tgpt.attention {{.*}} tgpt.recompute = true}
// DEARER: tgpt.linear %{{.*}} {tgpt.layer = 0 : i64, tgpt.recompute = true}
// DEARER: tgpt.gelu %{{.*}} {tgpt.layer = 0 : i64, tgpt.recompute = true}

// All of the layer, but for the add that gives the next layer its input.
// FULL: tgpt.embedding %{{.*}} {tgpt.layer = -1 : i64} :
// FULL: tgpt.rms_norm {{.*}} tgpt.recompute = true}
// FULL: tgpt.linear {{.*}} tgpt.recompute = true}
// FULL: tgpt.rope {{.*}} tgpt.recompute = true, theta
// FULL: tgpt.attention {{.*}} tgpt.recompute = true}
// FULL: tgpt.linear {{.*}} tgpt.recompute = true}
// FULL: tgpt.gelu {{.*}} tgpt.recompute = true}
// FULL: tgpt.linear {{.*}} tgpt.recompute = true}
// FULL: tgpt.add %{{.*}} {tgpt.layer = 0 : i64} :
// FULL: tgpt.begin_backward
// FULL-NOT: tgpt.recompute

// Norm, attention and gelu are chosen; rope would free nothing, the linear before gelu is too costly.
// REMARK: remark: [Analysis] micro-batch | Category:tgpt-choose-recompute | opsChosen=3, opsTooCostly=1, opsWithoutGain=1

//--- block.mlir
tgpt.parameter @table : tensor<10x16xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @norm : tensor<16xf32> = #tgpt.init<mean = 1.0, stddev = 0.0>
tgpt.parameter @qkv : tensor<16x16xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @up : tensor<12x16xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
tgpt.parameter @up.bias : tensor<12xf32> = #tgpt.init<mean = 0.0, stddev = 0.0>
tgpt.parameter @down : tensor<16x12xf32> = #tgpt.init<mean = 0.0, stddev = 0.02>
func.func @micro_batch(%tokens: tensor<2x6xi32>, %dy: tensor<2x6x16xf32>) attributes {tgpt.phase = "micro_batch"} {
  %table = tgpt.read @table {tgpt.layer = -1 : i64} : tensor<10x16xf32>
  %x = tgpt.embedding %tokens, %table {tgpt.layer = -1 : i64} : (tensor<2x6xi32>, tensor<10x16xf32>) -> tensor<2x6x16xf32>
  %norm = tgpt.read @norm {tgpt.layer = 0 : i64} : tensor<16xf32>
  %n, %rstd = tgpt.rms_norm %x, %norm {epsilon = 1.0e-5 : f64, tgpt.layer = 0 : i64} : (tensor<2x6x16xf32>, tensor<16xf32>) -> (tensor<2x6x16xf32>, tensor<2x6xf32>)
  %qkv = tgpt.read @qkv {tgpt.layer = 0 : i64} : tensor<16x16xf32>
  %q0 = tgpt.linear %n, %qkv {tgpt.layer = 0 : i64} : (tensor<2x6x16xf32>, tensor<16x16xf32>) -> tensor<2x6x16xf32>
  %q = tgpt.rope %q0 {head_dim = 8 : i64, tgpt.layer = 0 : i64, theta = 1.0e4 : f64} : (tensor<2x6x16xf32>) -> tensor<2x6x16xf32>
  %o, %lse = tgpt.attention %q, %q, %q {head_dim = 8 : i64, scale = 0.25 : f64, tgpt.layer = 0 : i64} : (tensor<2x6x16xf32>, tensor<2x6x16xf32>, tensor<2x6x16xf32>) -> (tensor<2x6x16xf32>, tensor<2x2x6xf32>)
  %up = tgpt.read @up {tgpt.layer = 0 : i64} : tensor<12x16xf32>
  %up_bias = tgpt.read @up.bias {tgpt.layer = 0 : i64} : tensor<12xf32>
  %u = tgpt.linear %o, %up, %up_bias {tgpt.layer = 0 : i64} : (tensor<2x6x16xf32>, tensor<12x16xf32>, tensor<12xf32>) -> tensor<2x6x12xf32>
  %g = tgpt.gelu %u {tgpt.layer = 0 : i64} : (tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
  %down = tgpt.read @down {tgpt.layer = 0 : i64} : tensor<16x12xf32>
  %d = tgpt.linear %g, %down {tgpt.layer = 0 : i64} : (tensor<2x6x12xf32>, tensor<16x12xf32>) -> tensor<2x6x16xf32>
  %y = tgpt.add %x, %d {tgpt.layer = 0 : i64} : (tensor<2x6x16xf32>, tensor<2x6x16xf32>) -> tensor<2x6x16xf32>
  %last, %last_rstd = tgpt.rms_norm %y, %norm {epsilon = 1.0e-5 : f64, tgpt.layer = 1 : i64} : (tensor<2x6x16xf32>, tensor<16xf32>) -> (tensor<2x6x16xf32>, tensor<2x6xf32>)
  tgpt.begin_backward
  %dlast:2 = tgpt.rms_norm_grad %dy, %y, %norm, %last_rstd {tgpt.layer = 1 : i64} : (tensor<2x6x16xf32>, tensor<2x6x16xf32>, tensor<16xf32>, tensor<2x6xf32>) -> (tensor<2x6x16xf32>, tensor<16xf32>)
  %dg = tgpt.linear_dgrad %dlast#0, %down {tgpt.layer = 0 : i64} : (tensor<2x6x16xf32>, tensor<16x12xf32>) -> tensor<2x6x12xf32>
  %ddown = tgpt.linear_wgrad %dlast#0, %g {tgpt.layer = 0 : i64} : (tensor<2x6x16xf32>, tensor<2x6x12xf32>) -> tensor<16x12xf32>
  %du = tgpt.gelu_grad %dg, %u {tgpt.layer = 0 : i64} : (tensor<2x6x12xf32>, tensor<2x6x12xf32>) -> tensor<2x6x12xf32>
  %do = tgpt.linear_dgrad %du, %up {tgpt.layer = 0 : i64} : (tensor<2x6x12xf32>, tensor<12x16xf32>) -> tensor<2x6x16xf32>
  %dup = tgpt.linear_wgrad %du, %o {tgpt.layer = 0 : i64} : (tensor<2x6x12xf32>, tensor<2x6x16xf32>) -> tensor<12x16xf32>
  %dq:3 = tgpt.attention_grad %do, %q, %q, %q, %o, %lse {head_dim = 8 : i64, scale = 0.25 : f64, tgpt.layer = 0 : i64} : (tensor<2x6x16xf32>, tensor<2x6x16xf32>, tensor<2x6x16xf32>, tensor<2x6x16xf32>, tensor<2x6x16xf32>, tensor<2x2x6xf32>) -> (tensor<2x6x16xf32>, tensor<2x6x16xf32>, tensor<2x6x16xf32>)
  %dn = tgpt.linear_dgrad %dq#0, %qkv {tgpt.layer = 0 : i64} : (tensor<2x6x16xf32>, tensor<16x16xf32>) -> tensor<2x6x16xf32>
  %dqkv = tgpt.linear_wgrad %dq#0, %n {tgpt.layer = 0 : i64} : (tensor<2x6x16xf32>, tensor<2x6x16xf32>) -> tensor<16x16xf32>
  %dx:2 = tgpt.rms_norm_grad %dn, %x, %norm, %rstd {tgpt.layer = 0 : i64} : (tensor<2x6x16xf32>, tensor<2x6x16xf32>, tensor<16xf32>, tensor<2x6xf32>) -> (tensor<2x6x16xf32>, tensor<16xf32>)
  return
}

// A decision that is there stands, for and against; and what is decided for counts when others are weighed: since
// the first gelu is computed again, the second frees its own result without keeping the first's.
// DECIDED: tgpt.gelu {{.*}} {tgpt.layer = 0 : i64, tgpt.recompute = true}
// DECIDED: tgpt.gelu {{.*}} {tgpt.layer = 0 : i64, tgpt.recompute = true}
// DECIDED: tgpt.gelu {{.*}} {tgpt.layer = 0 : i64, tgpt.recompute = false}
// DECIDED: tgpt.begin_backward
//--- decided.mlir
func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
  %a = tgpt.gelu %x {tgpt.layer = 0 : i64, tgpt.recompute = true} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = tgpt.gelu %a {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = tgpt.gelu %b {tgpt.layer = 0 : i64, tgpt.recompute = false} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = tgpt.sum_squares %x {tgpt.layer = 1 : i64} : (tensor<4x6xf32>) -> tensor<f32>
  tgpt.begin_backward {tgpt.layer = 1 : i64}
  %d = tgpt.gelu_grad %x, %c {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %e = tgpt.gelu_grad %d, %b {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// In a chain whose every result is kept, each link frees its result: all that is left to keep is the input.
// What another layer reads, in its backward too, is kept.
// CHAIN: %[[A:.+]] = tgpt.gelu {{.*}} {tgpt.layer = 0 : i64, tgpt.recompute = true}
// CHAIN: %[[B:.+]] = tgpt.gelu %[[A]] {tgpt.layer = 0 : i64, tgpt.recompute = true}
// CHAIN: tgpt.gelu %[[B]] {tgpt.layer = 0 : i64} :
// CHAIN: tgpt.begin_backward
//--- chain.mlir
func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
  %a = tgpt.gelu %x {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = tgpt.gelu %a {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %c = tgpt.gelu %b {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = tgpt.sum_squares %x {tgpt.layer = 1 : i64} : (tensor<4x6xf32>) -> tensor<f32>
  tgpt.begin_backward {tgpt.layer = 1 : i64}
  %f = tgpt.gelu_grad %x, %c {tgpt.layer = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %d = tgpt.gelu_grad %f, %b {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %e = tgpt.gelu_grad %d, %a {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}
