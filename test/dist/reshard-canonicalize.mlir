// RUN: tgpt-opt %s --canonicalize | FileCheck %s
// RUN: tgpt-opt %s --canonicalize --canonicalize | FileCheck %s

dist.mesh @mesh (dp = 2, tp = 3)

// CHECK-LABEL: @reshard_to_the_same_layout(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @reshard_to_the_same_layout(%x: tensor<6xf32, #dist.layout<[tp]>>) -> tensor<6xf32, #dist.layout<[tp]>> {
  %0 = dist.reshard %x : tensor<6xf32, #dist.layout<[tp]>> to tensor<6xf32, #dist.layout<[tp]>>
  return %0 : tensor<6xf32, #dist.layout<[tp]>>
}

// CHECK-LABEL: @there_and_back(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @there_and_back(%x: tensor<6xf32, #dist.layout<[tp]>>) -> tensor<6xf32, #dist.layout<[tp]>> {
  %0 = dist.reshard %x : tensor<6xf32, #dist.layout<[tp]>> to tensor<6xf32, #dist.layout<[-]>>
  %1 = dist.reshard %0 : tensor<6xf32, #dist.layout<[-]>> to tensor<6xf32, #dist.layout<[tp]>>
  return %1 : tensor<6xf32, #dist.layout<[tp]>>
}

// CHECK-LABEL: @chain_becomes_one_step(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[Y:.+]] = dist.reshard %[[X]] : {{.*}}partial = [tp]>> to tensor<6xf32, #dist.layout<[tp]>>
// CHECK-NEXT: return %[[Y]]
func.func @chain_becomes_one_step(%x: tensor<6xf32, #dist.layout<[-], partial = [tp]>>) -> tensor<6xf32, #dist.layout<[tp]>> {
  %0 = dist.reshard %x : tensor<6xf32, #dist.layout<[-], partial = [tp]>> to tensor<6xf32, #dist.layout<[-]>>
  %1 = dist.reshard %0 : tensor<6xf32, #dist.layout<[-]>> to tensor<6xf32, #dist.layout<[tp]>>
  return %1 : tensor<6xf32, #dist.layout<[tp]>>
}

// The sum is needed anyway: slicing it is free, a second reduction is not.
// CHECK-LABEL: @shared_reduction_stays(
// CHECK: %[[SUM:.+]] = dist.reshard %{{.+}} : {{.*}}partial = [tp]>> to tensor<6xf32, #dist.layout<[-]>>
// CHECK: dist.reshard %[[SUM]]
func.func @shared_reduction_stays(%x: tensor<6xf32, #dist.layout<[-], partial = [tp]>>)
    -> (tensor<6xf32, #dist.layout<[-]>>, tensor<6xf32, #dist.layout<[tp]>>) {
  %0 = dist.reshard %x : tensor<6xf32, #dist.layout<[-], partial = [tp]>> to tensor<6xf32, #dist.layout<[-]>>
  %1 = dist.reshard %0 : tensor<6xf32, #dist.layout<[-]>> to tensor<6xf32, #dist.layout<[tp]>>
  return %0, %1 : tensor<6xf32, #dist.layout<[-]>>, tensor<6xf32, #dist.layout<[tp]>>
}

// A shared slice holds nothing that its source does not: go from the source.
// CHECK-LABEL: @shared_slice_is_passed_by(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-DAG: dist.reshard %[[X]] : {{.*}} to tensor<6x6xf32, #dist.layout<[tp, -]>>
// CHECK-DAG: dist.reshard %[[X]] : {{.*}} to tensor<6x6xf32, #dist.layout<[-, tp]>>
func.func @shared_slice_is_passed_by(%x: tensor<6x6xf32, #dist.layout<[-, -]>>)
    -> (tensor<6x6xf32, #dist.layout<[tp, -]>>, tensor<6x6xf32, #dist.layout<[-, tp]>>) {
  %0 = dist.reshard %x : tensor<6x6xf32, #dist.layout<[-, -]>> to tensor<6x6xf32, #dist.layout<[tp, -]>>
  %1 = dist.reshard %0 : tensor<6x6xf32, #dist.layout<[tp, -]>> to tensor<6x6xf32, #dist.layout<[-, tp]>>
  return %0, %1 : tensor<6x6xf32, #dist.layout<[tp, -]>>, tensor<6x6xf32, #dist.layout<[-, tp]>>
}
