// RUN: split-file %s %t
// RUN: tgpt-opt %t/three-stages.mlir --dist-schedule="micro-batches=1" | FileCheck %s --check-prefix=ONE
// RUN: tgpt-opt %t/three-stages.mlir --dist-schedule="micro-batches=2" | FileCheck %s --check-prefix=TWO
// RUN: tgpt-opt %t/three-stages.mlir --dist-schedule="micro-batches=4" | FileCheck %s --check-prefix=FOUR
// RUN: tgpt-opt %t/three-stages.mlir --dist-schedule="kind=gpipe micro-batches=7" --dist-schedule="micro-batches=4" | FileCheck %s --check-prefix=FOUR
// RUN: tgpt-opt %t/three-stages.mlir --dist-schedule="kind=gpipe micro-batches=4" | FileCheck %s --check-prefix=GPIPE
// RUN: tgpt-opt %t/weight-gradients.mlir --dist-schedule="kind=zero-bubble micro-batches=3" | FileCheck %s --check-prefix=ZERO-BUBBLE
// RUN: tgpt-opt %t/chunks.mlir --dist-schedule="micro-batches=3" | FileCheck %s --check-prefix=CHUNKS
// RUN: tgpt-opt %t/one-stage.mlir --dist-schedule="micro-batches=2" | FileCheck %s --check-prefix=ONE-STAGE
// RUN: tgpt-opt %t/empty-stage.mlir --dist-schedule="micro-batches=3" | FileCheck %s --check-prefix=EMPTY
// RUN: tgpt-opt %t/skips.mlir --dist-schedule="micro-batches=4" | FileCheck %s --check-prefix=SKIPS
// RUN: tgpt-opt %t/skips.mlir --dist-schedule="micro-batches=4" --dist-schedule="kind=gpipe micro-batches=4" --tgpt-pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNTS
// RUN: not tgpt-opt %t/three-stages.mlir --dist-schedule="micro-batches=0" 2>&1 | FileCheck %s --check-prefix=NO-MICRO-BATCH
// RUN: not tgpt-opt %t/three-stages.mlir --dist-schedule="kind=zb" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not tgpt-opt %t/many-stages.mlir --dist-schedule="micro-batches=65536" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not tgpt-opt %t/no-segments.mlir --dist-schedule 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tgpt-opt %t/one-segment.mlir --dist-schedule 2>&1 | FileCheck %s --check-prefix=NO-BACKWARD
// RUN: not tgpt-opt %t/no-forward.mlir --dist-schedule 2>&1 | FileCheck %s --check-prefix=NO-FORWARD
// RUN: not tgpt-opt %t/twice.mlir --dist-schedule 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not tgpt-opt %t/weight-gradients.mlir --dist-schedule="kind=1f1b" 2>&1 | FileCheck %s --check-prefix=PLACE

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

// All forwards, then all backwards: every micro-batch is held, and there is no steady phase.
// GPIPE-COUNT-3: of 4 slots [4] warm_up ["F0@0", "F1@1", "F2@2", "F3@3"] steady [] cool_down ["B0@0", "B1@1", "B2@2", "B3@3"]

// A weight gradient runs when its stage has nothing else to do, and holds its slot until then. Stage 1 has none.
// ZERO-BUBBLE:      dist.schedule stage 0 of 3 slots [2] warm_up ["F0@0"] steady ["F1@1", "B0@0", "W0@0", "F2@0", "B1@1"] cool_down ["W1@1", "B2@0", "W2@0"]
// ZERO-BUBBLE-NEXT: dist.schedule stage 1 of 3 slots [1] warm_up [] steady ["F0@0", "B0@0", "F1@0", "B1@0", "F2@0", "B2@0"] cool_down []

// Interleaved, with a number of micro-batches that is no multiple of the stages: each chunk has slots of its own.
// CHUNKS:      dist.schedule stage 0 of 3 slots [3, 2] warm_up ["F0@0", "F1@1", "F0.1@0", "F1.1@1"] steady ["F2@2", "B0.1@0", "B1.1@1", "F2.1@0", "B0@0"] cool_down ["B1@1", "B2.1@0", "B2@2"]
// CHUNKS-NEXT: dist.schedule stage 1 of 3 slots [3, 1] warm_up ["F0@0", "F1@1"] steady ["F0.1@0", "B0.1@0", "F1.1@0", "B1.1@0", "F2@2", "B0@0", "F2.1@0", "B1@1"] cool_down ["B2.1@0", "B2@2"]

// Two chunks of one stage.
// ONE-STAGE: dist.schedule stage 0 of 2 slots [2, 1] warm_up ["F0@0"] steady ["F0.1@0", "B0.1@0", "F1@1", "B0@0", "F1.1@0", "B1.1@0"] cool_down ["B1@1"]

