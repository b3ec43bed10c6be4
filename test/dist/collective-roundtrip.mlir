// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s

dist.mesh @mesh (dp = 2, pp = 4, tp = 3)

// CHECK-LABEL: @reshard
func.func @reshard(%0: tensor<4x6xf32, #dist.layout<[-, -], partial = [tp]>>) {
  // CHECK: dist.reshard %{{.*}} : tensor<4x6xf32, #dist.layout<[-, -], partial = [tp]>> to tensor<4x6xf32, #dist.layout<[dp, tp]>>
  %1 = dist.reshard %0 : tensor<4x6xf32, #dist.layout<[-, -], partial = [tp]>> to tensor<4x6xf32, #dist.layout<[dp, tp]>>
  return
}

// CHECK-LABEL: @all_reduce
func.func @all_reduce(%0: tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp], of = [4, 6]>>,
                      %1: tensor<4xf32, #dist.layout<[-], partial = max [tp], of = [4]>>,
                      %2: tensor<f32, #dist.layout<[], of = []>>) {
  // CHECK: dist.all_reduce sum %{{.*}} over ["tp"] : tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp], of = [4, 6]>> to tensor<4x6xf32, #dist.layout<[-, -], partial = [dp], of = [4, 6]>>
  %3 = dist.all_reduce sum %0 over ["tp"] : tensor<4x6xf32, #dist.layout<[-, -], partial = [dp, tp], of = [4, 6]>> to tensor<4x6xf32, #dist.layout<[-, -], partial = [dp], of = [4, 6]>>
  // CHECK: dist.all_reduce max %{{.*}} over ["tp"]
  %4 = dist.all_reduce max %1 over ["tp"] : tensor<4xf32, #dist.layout<[-], partial = max [tp], of = [4]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
  // CHECK: dist.stage_addend %{{.*}} : tensor<f32, #dist.layout<[], of = []>> to tensor<f32, #dist.layout<[], partial = [pp], of = []>>
  %5 = dist.stage_addend %2 : tensor<f32, #dist.layout<[], of = []>> to tensor<f32, #dist.layout<[], partial = [pp], of = []>>
  // CHECK: dist.all_reduce sum %{{.*}} over ["pp"] stages [0, 3]
  %6 = dist.all_reduce sum %5 over ["pp"] stages [0, 3] : tensor<f32, #dist.layout<[], partial = [pp], of = []>> to tensor<f32, #dist.layout<[], of = []>>
  return
}

// CHECK-LABEL: @all_gather
func.func @all_gather(%0: tensor<2x6xf32, #dist.layout<[{dp, tp}, -], of = [12, 6]>>) {
  // CHECK: dist.all_gather %{{.*}} dim 0 over ["tp"] : tensor<2x6xf32, #dist.layout<[{dp, tp}, -], of = [12, 6]>> to tensor<6x6xf32, #dist.layout<[dp, -], of = [12, 6]>>
  %1 = dist.all_gather %0 dim 0 over ["tp"] : tensor<2x6xf32, #dist.layout<[{dp, tp}, -], of = [12, 6]>> to tensor<6x6xf32, #dist.layout<[dp, -], of = [12, 6]>>
  // CHECK: dist.all_gather %{{.*}} dim 0 over ["dp", "tp"]
  %2 = dist.all_gather %0 dim 0 over ["dp", "tp"] : tensor<2x6xf32, #dist.layout<[{dp, tp}, -], of = [12, 6]>> to tensor<12x6xf32, #dist.layout<[-, -], of = [12, 6]>>
  return
}

// CHECK-LABEL: @reduce_scatter
func.func @reduce_scatter(%0: tensor<4x6xf32, #dist.layout<[-, -], partial = [tp], of = [4, 6]>>) {
  // CHECK: dist.reduce_scatter %{{.*}} dim 1 over ["tp"] : tensor<4x6xf32, #dist.layout<[-, -], partial = [tp], of = [4, 6]>> to tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>
  %1 = dist.reduce_scatter %0 dim 1 over ["tp"] : tensor<4x6xf32, #dist.layout<[-, -], partial = [tp], of = [4, 6]>> to tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>
  return
}

// CHECK-LABEL: @all_to_all
func.func @all_to_all(%0: tensor<2x9xf32, #dist.layout<[tp, -], of = [6, 9]>>) {
  // CHECK: dist.all_to_all %{{.*}} split 1 concat 0 over ["tp"] : tensor<2x9xf32, #dist.layout<[tp, -], of = [6, 9]>> to tensor<6x3xf32, #dist.layout<[-, tp], of = [6, 9]>>
  %1 = dist.all_to_all %0 split 1 concat 0 over ["tp"] : tensor<2x9xf32, #dist.layout<[tp, -], of = [6, 9]>> to tensor<6x3xf32, #dist.layout<[-, tp], of = [6, 9]>>
  return
}

// CHECK-LABEL: @slice
func.func @slice(%0: tensor<6x4xf32, #dist.layout<[dp, -], of = [12, 4]>>) {
  // CHECK: dist.slice %{{.*}} dim 0 over ["tp"] : tensor<6x4xf32, #dist.layout<[dp, -], of = [12, 4]>> to tensor<2x4xf32, #dist.layout<[{dp, tp}, -], of = [12, 4]>>
  %1 = dist.slice %0 dim 0 over ["tp"] : tensor<6x4xf32, #dist.layout<[dp, -], of = [12, 4]>> to tensor<2x4xf32, #dist.layout<[{dp, tp}, -], of = [12, 4]>>
  return
}

// CHECK-LABEL: @sums_in_a_tree
func.func @sums_in_a_tree(%x: tensor<4x9xf32, #dist.layout<[-, -], partial = [tp], of = [4, 9]>>) {
  // CHECK: dist.all_reduce sum %{{.+}} over ["tp"] tree :
  %0 = dist.all_reduce sum %x over ["tp"] tree : tensor<4x9xf32, #dist.layout<[-, -], partial = [tp], of = [4, 9]>> to tensor<4x9xf32, #dist.layout<[-, -], of = [4, 9]>>
  // CHECK: dist.reduce_scatter %{{.+}} dim 1 over ["tp"] tree :
  %1 = dist.reduce_scatter %x dim 1 over ["tp"] tree : tensor<4x9xf32, #dist.layout<[-, -], partial = [tp], of = [4, 9]>> to tensor<4x3xf32, #dist.layout<[-, tp], of = [4, 9]>>
  return
}
