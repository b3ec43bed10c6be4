// RUN: tgpt-opt %s --dist-partition --dist-verify-partitioned | FileCheck %s

// Three axes that shard, of sizes 2, 3 and 2: no size or name is special.

dist.mesh @mesh (dp = 2, cp = 3, tp = 2)

// CHECK-LABEL: @sum_over_three_axes(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_reduce sum %[[X]] over ["cp", "dp", "tp"]
// CHECK-NEXT: return %[[A]]
func.func @sum_over_three_axes(%x: tensor<12x24xf32, #dist.layout<[-, -], partial = [cp, dp, tp]>>) -> tensor<12x24xf32, #dist.layout<[-, -]>> {
  %0 = dist.reshard %x : tensor<12x24xf32, #dist.layout<[-, -], partial = [cp, dp, tp]>> to tensor<12x24xf32, #dist.layout<[-, -]>>
  return %0 : tensor<12x24xf32, #dist.layout<[-, -]>>
}

// CHECK-LABEL: @gather_three_axes(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_gather %[[X]] dim 0 over ["dp", "cp", "tp"]
// CHECK-NEXT: return %[[A]]
func.func @gather_three_axes(%x: tensor<12x24xf32, #dist.layout<[{dp, cp, tp}, -]>>) -> tensor<12x24xf32, #dist.layout<[-, -]>> {
  %0 = dist.reshard %x : tensor<12x24xf32, #dist.layout<[{dp, cp, tp}, -]>> to tensor<12x24xf32, #dist.layout<[-, -]>>
  return %0 : tensor<12x24xf32, #dist.layout<[-, -]>>
}

// CHECK-LABEL: @middle_axis_stays(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.all_to_all %[[X]] split 1 concat 0 over ["tp"]
// CHECK-NEXT: return %[[A]]
func.func @middle_axis_stays(%x: tensor<12x24xf32, #dist.layout<[{dp, cp, tp}, -]>>) -> tensor<12x24xf32, #dist.layout<[{dp, cp}, tp]>> {
  %0 = dist.reshard %x : tensor<12x24xf32, #dist.layout<[{dp, cp, tp}, -]>> to tensor<12x24xf32, #dist.layout<[{dp, cp}, tp]>>
  return %0 : tensor<12x24xf32, #dist.layout<[{dp, cp}, tp]>>
}

// CHECK-LABEL: @scatter_two_reduce_one(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.reduce_scatter %[[X]] dim 0 over ["dp", "tp"]
// CHECK-NEXT: %[[B:.+]] = dist.all_reduce sum %[[A]] over ["cp"]
// CHECK-NEXT: return %[[B]]
func.func @scatter_two_reduce_one(%x: tensor<12x24xf32, #dist.layout<[-, -], partial = [cp, dp, tp]>>) -> tensor<12x24xf32, #dist.layout<[{dp, tp}, -]>> {
  %0 = dist.reshard %x : tensor<12x24xf32, #dist.layout<[-, -], partial = [cp, dp, tp]>> to tensor<12x24xf32, #dist.layout<[{dp, tp}, -]>>
  return %0 : tensor<12x24xf32, #dist.layout<[{dp, tp}, -]>>
}

// A slice, a reduce_scatter and an all_gather, each over its axis, in the order that moves least.
// CHECK-LABEL: @slice_scatter_gather(
// CHECK-SAME: %[[X:.+]]: tensor
// CHECK-NEXT: %[[A:.+]] = dist.slice %[[X]] dim 1 over ["dp"]
// CHECK-NEXT: %[[B:.+]] = dist.reduce_scatter %[[A]] dim 1 over ["tp"]
// CHECK-NEXT: %[[C:.+]] = dist.all_gather %[[B]] dim 0 over ["cp"]
// CHECK-NEXT: return %[[C]]
func.func @slice_scatter_gather(%x: tensor<12x24xf32, #dist.layout<[cp, -], partial = [tp]>>) -> tensor<12x24xf32, #dist.layout<[-, {dp, tp}]>> {
  %0 = dist.reshard %x : tensor<12x24xf32, #dist.layout<[cp, -], partial = [tp]>> to tensor<12x24xf32, #dist.layout<[-, {dp, tp}]>>
  return %0 : tensor<12x24xf32, #dist.layout<[-, {dp, tp}]>>
}