// A stage without work makes the pipeline no deeper: the first of two stages holds two micro-batches.
// EMPTY:      dist.schedule stage 0 of 3 slots [2] warm_up ["F0@0"] steady ["F1@1", "B0@0", "F2@0", "B1@1"] cool_down ["B2@0"]
// EMPTY-NEXT: dist.schedule stage 1 of 3 slots [0] warm_up [] steady [] cool_down []
// EMPTY-NEXT: dist.schedule stage 2 of 3 slots [1] warm_up [] steady ["F0@0", "B0@0", "F1@0", "B1@0", "F2@0", "B2@0"] cool_down []

// Stage 0 runs ahead of stage 2 by two micro-batches, so two messages wait at a time; one does between neighbours.
// SKIPS: dist.send_recv %{{.+}} from 0 to 1 depth 1 : tensor<4xf32>
// SKIPS: dist.send_recv %{{.+}} from 0 to 2 depth 2 : tensor<4xf32>
// SKIPS: dist.send_recv %{{.+}} from 2 to 0 depth 1 : tensor<4xf32>
// COUNTS: dist-schedule
// COUNTS-NEXT: {{^ +}}48 entries-written
// COUNTS-NEXT: {{^ +}}3 schedules-replaced
// COUNTS-NEXT: {{^ +}}3 channels-deepened

// NO-MICRO-BATCH: error: micro-batches is 0; legal is 1 to 65536
// KIND: error: kind is 'zb', expected gpipe, 1f1b or zero-bubble
// MANY: error: schedules of 64 virtual stages and 65536 micro-batches have up to 12582912 entries; legal is up to 4194304, such as 21845 micro-batches
// NONE: error: micro-batch has no segments to schedule; dist-split-stages makes them
// NO-BACKWARD: error: 'dist.segment' op is of stage 0, which has no segment of kind 'backward'; a schedule needs both
// NO-FORWARD: error: 'dist.segment' op is of stage 2 chunk 1, which has no segment of kind 'forward'; a schedule needs both
// TWICE: error: 'dist.segment' op is a second forward of stage 0
// TWICE: note: first one here
// PLACE: error: 'dist.segment' op is of kind 'weight_gradient', which a schedule of kind '1f1b' has no place for; kind=zero-bubble has

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
//--- weight-gradients.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
    }
    dist.segment forward stage 1 {
    }
    dist.segment backward stage 1 {
    }
    dist.segment backward stage 0 {
    }
    dist.segment weight_gradient stage 0 {
    }
    return
  }
}
//--- chunks.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
    }
    dist.segment forward stage 1 {
    }
    dist.segment forward stage 0 chunk 1 {
    }
    dist.segment forward stage 1 chunk 1 {
    }
    dist.segment backward stage 1 chunk 1 {
    }
    dist.segment backward stage 0 chunk 1 {
    }
    dist.segment backward stage 1 {
    }
    dist.segment backward stage 0 {
    }
    return
  }
}
//--- one-stage.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 1, tp = 1)
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
    }
    dist.segment forward stage 0 chunk 1 {
    }
    dist.segment backward stage 0 chunk 1 {
    }
    dist.segment backward stage 0 {
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
//--- skips.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 3, tp = 1)
  func.func @micro_batch(%x: tensor<4xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = dist.segment forward stage 0 {
      %h = tgpt.gelu %x : (tensor<4xf32>) -> tensor<4xf32>
      dist.yield %h : tensor<4xf32>
    } : tensor<4xf32>
    %1 = dist.send_recv %0 from 0 to 1 : tensor<4xf32>
    %2 = dist.send_recv %0 from 0 to 2 : tensor<4xf32>
    dist.segment forward stage 1 {
    }
    dist.segment forward stage 2 {
    }
    %3 = dist.segment backward stage 2 {
      %h = tgpt.gelu %2 : (tensor<4xf32>) -> tensor<4xf32>
      dist.yield %h : tensor<4xf32>
    } : tensor<4xf32>
    %4 = dist.send_recv %3 from 2 to 0 : tensor<4xf32>
    dist.segment backward stage 1 {
      %h = tgpt.gelu %1 : (tensor<4xf32>) -> tensor<4xf32>
    }
    dist.segment backward stage 0 {
      %h = tgpt.gelu %4 : (tensor<4xf32>) -> tensor<4xf32>
    }
    return
  }
}
//--- many-stages.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 64, tp = 1)
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 63 {
    }
    dist.segment backward stage 63 {
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
//--- no-forward.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 3, tp = 1)
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    dist.segment weight_gradient stage 2 chunk 1 {
    }
    return
  }
}
//--- twice.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 3, tp = 1)
  func.func @micro_batch() attributes {tgpt.phase = "micro_batch"} {
    dist.segment forward stage 0 {
    }
    dist.segment forward stage 0 {
    }
    return
  }
}
