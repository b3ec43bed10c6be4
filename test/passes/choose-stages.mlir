// RUN: split-file %s %t
// RUN: tgpt-opt %t/ten-layers-three-stages.mlir --dist-choose-stages | FileCheck %s --check-prefix=INNER
// RUN: tgpt-opt %t/ten-layers-three-stages.mlir --dist-choose-stages="stages=5,4,1" | FileCheck %s --check-prefix=HAND
// RUN: tgpt-opt %t/ten-layers-three-stages.mlir --dist-choose-stages="stages=5,4,1" --dist-choose-stages | FileCheck %s --check-prefix=HAND
// RUN: tgpt-opt %t/eleven-layers-three-stages.mlir --dist-choose-stages | FileCheck %s --check-prefix=FIRST
// RUN: tgpt-opt %t/one-stage.mlir --dist-choose-stages | FileCheck %s --check-prefix=ONE
// RUN: not tgpt-opt %t/ten-layers-three-stages.mlir --dist-choose-stages="stages=5,4" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not tgpt-opt %t/ten-layers-three-stages.mlir --dist-choose-stages="stages=5,4,2" 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: tgpt-opt %t/ten-layers-three-stages.mlir --dist-choose-stages="stages=10,0,0" | FileCheck %s --check-prefix=ZERO
// RUN: tgpt-opt %t/ten-layers-three-stages.mlir --dist-choose-stages="chunks=2" | FileCheck %s --check-prefix=CHUNKS
// RUN: tgpt-opt %t/ten-layers-three-stages.mlir --dist-choose-stages="chunks=4" | FileCheck %s --check-prefix=FEW
// RUN: tgpt-opt %t/ten-layers-three-stages.mlir --dist-choose-stages="stages=2,2,2,2,1,1" --dist-choose-stages="chunks=2" | FileCheck %s --check-prefix=KEPT
// RUN: tgpt-opt %t/one-stage.mlir --dist-choose-stages="chunks=3" | FileCheck %s --check-prefix=ALONE
// RUN: not tgpt-opt %t/ten-layers-three-stages.mlir --dist-choose-stages="stages=5,4,1" --dist-choose-stages="chunks=2" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not tgpt-opt %t/ten-layers-three-stages.mlir --dist-choose-stages="stages=5,4,1 chunks=2" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not tgpt-opt %t/ten-layers-three-stages.mlir --dist-choose-stages="chunks=0" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tgpt-opt %t/ten-layers-three-stages.mlir --dist-choose-stages="chunks=4611686018427387904" 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: not tgpt-opt %t/ten-layers-three-stages.mlir --dist-choose-stages="stages=12,-1,-1" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: tgpt-opt %t/more-stages-than-layers.mlir --dist-choose-stages | FileCheck %s --check-prefix=MANY
// RUN: not tgpt-opt %t/wrong-decision.mlir --dist-choose-stages 2>&1 | FileCheck %s --check-prefix=WRONG

// A layer left over goes to an inner stage, the next to the first, none to the last.
// INNER: module attributes {dist.stages = array<i64: 3, 4, 3>}
// FIRST: module attributes {dist.stages = array<i64: 4, 4, 3>}
// A cut by hand is taken, and kept by a later run without one.
// HAND: module attributes {dist.stages = array<i64: 5, 4, 1>}
// One stage may have any number of layers.
// ONE: module attributes {dist.stages = array<i64: 0>}

// Each chunk of each stage is a virtual stage; the cut is as even as can be over them all.
// CHUNKS: module attributes {dist.stages = array<i64: 1, 2, 2, 2, 2, 1>}
// FEW: module attributes {dist.stages = array<i64: 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0>}
// KEPT: module attributes {dist.stages = array<i64: 2, 2, 2, 2, 1, 1>}
// ALONE: module attributes {dist.stages = array<i64: 0, 0, 0>}
// More stages than layers: some are empty.
// MANY: module attributes {dist.stages = array<i64: 1, 1, 1, 1, 0>}
// ZERO: module attributes {dist.stages = array<i64: 10, 0, 0>}

// COUNT: error: layers are given for 2 stages but mesh axis 'pp' is 3; legal is a number a stage or, with interleaving, a number a chunk of each stage
// SUM: error: stages are given 11 layers but the model has 10
// NEGATIVE: error: stage 0 is given 12 layers; legal is 0 to 10
// OTHER: error: layers are given for 3 virtual stages but 2 chunks of 3 stages are 6
// NONE: error: mesh axis 'pp' is 3 with 0 chunks a stage; legal are 1 chunk or more, and at most 4096 virtual stages
// HUGE: error: mesh axis 'pp' is 3 with 4611686018427387904 chunks a stage; legal are 1 chunk or more, and at most 4096 virtual stages
// WRONG: error: 'dist.stages': stages are given 3 layers but the model has 4

//--- ten-layers-three-stages.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 3, tp = 1)
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %1 = tgpt.gelu %0 {tgpt.layer = 10 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return
  }
}
//--- eleven-layers-three-stages.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 3, tp = 1)
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x {tgpt.layer = 11 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return
  }
}
//--- one-stage.mlir
module {
  dist.mesh @mesh (dp = 2, tp = 1)
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return
  }
}
//--- more-stages-than-layers.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 5, tp = 1)
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x {tgpt.layer = 4 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return
  }
}
//--- wrong-decision.mlir
module attributes {dist.stages = array<i64: 1, 2>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x {tgpt.layer = 4 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return
  }
}
