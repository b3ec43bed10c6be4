// RUN: split-file %s %t
// RUN: tgpt-opt %t/source.mlir --dist-split-stages="keep-source=true" -o %t/split.mlir
// RUN: tgpt-opt %t/split.mlir --dist-verify-stages --tgpt-pass-statistics -o %t/out.mlir 2>&1 | FileCheck %s --check-prefix=PROVED
// RUN: FileCheck %s --check-prefix=SPLIT --input-file=%t/split.mlir
// RUN: tgpt-opt %t/source.mlir --dist-split-stages | FileCheck %s --check-prefix=ERASED --implicit-check-not=dist.source --implicit-check-not=tgpt.layer
// RUN: not tgpt-opt %t/source.mlir --dist-verify-stages 2>&1 | FileCheck %s --check-prefix=NUMBERS

// Edited by hand, as it were: another decision, and ops moved, dropped, repeated and put out of reach.
// RUN: sed 's/array<i64: 1, 1>} {/array<i64: 2, 0>} {/' %t/split.mlir | not tgpt-opt --dist-verify-stages 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: sed 's/array<i64: 1, 1>} {/array<i64: 1, 0>} {/' %t/split.mlir | not tgpt-opt --dist-verify-stages 2>&1 | FileCheck %s --check-prefix=LAYERS
// RUN: sed 's/tgpt.layer = 1/tgpt.layer = 0/' %t/split.mlir | not tgpt-opt --dist-verify-stages 2>&1 | FileCheck %s --check-prefix=MOVED
// RUN: sed 's/array<i64: 3, 6>/array<i64: 3, 8>/' %t/split.mlir | not tgpt-opt --dist-verify-stages 2>&1 | FileCheck %s --check-prefix=DROPPED
// RUN: sed 's/dist.source_op = 1 /dist.source_op = 0 /' %t/split.mlir | not tgpt-opt --dist-verify-stages 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: sed 's/array<i64: 3, 6>/array<i64: 3, 5>/' %t/split.mlir | not tgpt-opt --dist-verify-stages 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: sed 's/array<i64: 3, 6>/array<i64: 2, 6>/' %t/split.mlir | not tgpt-opt --dist-verify-stages 2>&1 | FileCheck %s --check-prefix=PHASE
// RUN: sed 's/array<i64: 3, 6>/array<i64: 7, 6>/' %t/split.mlir | not tgpt-opt --dist-verify-stages 2>&1 | FileCheck %s --check-prefix=NUMBERS

// PROVED: dist-verify-stages
// PROVED: 6 ops-proved
// SPLIT: dist.source_ops = array<i64: 3, 6>
// SPLIT: dist.segment forward stage 0
// SPLIT: tgpt.gelu {{.*}}dist.source_op = 0 : i64, tgpt.layer = 0 : i64
// SPLIT: dist.segment forward stage 1
// SPLIT: tgpt.gelu {{.*}}dist.source_op = 1 : i64, tgpt.layer = 1 : i64
// ERASED: dist.segment forward stage 0
// NUMBERS: error: the micro-batch has no legal 'dist.source_ops' (array of i64: where the backward begins, how many ops); dist-split-stages{keep-source=true} leaves it
// CUT: error: layer 1 is on stage 0 by 'dist.stages', but this op of it on stage 1
// LAYERS: error: layer 2 is on no stage: 'dist.stages' gives 1 layers
// MOVED: error: layer 0 is on stage 0 by 'dist.stages', but this op of it on stage 1
// DROPPED: error: op 6 of the source is in no segment, one of 2 of 8
// TWICE: error: op 0 of the source is in two segments
// TWICE: note: it is here already
// RANGE: error: op 5 of the source is out of range; the source has 5
// PHASE: error: op 2 of the source is in its backward but stands in a forward segment

//--- source.mlir
module attributes {dist.stages = array<i64: 1, 1>} {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  tgpt.state metric @loss_sum : tensor<f32> {transient}
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x {tgpt.layer = 0 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %1 = tgpt.gelu %0 {tgpt.layer = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %2 = tgpt.sum_squares %1 {tgpt.layer = 2 : i64} : (tensor<4x6xf32>) -> tensor<f32>
    tgpt.begin_backward
    %d2 = tgpt.fill {value = 1.0 : f64, tgpt.layer = 2 : i64} : () -> tensor<4x6xf32>
    %d1 = tgpt.gelu_grad %d2, %1 {tgpt.layer = 1 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %d0 = tgpt.gelu_grad %d1, %0 {tgpt.layer = 0 : i64} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    tgpt.accumulate %2, @loss_sum {tgpt.layer = 2 : i64} : tensor<f32>
    return
  }
}
