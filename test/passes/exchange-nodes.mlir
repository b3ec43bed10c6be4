// RUN: tgpt-opt %s --dist-exchange-nodes -split-input-file -verify-diagnostics | FileCheck %s

// A piece for everyone: the nodes of all ranks come together for it.
module attributes {tgpt.reduction = "canonical"} {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 2)
  // CHECK-LABEL: @scattered
  func.func @scattered(%a: tensor<2x8xf32, #dist.layout<[-, -], partial = [tp], of = [2, 8]>>, %b: tensor<2x8xf32, #dist.layout<[-, -], partial = [tp], of = [2, 8]>>) -> tensor<2x4xf32, #dist.layout<[-, tp], of = [2, 8]>> {
    // CHECK: %[[ROWS:.+]] = dist.stack_nodes %{{.+}}, %{{.+}} over ["tp"] : {{.*}} to tensor<2x2x8xf32, #dist.layout<[tp, -, -], of = [4, 2, 8]>>
    // CHECK: %[[MOVED:.+]] = dist.all_to_all %[[ROWS]] split 2 concat 0 over ["tp"] {{.*}} to tensor<4x2x4xf32, #dist.layout<[-, -, tp], of = [4, 2, 8]>>
    // CHECK: %[[SUM:.+]] = tgpt.sum_nodes %[[MOVED]] {addends = 3 : i64, nodes = 2 : i64}
    // CHECK: return %[[SUM]]
    %0 = tgpt.join_nodes %a, %b addends 3 : (tensor<2x8xf32, #dist.layout<[-, -], partial = [tp], of = [2, 8]>>, tensor<2x8xf32, #dist.layout<[-, -], partial = [tp], of = [2, 8]>>) -> tensor<2x8xf32, #dist.layout<[-, -], partial = [tp], of = [2, 8]>>
    %1 = dist.reduce_scatter %0 dim 1 over ["tp"] tree : tensor<2x8xf32, #dist.layout<[-, -], partial = [tp], of = [2, 8]>> to tensor<2x4xf32, #dist.layout<[-, tp], of = [2, 8]>>
    return %1 : tensor<2x4xf32, #dist.layout<[-, tp], of = [2, 8]>>
  }
  // The whole sum: a piece each, and all pieces.
  // CHECK-LABEL: @whole
  func.func @whole(%a: tensor<3x8xf32, #dist.layout<[-, -], partial = [tp], of = [3, 8]>>, %b: tensor<3x8xf32, #dist.layout<[-, -], partial = [tp], of = [3, 8]>>) -> tensor<3x8xf32, #dist.layout<[-, -], of = [3, 8]>> {
    // CHECK: dist.stack_nodes
    // CHECK: dist.all_to_all {{.*}} split 2 concat 0
    // CHECK: %[[SUM:.+]] = tgpt.sum_nodes
    // CHECK: dist.all_gather %[[SUM]] dim 1 over ["tp"]
    // CHECK-NOT: join_nodes
    %0 = tgpt.join_nodes %a, %b addends 3 : (tensor<3x8xf32, #dist.layout<[-, -], partial = [tp], of = [3, 8]>>, tensor<3x8xf32, #dist.layout<[-, -], partial = [tp], of = [3, 8]>>) -> tensor<3x8xf32, #dist.layout<[-, -], partial = [tp], of = [3, 8]>>
    %1 = dist.all_reduce sum %0 over ["tp"] tree : tensor<3x8xf32, #dist.layout<[-, -], partial = [tp], of = [3, 8]>> to tensor<3x8xf32, #dist.layout<[-, -], of = [3, 8]>>
    return %1 : tensor<3x8xf32, #dist.layout<[-, -], of = [3, 8]>>
  }
  // A scalar has no pieces: everyone gets all nodes.
  // CHECK-LABEL: @scalar
  func.func @scalar(%a: tensor<f32, #dist.layout<[], partial = [tp], of = []>>, %b: tensor<f32, #dist.layout<[], partial = [tp], of = []>>) -> tensor<f32, #dist.layout<[], of = []>> {
    // CHECK: %[[ROWS:.+]] = dist.stack_nodes
    // CHECK: %[[ALL:.+]] = dist.all_gather %[[ROWS]] dim 0 over ["tp"] : {{.*}} to tensor<4xf32, #dist.layout<[-], of = [4]>>
    // CHECK: tgpt.sum_nodes %[[ALL]]
    %0 = tgpt.join_nodes %a, %b addends 3 : (tensor<f32, #dist.layout<[], partial = [tp], of = []>>, tensor<f32, #dist.layout<[], partial = [tp], of = []>>) -> tensor<f32, #dist.layout<[], partial = [tp], of = []>>
    %1 = dist.all_reduce sum %0 over ["tp"] tree : tensor<f32, #dist.layout<[], partial = [tp], of = []>> to tensor<f32, #dist.layout<[], of = []>>
    return %1 : tensor<f32, #dist.layout<[], of = []>>
  }
  // One rank adds its nodes from the right.
  // CHECK-LABEL: @alone
  func.func @alone(%a: tensor<4xf32, #dist.layout<[-], of = [4]>>, %b: tensor<4xf32, #dist.layout<[-], of = [4]>>, %c: tensor<4xf32, #dist.layout<[-], of = [4]>>) -> tensor<4xf32, #dist.layout<[-], of = [4]>> {
    // CHECK: %[[RIGHT:.+]] = tgpt.add %arg1, %arg2
    // CHECK: %[[ALL:.+]] = tgpt.add %arg0, %[[RIGHT]]
    // CHECK: return %[[ALL]]
    %0 = tgpt.join_nodes %a, %b, %c addends 7 : (tensor<4xf32, #dist.layout<[-], of = [4]>>, tensor<4xf32, #dist.layout<[-], of = [4]>>, tensor<4xf32, #dist.layout<[-], of = [4]>>) -> tensor<4xf32, #dist.layout<[-], of = [4]>>
    return %0 : tensor<4xf32, #dist.layout<[-], of = [4]>>
  }
}

// -----

// Five addends of the second of two ranks are three nodes.
module attributes {tgpt.reduction = "canonical"} {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 2)
  func.func @too_few(%a: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>, %b: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>) {
    %0 = tgpt.join_nodes %a, %b addends 5 : (tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>, tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>) -> tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>
    // expected-error @+1 {{sums over 2 ranks, which have 3 nodes of 5 addends, but is given 2}}
    %1 = dist.all_reduce sum %0 over ["tp"] tree : tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>> to tensor<4xf32, #dist.layout<[-], of = [4]>>
    return
  }
}

// -----

module attributes {tgpt.reduction = "canonical"} {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 2)
  func.func @partial(%a: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>, %b: tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>) -> tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>> {
    // expected-error @+1 {{is used as a partial sum, but not by a sum over ranks}}
    %0 = tgpt.join_nodes %a, %b addends 3 : (tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>, tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>) -> tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>
    return %0 : tensor<4xf32, #dist.layout<[-], partial = [tp], of = [4]>>
  }
}
