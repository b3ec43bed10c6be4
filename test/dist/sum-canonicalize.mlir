// RUN: tgpt-opt %s --canonicalize | FileCheck %s

// A sum of resharded partial values is the resharded partial sum: one reduction
// across devices for each partial layout, however many addends.

dist.mesh @mesh (dp = 2, tp = 3)

// The squared gradient norm: three addends partial over tp, one whole.
// CHECK-LABEL: @one_reduction_for_all(
// CHECK-SAME: %[[A:.+]]: tensor<{{.*}}, %[[B:.+]]: tensor<{{.*}}, %[[C:.+]]: tensor<{{.*}}, %[[W:.+]]: tensor
// CHECK-NEXT: %[[PART:.+]] = tgpt.add_n %[[A]], %[[B]], %[[C]] {tgpt.layer = 3 : i64} : {{.*}} -> tensor<f32, #dist.layout<[], partial = [tp]>>
// CHECK-NEXT: %[[SUM:.+]] = dist.reshard %[[PART]] {tgpt.layer = 3 : i64} : tensor<f32, #dist.layout<[], partial = [tp]>> to tensor<f32, #dist.layout<[]>>
// CHECK-NEXT: %[[ALL:.+]] = tgpt.add_n %[[SUM]], %[[W]] {tgpt.layer = 3 : i64}
// CHECK-NEXT: return %[[ALL]]
func.func @one_reduction_for_all(%a: tensor<f32, #dist.layout<[], partial = [tp]>>, %b: tensor<f32, #dist.layout<[], partial = [tp]>>,
                                 %c: tensor<f32, #dist.layout<[], partial = [tp]>>, %w: tensor<f32, #dist.layout<[]>>) -> tensor<f32, #dist.layout<[]>> {
  %0 = dist.reshard %a : tensor<f32, #dist.layout<[], partial = [tp]>> to tensor<f32, #dist.layout<[]>>
  %1 = dist.reshard %b : tensor<f32, #dist.layout<[], partial = [tp]>> to tensor<f32, #dist.layout<[]>>
  %2 = dist.reshard %c : tensor<f32, #dist.layout<[], partial = [tp]>> to tensor<f32, #dist.layout<[]>>
  %3 = tgpt.add_n %0, %1, %w, %2 {tgpt.layer = 3 : i64} : (tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>) -> tensor<f32, #dist.layout<[]>>
  return %3 : tensor<f32, #dist.layout<[]>>
}

// CHECK-LABEL: @nothing_left_to_add(
// CHECK-NEXT: %[[PART:.+]] = tgpt.add_n
// CHECK-NEXT: %[[SUM:.+]] = dist.reshard %[[PART]]
// CHECK-NEXT: return %[[SUM]]
func.func @nothing_left_to_add(%a: tensor<f32, #dist.layout<[], partial = [tp]>>, %b: tensor<f32, #dist.layout<[], partial = [tp]>>) -> tensor<f32, #dist.layout<[]>> {
  %0 = dist.reshard %a : tensor<f32, #dist.layout<[], partial = [tp]>> to tensor<f32, #dist.layout<[]>>
  %1 = dist.reshard %b : tensor<f32, #dist.layout<[], partial = [tp]>> to tensor<f32, #dist.layout<[]>>
  %2 = tgpt.add_n %0, %1 : (tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>) -> tensor<f32, #dist.layout<[]>>
  return %2 : tensor<f32, #dist.layout<[]>>
}

