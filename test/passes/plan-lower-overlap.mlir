// RUN: tgpt-opt %s --plan-lower -split-input-file | FileCheck %s
// RUN: tgpt-opt %s --plan-lower --plan-assign-memory -split-input-file | FileCheck %s --check-prefix=MEMORY

// Collectives in flight have their buffers to themselves. The sum of %a may go over %a,
// which nothing else uses; that of %b may not, since %b is read meanwhile. And what is
// computed from %b meanwhile may not go over it, though that is its last use.
// CHECK-LABEL: plan.program @flights
// CHECK: plan.segment forward "forward" {
// CHECK: "add"(%{{.+}}, %{{.+}}) -> (%[[A:[^)]+]]) {}
// CHECK: "add"(%{{.+}}, %{{.+}}) -> (%[[B:[^)]+]]) {}
// CHECK: plan.collective all_reduce_sum %[[A]] to %[[A]] over @tp event 1 on tensor cost
// CHECK: plan.collective all_reduce_sum %[[B]] to %[[SUM_B:[^ ]+]] over @dp event 2 on data cost
// CHECK-NOT: -> (%[[B]])
// CHECK: "add"(%[[B]], %{{.+}}) -> (%
// CHECK: plan.wait 2 for %[[SUM_B]], %[[B]] {
// CHECK-NEXT: plan.wait 1 for %[[A]] {
// CHECK-NEXT: "add"(%[[A]], %[[SUM_B]]) -> (%[[A]])
// Beside what is computed all are live up to the waits: y, a, b, the sum of b, and c.
// MEMORY: plan.region scratch slots 1 at 0 holds 320 live 160
!tp = tensor<2x4xf32, #dist.layout<[-, -], partial = [tp], of = [2, 4]>>
!dp = tensor<2x4xf32, #dist.layout<[-, -], partial = [dp], of = [2, 4]>>
!whole = tensor<2x4xf32, #dist.layout<[-, -], of = [2, 4]>>
module @flights {
  dist.mesh @mesh (dp = 2, tp = 2)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  func.func @micro_batch(%x: !tp {tgpt.name = "x"}, %y: !dp {tgpt.name = "y"}) attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
      %a = tgpt.add %x, %x : (!tp, !tp) -> !tp
      %b = tgpt.add %y, %y : (!dp, !dp) -> !dp
      %pa = dist.all_reduce sum %a over ["tp"] : !tp to !dist.pending<!whole>
      %pb = dist.all_reduce sum %b over ["dp"] : !dp to !dist.pending<!whole>
      %c = tgpt.add %b, %y : (!dp, !dp) -> !dp
      %sb = dist.wait %pb : !dist.pending<!whole>
      %sa = dist.wait %pa : !dist.pending<!whole>
      %d = tgpt.add %sa, %sb : (!whole, !whole) -> !whole
    }
    return
  }
}

// -----

// A variable that is changed while its old value is in flight: the old value is copied.

// CHECK-LABEL: plan.program @variables
// CHECK: plan.segment update "update" {
// CHECK-NEXT: "copy"(%[[M:.+]]) -> (%[[BEFORE:.+]]) {}
// CHECK-NEXT: plan.collective all_reduce_sum %[[BEFORE]] to %[[BEFORE]] over @dp event 1 on data
// CHECK-NEXT: plan.input "step" into
// CHECK-NEXT: "accumulate"(%{{.+}}) -> (%[[M]]) {}
// CHECK-NEXT: plan.wait 1 for %[[BEFORE]] {
// CHECK-NEXT: plan.output %[[BEFORE]] as "loss"
// CHECK-NEXT: {{^ *[}]$}}
!addend = tensor<f32, #dist.layout<[], partial = [dp], of = []>>
!scalar = tensor<f32, #dist.layout<[], of = []>>
module @variables {
  dist.mesh @mesh (dp = 2, tp = 1)
  dist.schedule stage 0 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []
  tgpt.state metric @m : !addend {transient}
  func.func @micro_batch(%x: tensor<4xf32> {tgpt.name = "x"}) attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
    }
    return
  }
  func.func @update(%step: !addend {tgpt.name = "step"}) -> (!scalar {tgpt.name = "loss"}) attributes {tgpt.phase = "update"} {
    %0 = dist.segment update stage 0 {
      %m = tgpt.read @m : !addend
      %p = dist.all_reduce sum %m over ["dp"] : !addend to !dist.pending<!scalar>
      tgpt.accumulate %step, @m : !addend
      %sum = dist.wait %p : !dist.pending<!scalar>
      dist.yield %sum : !scalar
    } : !scalar
    return %0 : !scalar
  }
}
