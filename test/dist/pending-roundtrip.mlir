// RUN: tgpt-opt %s | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --emit-bytecode | tgpt-opt | FileCheck %s
// RUN: tgpt-opt %s --mlir-print-op-generic | tgpt-opt | FileCheck %s
// What is started is neither erased nor merged, used or not.
// RUN: tgpt-opt %s --canonicalize --cse | FileCheck %s

dist.mesh @mesh (dp = 2, pp = 4, tp = 3)

// CHECK-LABEL: @all_reduce
func.func @all_reduce(%0: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>) {
  // CHECK: %[[PENDING:.+]] = dist.all_reduce sum %{{.*}} over ["tp"] : tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>> to !dist.pending<tensor<4xf32, #dist.layout<[-], of = [4]>>>
  %1 = dist.all_reduce sum %0 over ["tp"] : tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>> to !dist.pending<tensor<4xf32, #dist.layout<[-], of = [4]>>>
  // CHECK: dist.wait %[[PENDING]] : <tensor<4xf32, #dist.layout<[-], of = [4]>>>
  %2 = dist.wait %1 : !dist.pending<tensor<4xf32, #dist.layout<[-], of = [4]>>>
  return
}

// CHECK-LABEL: @twice
func.func @twice(%0: tensor<2x6xf32, #dist.layout<[{dp, tp}, -], of = [12, 6]>>) {
  // CHECK-COUNT-2: dist.all_gather %{{.*}} dim 0 over ["tp"] : {{.*}} to !dist.pending<tensor<6x6xf32, #dist.layout<[dp, -], of = [12, 6]>>>
  %1 = dist.all_gather %0 dim 0 over ["tp"] : tensor<2x6xf32, #dist.layout<[{dp, tp}, -], of = [12, 6]>> to !dist.pending<tensor<6x6xf32, #dist.layout<[dp, -], of = [12, 6]>>>
  %2 = dist.all_gather %0 dim 0 over ["tp"] : tensor<2x6xf32, #dist.layout<[{dp, tp}, -], of = [12, 6]>> to !dist.pending<tensor<6x6xf32, #dist.layout<[dp, -], of = [12, 6]>>>
  // CHECK-COUNT-2: dist.wait
  %3 = dist.wait %1 : !dist.pending<tensor<6x6xf32, #dist.layout<[dp, -], of = [12, 6]>>>
  %4 = dist.wait %2 : !dist.pending<tensor<6x6xf32, #dist.layout<[dp, -], of = [12, 6]>>>
  return
}

// CHECK-LABEL: @scatter_and_exchange
func.func @scatter_and_exchange(%0: tensor<4x6xf32, #dist.layout<[-, -], partial = [tp], of = [4, 6]>>,
                                %1: tensor<2x9xf32, #dist.layout<[tp, -], of = [6, 9]>>) {
  // CHECK: dist.reduce_scatter {{.*}} to !dist.pending
  %2 = dist.reduce_scatter %0 dim 1 over ["tp"] : tensor<4x6xf32, #dist.layout<[-, -], partial = [tp], of = [4, 6]>> to !dist.pending<tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>>
  // CHECK: dist.all_to_all {{.*}} to !dist.pending
  %3 = dist.all_to_all %1 split 1 concat 0 over ["tp"] : tensor<2x9xf32, #dist.layout<[tp, -], of = [6, 9]>> to !dist.pending<tensor<6x3xf32, #dist.layout<[-, tp], of = [6, 9]>>>
  // CHECK-COUNT-2: dist.wait
  %4 = dist.wait %3 : !dist.pending<tensor<6x3xf32, #dist.layout<[-, tp], of = [6, 9]>>>
  %5 = dist.wait %2 : !dist.pending<tensor<4x2xf32, #dist.layout<[-, tp], of = [4, 6]>>>
  return
}