// Two partial layouts: two reductions.
// CHECK-LABEL: @a_reduction_for_each_layout(
// CHECK-COUNT-2: dist.reshard
// CHECK-NOT: dist.reshard
// CHECK: return
func.func @a_reduction_for_each_layout(%a: tensor<f32, #dist.layout<[], partial = [tp]>>, %b: tensor<f32, #dist.layout<[], partial = [dp, tp]>>) -> tensor<f32, #dist.layout<[]>> {
  %0 = dist.reshard %a : tensor<f32, #dist.layout<[], partial = [tp]>> to tensor<f32, #dist.layout<[]>>
  %1 = dist.reshard %b : tensor<f32, #dist.layout<[], partial = [dp, tp]>> to tensor<f32, #dist.layout<[]>>
  %2 = dist.reshard %a : tensor<f32, #dist.layout<[], partial = [tp]>> to tensor<f32, #dist.layout<[]>>
  %3 = dist.reshard %b : tensor<f32, #dist.layout<[], partial = [dp, tp]>> to tensor<f32, #dist.layout<[]>>
  %4 = tgpt.add_n %0, %1, %2, %3 : (tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>) -> tensor<f32, #dist.layout<[]>>
  return %4 : tensor<f32, #dist.layout<[]>>
}

// Not moved: the reduced value has another reader, so its reduction stays anyway.
// CHECK-LABEL: @shared_addend_stays(
// CHECK: %[[A:.+]] = dist.reshard
// CHECK: %[[B:.+]] = dist.reshard
// CHECK: tgpt.add_n %[[A]], %[[B]]
func.func @shared_addend_stays(%a: tensor<f32, #dist.layout<[], partial = [tp]>>, %b: tensor<f32, #dist.layout<[], partial = [tp]>>)
    -> (tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>) {
  %0 = dist.reshard %a : tensor<f32, #dist.layout<[], partial = [tp]>> to tensor<f32, #dist.layout<[]>>
  %1 = dist.reshard %b : tensor<f32, #dist.layout<[], partial = [tp]>> to tensor<f32, #dist.layout<[]>>
  %2 = tgpt.add_n %0, %1 : (tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>) -> tensor<f32, #dist.layout<[]>>
  return %0, %2 : tensor<f32, #dist.layout<[]>>, tensor<f32, #dist.layout<[]>>
}

// Gradients of one value arrive one by one, that of the residual first: still one reduction.
// CHECK-LABEL: @one_by_one(
// CHECK-SAME: %[[W:.+]]: tensor<{{.*}}, %[[A:.+]]: tensor<{{.*}}, %[[B:.+]]: tensor<{{.*}}, %[[C:.+]]: tensor
// CHECK-NEXT: %[[AB:.+]] = tgpt.add %[[A]], %[[B]]
// CHECK-NEXT: %[[ABC:.+]] = tgpt.add %[[AB]], %[[C]]
// CHECK-NEXT: %[[SUM:.+]] = dist.reshard %[[ABC]]
// CHECK-NEXT: %[[ALL:.+]] = tgpt.add %[[W]], %[[SUM]]
// CHECK-NEXT: return %[[ALL]]
!whole = tensor<4xf32, #dist.layout<[-]>>
!addend = tensor<4xf32, #dist.layout<[-], partial = [tp]>>
func.func @one_by_one(%w: !whole, %a: !addend, %b: !addend, %c: !addend) -> !whole {
  %0 = dist.reshard %a : !addend to !whole
  %1 = tgpt.add %w, %0 : (!whole, !whole) -> !whole
  %2 = dist.reshard %b : !addend to !whole
  %3 = tgpt.add %2, %1 : (!whole, !whole) -> !whole
  %4 = dist.reshard %c : !addend to !whole
  %5 = tgpt.add %3, %4 : (!whole, !whole) -> !whole
  return %5 : !whole
}

// Not joined: the inner sum has another reader.
// CHECK-LABEL: @shared_sum_stays(
// CHECK-COUNT-2: dist.reshard
// CHECK: return
func.func @shared_sum_stays(%w: !whole, %a: !addend, %b: !addend) -> (!whole, !whole) {
  %0 = dist.reshard %a : !addend to !whole
  %1 = tgpt.add %w, %0 : (!whole, !whole) -> !whole
  %2 = dist.reshard %b : !addend to !whole
  %3 = tgpt.add %1, %2 : (!whole, !whole) -> !whole
  return %1, %3 : !whole, !whole
}
