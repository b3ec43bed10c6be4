// RUN: tgpt-opt %s -split-input-file | tgpt-opt -split-input-file | FileCheck %s

// Two addends on each of three ranks are six rows, of which a rank holds two.
dist.mesh @mesh (dp = 1, pp = 1, tp = 3)
// CHECK-LABEL: @stack
func.func @stack(%a: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>, %b: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>) {
  // CHECK: dist.stack_nodes %{{.+}}, %{{.+}} over ["tp"] : {{.*}} to tensor<2x4xf32, #dist.layout<[tp, -], of = [6, 4]>>
  %0 = dist.stack_nodes %a, %b over ["tp"] : tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>, tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>> to tensor<2x4xf32, #dist.layout<[tp, -], of = [6, 4]>>
  return
}
