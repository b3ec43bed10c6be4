// RUN: split-file %s %t
// RUN: tgpt-opt %t/three-stages.mlir --dist-schedule-1f1b="micro-batches=1" | FileCheck %s --check-prefix=ONE
// RUN: tgpt-opt %t/three-stages.mlir --dist-schedule-1f1b="micro-batches=2" | FileCheck %s --check-prefix=TWO
// RUN: tgpt-opt %t/three-stages.mlir --dist-schedule-1f1b="micro-batches=4" | FileCheck %s --check-prefix=FOUR
// RUN: tgpt-opt %t/three-stages.mlir --dist-schedule-1f1b="micro-batches=7" --dist-schedule-1f1b="micro-batches=4" | FileCheck %s --check-prefix=FOUR
// RUN: not tgpt-opt %t/three-stages.mlir --dist-schedule-1f1b="micro-batches=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not tgpt-opt %t/no-segments.mlir --dist-schedule-1f1b 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tgpt-opt %t/one-segment.mlir --dist-schedule-1f1b 2>&1 | FileCheck %s --check-prefix=SOME
// RUN: tgpt-opt %t/empty-stage.mlir --dist-schedule-1f1b="micro-batches=2" | FileCheck %s --check-prefix=EMPTY
// RUN: not tgpt-opt %t/two-chunks.mlir --dist-schedule-1f1b 2>&1 | FileCheck %s --check-prefix=CHUNK

// One micro-batch needs one slot on each stage.
// ONE:      dist.schedule stage 0 of 1 slots [1] warm_up ["F0@0"] steady [] cool_down ["B0@0"]
// ONE-NEXT: dist.schedule stage 1 of 1 slots [1] warm_up ["F0@0"] steady [] cool_down ["B0@0"]
// ONE-NEXT: dist.schedule stage 2 of 1 slots [1] warm_up [] steady ["F0@0", "B0@0"] cool_down []

// Fewer micro-batches than stages: no more slots than micro-batches.
// TWO:      dist.schedule stage 0 of 2 slots [2] warm_up ["F0@0", "F1@1"] steady [] cool_down ["B0@0", "B1@1"]
// TWO-NEXT: dist.schedule stage 1 of 2 slots [2] warm_up ["F0@0"] steady ["F1@1", "B0@0"] cool_down ["B1@1"]
// TWO-NEXT: dist.schedule stage 2 of 2 slots [1] warm_up [] steady ["F0@0", "B0@0", "F1@0", "B1@0"] cool_down []

// More: a stage alternates once the pipeline is full. A second run replaces the first.
// FOUR:      dist.schedule stage 0 of 4 slots [3] warm_up ["F0@0", "F1@1"] steady ["F2@2", "B0@0", "F3@0", "B1@1"] cool_down ["B2@2", "B3@0"]
// FOUR-NEXT: dist.schedule stage 1 of 4 slots [2] warm_up ["F0@0"] steady ["F1@1", "B0@0", "F2@0", "B1@1", "F3@1", "B2@0"] cool_down ["B3@1"]
// FOUR-NEXT: dist.schedule stage 2 of 4 slots [1] warm_up [] steady ["F0@0", "B0@0", "F1@0", "B1@0", "F2@0", "B2@0", "F3@0", "B3@0"] cool_down []
// FOUR-NOT:  dist.schedule

// A stage without layers has nothing to run, and the pipeline is one stage shorter.
// EMPTY:      dist.schedule stage 0 of 2 slots [2] warm_up ["F0@0"] steady ["F1@1", "B0@0"] cool_down ["B1@1"]
// EMPTY-NEXT: dist.schedule stage 1 of 2 slots [0] warm_up [] steady [] cool_down []
// EMPTY-NEXT: dist.schedule stage 2 of 2 slots [1] warm_up [] steady ["F0@0", "B0@0", "F1@0", "B1@0"] cool_down []

// ZERO: error: micro-batches is 0; legal is 1 to 65536
// NONE: error: micro-batch has no segments to schedule; dist-split-stages makes them
// CHUNK: error: 'dist.segment' op of kind 'forward' and chunk 1 has no place in one-forward-one-backward, which knows forwards and backwards of one chunk a stage
// SOME: error: micro-batch has 1 forward and 0 backward segments of stage 0; legal is one of each, or none where the stage is empty

//--- three-stages.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 3, tp = 1)
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
    }
    dist.segment forward stage 1 {
    }
    dist.segment forward stage 2 {
    }
    dist.segment backward stage 2 {
    }
    dist.segment backward stage 1 {
    }
    dist.segment backward stage 0 {
    }
    return
  }
}
//--- no-segments.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 3, tp = 1)
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    return
  }
}
//--- one-segment.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 3, tp = 1)
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
    }
    return
  }
}
//--- two-chunks.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
    }
    dist.segment forward stage 0 chunk 1 {
    }
    return
  }
}
//--- empty-stage.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 3, tp = 1)
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
    }
    dist.segment forward stage 2 {
    }
    dist.segment backward stage 2 {
    }
    dist.segment backward stage 0 {
    }
    return
  }
}
