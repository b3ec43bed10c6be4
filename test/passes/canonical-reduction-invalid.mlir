// RUN: split-file %s %t
// RUN: not tgpt-opt %t/four.mlir --tgpt-canonical-reduction='chunks=0' 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: not tgpt-opt %t/four.mlir --tgpt-canonical-reduction='chunks=5000' 2>&1 | FileCheck %s --check-prefix=MANY-CHUNKS
// RUN: not tgpt-opt %t/four.mlir --tgpt-canonical-reduction='tp=3' 2>&1 | FileCheck %s --check-prefix=TP
// RUN: not tgpt-opt %t/four.mlir --tgpt-canonical-reduction='tp=4095' 2>&1 | FileCheck %s --check-prefix=LARGE-TP
// RUN: not tgpt-opt %t/three.mlir --tgpt-canonical-reduction='micro-batches=65536' 2>&1 | FileCheck %s --check-prefix=MICRO-BATCHES
// RUN: not tgpt-opt %t/three.mlir --tgpt-canonical-reduction='dp=2' 2>&1 | FileCheck %s --check-prefix=DP
// RUN: not tgpt-opt %t/bf16.mlir --tgpt-canonical-reduction 2>&1 | FileCheck %s --check-prefix=BF16
// RUN: not tgpt-opt %t/none.mlir --tgpt-canonical-reduction 2>&1 | FileCheck %s --check-prefix=NONE
// Whatever the numbers of samples and micro-batches.
// RUN: tgpt-opt %t/three.mlir --tgpt-canonical-reduction | FileCheck %s --check-prefix=SERVED
// RUN: tgpt-opt %t/four.mlir --tgpt-canonical-reduction='micro-batches=3' | FileCheck %s --check-prefix=SERVED
// RUN: tgpt-opt %t/three.mlir --tgpt-canonical-reduction='micro-batches=2' | FileCheck %s --check-prefix=SERVED
// RUN: tgpt-opt %t/three.mlir --tgpt-canonical-reduction='dp=3 micro-batches=5' | FileCheck %s --check-prefix=SERVED
// RUN: tgpt-opt %t/four.mlir --tgpt-canonical-reduction='dp=2 micro-batches=3 tp=6 chunks=6' | FileCheck %s --check-prefix=SERVED

// CHUNKS: error: reduction-chunks is 0, but canonical reduction needs 1 to 4096; the nearest legal value is 1
// MANY-CHUNKS: error: reduction-chunks is 5000, but canonical reduction needs 1 to 4096; the nearest legal value is 4096
// TP: error: tp is 3, which does not divide the 8 reduction-chunks that each sum is cut into; the nearest legal tp is 2, and --reduction-chunks=24 (of the one rank as well) serves both
// LARGE-TP: error: tp is 4095, which does not divide the 8 reduction-chunks that each sum is cut into; the nearest legal tp is 8{{$}}
// MICRO-BATCHES: error: micro-batches is 65536, but canonical reduction needs at most 65536 sums of a power of two samples a rank; the nearest legal value is 21845
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
