// RUN: tgpt-opt %s --dist-chunk-reductions='chunks=24' | FileCheck %s
// RUN: not tgpt-opt %s --dist-chunk-reductions 2>&1 | FileCheck %s --check-prefix=EIGHT

// EIGHT: error: 'tgpt.linear' op sums 8 chunks, which "dp" of 3 ranks does not divide

// 24 chunks on two ranks are 12 each, of which a rank has two nodes; on three ranks they are 8, one node.
module @nodes attributes {tgpt.reduction = "canonical"} {
  dist.mesh @mesh (dp = 3, pp = 1, tp = 2)
  // CHECK-LABEL: @two_nodes
  func.func @two_nodes(%x: tensor<3x4x48xf32, #dist.layout<[-, -, tp]>>, %w: tensor<5x48xf32, #dist.layout<[-, tp]>>) -> tensor<3x4x5xf32, #dist.layout<[-, -, -]>> {
    // CHECK: %[[A:.+]] = tgpt.linear %{{.+}} {tgpt.chunks = #tgpt.chunks<count = 24, operand = 0, dim = 2>, tgpt.node = #tgpt.node<index = 0, axes = ["tp"]>}
    // CHECK: %[[B:.+]] = tgpt.linear %{{.+}} {tgpt.chunks = #tgpt.chunks<count = 24, operand = 0, dim = 2>, tgpt.node = #tgpt.node<index = 1, axes = ["tp"]>}
    // CHECK: %[[SUM:.+]] = tgpt.join_nodes %[[A]], %[[B]] addends 3
    // CHECK: dist.reshard %[[SUM]]
    %0 = tgpt.linear %x, %w : (tensor<3x4x48xf32, #dist.layout<[-, -, tp]>>, tensor<5x48xf32, #dist.layout<[-, tp]>>) -> tensor<3x4x5xf32, #dist.layout<[-, -, -], partial = [tp]>>
    %1 = dist.reshard %0 : tensor<3x4x5xf32, #dist.layout<[-, -, -], partial = [tp]>> to tensor<3x4x5xf32, #dist.layout<[-, -, -]>>
    return %1 : tensor<3x4x5xf32, #dist.layout<[-, -, -]>>
  }
  // CHECK-LABEL: @one_node
  func.func @one_node(%x: tensor<3x4x48xf32, #dist.layout<[-, -, dp]>>, %w: tensor<5x48xf32, #dist.layout<[-, dp]>>) {
    // CHECK-NOT: tgpt.node
    // CHECK: return
    %0 = tgpt.linear %x, %w : (tensor<3x4x48xf32, #dist.layout<[-, -, dp]>>, tensor<5x48xf32, #dist.layout<[-, dp]>>) -> tensor<3x4x5xf32, #dist.layout<[-, -, -], partial = [dp]>>
    return
  }
}
