// RUN: split-file %s %t
// RUN: not tgpt-opt %t/four.mlir --tgpt-canonical-reduction='chunks=6' 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: not tgpt-opt %t/four.mlir --tgpt-canonical-reduction='tp=3' 2>&1 | FileCheck %s --check-prefix=TP
// RUN: not tgpt-opt %t/four.mlir --tgpt-canonical-reduction='tp=16' 2>&1 | FileCheck %s --check-prefix=LARGE-TP
// RUN: not tgpt-opt %t/four.mlir --tgpt-canonical-reduction='dp=2 micro-batches=3' 2>&1 | FileCheck %s --check-prefix=MICRO-BATCHES
// RUN: not tgpt-opt %t/three.mlir --tgpt-canonical-reduction='micro-batches=2' 2>&1 | FileCheck %s --check-prefix=SAMPLES
// RUN: not tgpt-opt %t/three.mlir --tgpt-canonical-reduction='dp=2' 2>&1 | FileCheck %s --check-prefix=DP
// RUN: not tgpt-opt %t/bf16.mlir --tgpt-canonical-reduction 2>&1 | FileCheck %s --check-prefix=BF16
// RUN: not tgpt-opt %t/none.mlir --tgpt-canonical-reduction 2>&1 | FileCheck %s --check-prefix=NONE
// Three samples of one rank have a tree, and so have three micro-batches of two.
// RUN: tgpt-opt %t/three.mlir --tgpt-canonical-reduction | FileCheck %s --check-prefix=SERVED
// RUN: tgpt-opt %t/four.mlir --tgpt-canonical-reduction='micro-batches=3' | FileCheck %s --check-prefix=SERVED

// CHUNKS: error: reduction-chunks is 6, but canonical reduction needs a power of two of at most 4096; the nearest legal value is 4
// TP: error: tp is 3, but canonical reduction needs a power of two of at most reduction-chunks = 8; the nearest legal value is 2
// LARGE-TP: error: tp is 16, but canonical reduction needs a power of two of at most reduction-chunks = 8; the nearest legal value is 8
// MICRO-BATCHES: error: micro-batches is 3, but canonical reduction needs a power of two where dp is more than 1; the nearest legal value is 2
// SAMPLES: error: micro-batch-samples is 3, but canonical reduction needs a power of two where a step has more than one micro-batch; the nearest legal value is 2
// DP: error: {{.*}}takes no samples that dp = 2 divides
// BF16: error: {{.*}}is 'bf16': a rank would round its partial sums to 'bf16', which one rank does not; canonical reduction serves f32 and f64
// NONE: error: no functions '@begin', '@micro_batch' and '@update', run tgpt-add-optimizer first
// SERVED: tgpt.reduction = "canonical"

//--- four.mlir
module @four {
  func.func @micro_batch(%x: tensor<4x6xi32>) attributes {tgpt.phase = "micro_batch"} {
    return
  }
  func.func @begin() attributes {tgpt.phase = "begin"} {
    return
  }
  func.func @update() attributes {tgpt.phase = "update"} {
    return
  }
}
//--- three.mlir
module @three {
  func.func @micro_batch(%x: tensor<3x6xi32>) attributes {tgpt.phase = "micro_batch"} {
    return
  }
  func.func @begin() attributes {tgpt.phase = "begin"} {
    return
  }
  func.func @update() attributes {tgpt.phase = "update"} {
    return
  }
}
//--- bf16.mlir
module @bf16 {
  tgpt.parameter @w : tensor<5xbf16> = #tgpt.init<mean = 1.0, stddev = 0.0>
  func.func @micro_batch(%x: tensor<4x6xi32>) attributes {tgpt.phase = "micro_batch"} {
    return
  }
  func.func @begin() attributes {tgpt.phase = "begin"} {
    return
  }
  func.func @update() attributes {tgpt.phase = "update"} {
    return
  }
}
//--- none.mlir
module {}
