// RUN: tgpt-opt %s --tgpt-canonical-reduction='dp=2' | FileCheck %s --check-prefix=NODES
// RUN: tgpt-opt %s --tgpt-canonical-reduction='dp=3 micro-batches=3' | FileCheck %s --check-prefix=MICRO

// Three samples of each of two ranks are nodes [0, 2) [2, 3) and [3, 4) [4, 6) of the tree: three sums of a sample, of
// which the accumulator and its carry keep the nodes, and which @update reads as a list.
// NODES-LABEL: module @three_samples
// NODES: func.func @micro_batch(%{{.+}}, %[[SAMPLES:.+]]: tensor<6xi32> {tgpt.name = "samples"})
// NODES: %[[A:.+]] = tgpt.linear_wgrad %{{.+}} {tgpt.part = #tgpt.part<index = 0, count = 3>}
// NODES: %[[B:.+]] = tgpt.linear_wgrad %{{.+}} {tgpt.part = #tgpt.part<index = 1, count = 3>}
// NODES: %[[C:.+]] = tgpt.linear_wgrad %{{.+}} {tgpt.part = #tgpt.part<index = 2, count = 3>}
// NODES-NOT: tgpt.linear_wgrad
// NODES: tgpt.accumulate %[[A]], @w.gradient carry [@w.gradient.carry.0] at %[[SAMPLES]] of 1 nodes_of 2 part 0 of 3
// NODES: tgpt.accumulate %[[B]], @w.gradient carry [@w.gradient.carry.0] at %[[SAMPLES]] of 1 nodes_of 2 part 1 of 3
// NODES: tgpt.accumulate %[[C]], @w.gradient carry [@w.gradient.carry.0] at %[[SAMPLES]] of 1 nodes_of 2 part 2 of 3
// NODES: func.func @begin
// NODES: tgpt.write %{{.+}}, @w.gradient.carry.0
// NODES: func.func @update
// NODES: %[[FIRST:.+]] = tgpt.read @w.gradient :
// NODES: %[[MORE:.+]] = tgpt.read @w.gradient.carry.0 :
// NODES: %[[SUM:.+]] = tgpt.join_nodes %[[FIRST]], %[[MORE]] addends 3
// NODES: tgpt.sum_squares %[[SUM]]
// Three micro-batches of two samples: nothing is cut, and what is added is number %samples / 2.
// MICRO-LABEL: module @three_samples
// MICRO-NOT: tgpt.part
// MICRO: tgpt.accumulate %{{.+}}, @w.gradient carry [@w.gradient.carry.0] at %{{.+}} of 3 nodes_of 3 : tensor<5x8xf32>, tensor<6xi32>
module @three_samples {
  tgpt.parameter @w : tensor<5x8xf32> = #tgpt.init<mean = 1.0, stddev = 0.0>
  tgpt.state gradient @w.gradient of @w : tensor<5x8xf32> {transient}
  func.func @micro_batch(%dy: tensor<6x4x5xf32>, %x: tensor<6x4x8xf32>) attributes {tgpt.phase = "micro_batch"} {
    %dw = tgpt.linear_wgrad %dy, %x : (tensor<6x4x5xf32>, tensor<6x4x8xf32>) -> tensor<5x8xf32>
    tgpt.accumulate %dw, @w.gradient : tensor<5x8xf32>
    return
  }
  func.func @begin() attributes {tgpt.phase = "begin"} {
    return
  }
  func.func @update() -> tensor<f32> attributes {tgpt.phase = "update"} {
    %g = tgpt.read @w.gradient : tensor<5x8xf32>
    %0 = tgpt.sum_squares %g : (tensor<5x8xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
