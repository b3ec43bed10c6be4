// RUN: split-file %s %t
// RUN: tgpt-opt %t/no-cost.mlir --dist-choose-stages | FileCheck %s --check-prefix=EVEN
// RUN: tgpt-opt %t/no-cost.mlir --dist-choose-stages="stages=5,4,1" | FileCheck %s --check-prefix=HAND
// RUN: tgpt-opt %t/no-cost.mlir --dist-choose-stages="stages=5,4,1" --dist-choose-stages | FileCheck %s --check-prefix=HAND
// RUN: tgpt-opt %t/one-stage.mlir --dist-choose-stages | FileCheck %s --check-prefix=ONE
// RUN: not tgpt-opt %t/no-cost.mlir --dist-choose-stages="stages=5,4" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not tgpt-opt %t/no-cost.mlir --dist-choose-stages="stages=5,4,2" 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: tgpt-opt %t/no-cost.mlir --dist-choose-stages="stages=10,0,0" | FileCheck %s --check-prefix=ZERO
// RUN: tgpt-opt %t/no-cost.mlir --dist-choose-stages="chunks=2" | FileCheck %s --check-prefix=CHUNKS
// RUN: tgpt-opt %t/no-cost.mlir --dist-choose-stages="chunks=4" | FileCheck %s --check-prefix=FEW
// RUN: tgpt-opt %t/no-cost.mlir --dist-choose-stages="stages=2,2,2,2,1,1" --dist-choose-stages="chunks=2" | FileCheck %s --check-prefix=KEPT
// RUN: tgpt-opt %t/one-stage.mlir --dist-choose-stages="chunks=3" | FileCheck %s --check-prefix=ALONE
// RUN: not tgpt-opt %t/no-cost.mlir --dist-choose-stages="stages=5,4,1" --dist-choose-stages="chunks=2" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not tgpt-opt %t/no-cost.mlir --dist-choose-stages="stages=5,4,1 chunks=2" 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not tgpt-opt %t/no-cost.mlir --dist-choose-stages="chunks=0" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tgpt-opt %t/no-cost.mlir --dist-choose-stages="chunks=4611686018427387904" 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: not tgpt-opt %t/no-cost.mlir --dist-choose-stages="stages=12,-1,-1" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: tgpt-opt %t/more-stages-than-layers.mlir --dist-choose-stages | FileCheck %s --check-prefix=MANY
// RUN: not tgpt-opt %t/wrong-decision.mlir --dist-choose-stages 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not tgpt-opt %t/layer-out-of-range.mlir --dist-choose-stages 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not tgpt-opt %t/too-many-layers.mlir --dist-choose-stages 2>&1 | FileCheck %s --check-prefix=LAYERS

// RUN: tgpt-opt %t/heavy-layer.mlir --dist-choose-stages | FileCheck %s --check-prefix=HEAVY
// RUN: tgpt-opt %t/activations.mlir --dist-choose-stages="micro-batches=1" | FileCheck %s --check-prefix=ONE-IN-FLIGHT
// RUN: tgpt-opt %t/activations.mlir --dist-choose-stages="micro-batches=8 memory-limit-bytes=12300" | FileCheck %s --check-prefix=LIMIT
// RUN: not tgpt-opt %t/activations.mlir --dist-choose-stages="micro-batches=8 memory-limit-bytes=8000" 2>&1 | FileCheck %s --check-prefix=MISFIT --implicit-check-not=error:
// RUN: not tgpt-opt %t/activations.mlir --dist-choose-stages="micro-batches=8 memory-limit-bytes=12300 stages=4,2" 2>&1 | FileCheck %s --check-prefix=HAND-MISFIT --implicit-check-not=error:

// RUN: tgpt-opt %t/activations.mlir --dist-choose-stages="micro-batches=8 report=true" | FileCheck %s --check-prefix=REPORT
// RUN: tgpt-opt %t/activations.mlir --dist-choose-stages="micro-batches=8 stages=4,2" --remarks-filter=dist-choose-stages --remark-format=emitRemark -o %t/out.mlir 2>&1 | count 0
// RUN: tgpt-opt %t/activations.mlir --dist-choose-stages="micro-batches=8" --remarks-filter=dist-choose-stages --remark-format=emitRemark -o %t/out.mlir 2>&1 | FileCheck %s --check-prefix=REMARK

// RUN: not tgpt-opt %t/activations.mlir --dist-choose-stages="device=name:x" 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: tgpt-opt %t/collective.mlir --dist-choose-stages | FileCheck %s --check-prefix=NO-LINKS
// RUN: tgpt-opt %t/collective.mlir --dist-choose-stages="report=true links=2;2,0,1e9,0,0,0,0,0,0;0,0,1e9,0,0,0,0,0,0" | FileCheck %s --check-prefix=SLOW-LINKS
// RUN: not tgpt-opt %t/activations.mlir --dist-choose-stages="links=8" 2>&1 | FileCheck %s --check-prefix=LINKS
// RUN: not tgpt-opt %t/activations.mlir --dist-choose-stages="micro-batches=0" 2>&1 | FileCheck %s --check-prefix=MICRO
// RUN: not tgpt-opt %t/activations.mlir --dist-choose-stages="memory-limit-bytes=-1" 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not tgpt-opt %t/activations.mlir --dist-choose-stages="zero=4" 2>&1 | FileCheck %s --check-prefix=ZERO-STAGE

// RUN: not tgpt-opt %t/activations.mlir --dist-choose-stages="schedule=2f2b" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: tgpt-opt %t/activations.mlir --dist-choose-stages="micro-batches=8 schedule=gpipe report=true" | FileCheck %s --check-prefix=GPIPE

// Layers without ops cost nothing: they are dealt out evenly, the last stages getting those that are left over.
// EVEN: module attributes {dist.stages = array<i64: 3, 3, 4>}
// A cut by hand is taken, and kept by a later run without one.
// HAND: module attributes {dist.stages = array<i64: 5, 4, 1>}
// One stage may have any number of layers.
// ONE: module attributes {dist.stages = array<i64: 0>}

// Each chunk of each stage is a virtual stage.
// CHUNKS: module attributes {dist.stages = array<i64: 1, 1, 2, 2, 2, 2>}
// FEW: module attributes {dist.stages = array<i64: 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1>}
// KEPT: module attributes {dist.stages = array<i64: 2, 2, 2, 2, 1, 1>}
// ALONE: module attributes {dist.stages = array<i64: 0, 0, 0>}
// More stages than layers: some are empty.
// MANY: module attributes {dist.stages = array<i64: 0, 1, 1, 1, 1>}
// ZERO: module attributes {dist.stages = array<i64: 10, 0, 0>}

// COUNT: error: layers are given for 2 stages but mesh axis 'pp' is 3; legal is a number a stage or, with interleaving, a number a chunk of each stage
// SUM: error: stages are given 11 layers but the model has 10
// NEGATIVE: error: stage 0 is given 12 layers; legal is 0 to 10
// OTHER: error: layers are given for 3 virtual stages but 2 chunks of 3 stages are 6
// NONE: error: mesh axis 'pp' is 3 with 0 chunks a stage; legal are 1 chunk or more, and at most 4096 virtual stages
// HUGE: error: mesh axis 'pp' is 3 with 4611686018427387904 chunks a stage; legal are 1 chunk or more, and at most 4096 virtual stages
// WRONG: error: 'dist.stages': stages are given 3 layers but the model has 4
// RANGE: error: 'tgpt.layer' is -2; legal is -1 to 4
// LAYERS: error: the model has 20000 layers; a cut is chosen for at most 16384

// Layer 3 has three products, the others one each: half of the work is there.
// HEAVY: dist.stages = array<i64: 3, 1>

// The same six layers with one micro-batch, and with two in flight on stage 0. A layer keeps 1600 bytes; 3200 bytes of
// messages and 1600 of scratch leave room for 2 layers x 2 x 1600 on stage 0 within 12300 bytes.
// ONE-IN-FLIGHT: dist.stages = array<i64: 3, 3>
// LIMIT: dist.stages = array<i64: 2, 4>
// MISFIT: activations.mlir:{{.*}}: error: no cut of 6 layers into 2 stages fits: the closest, 2,4, does not, stage {{[01]}} needs
// MISFIT-SAME: more than the limit of 7.81 KiB
// MISFIT: note: each of these alone would do: --memory-gib=1.067e-05
// HAND-MISFIT: error: the cut 4,2 does not fit: stage 0 needs
// HAND-MISFIT: note: each of these alone would do:

// REPORT: dist.stage_report = {activation_bytes = array<i64: 9600, 4800>
// REPORT-SAME: device = "H100-SXM5-80GB"
// REPORT-SAME: layers = array<i64: 3, 3>
// REPORT-SAME: slots = array<i64: 2, 1>
// REPORT-SAME: dist.stages = array<i64: 3, 3>

// GPIPE: dist.stage_report = {activation_bytes = array<i64: 38400, 38400>
// GPIPE-SAME: slots = array<i64: 8, 8>

// REMARK-DAG: remark: [Analysis] cut | Category:dist-choose-stages | leastNanoseconds=[[LEAST:[0-9]+]], limitBytes=0, longestPartNanoseconds={{[0-9]+}}, meanNanoseconds={{[0-9]+}}, slowestNanoseconds=[[LEAST]]
// REMARK-DAG: remark: [Analysis] stage | Category:dist-choose-stages | bytes={{[0-9]+}}, layers=3, nanoseconds={{[0-9]+}}, stage=0
// REMARK-DAG: remark: [Analysis] stage | Category:dist-choose-stages | bytes={{[0-9]+}}, layers=3, nanoseconds={{[0-9]+}}, stage=1

// Four equal layers, the first of which sums 16 KiB over the two ranks of a node: 16 us at 1 GB/s.
// NO-LINKS: dist.stages = array<i64: 2, 2>
// SLOW-LINKS: dist.stage_report = {
// SLOW-LINKS-SAME: collective_nanoseconds = array<i64: 16384, 0>
// SLOW-LINKS-SAME: counts_collectives
// SLOW-LINKS-SAME: dist.stages = array<i64: 1, 3>
// LINKS: error: option 'links': expected ranks of a node and 1 to 6 levels, separated by ';'
// DEVICE: error: option 'device': memory_bytes: is missing
// MICRO: error: option 'micro-batches' is 0, expected 1 to 1048576
// BYTES: error: option 'memory-limit-bytes' is -1, expected 0 for no limit, or a number of bytes
// KIND: error: option 'schedule' is '2f2b', expected gpipe, 1f1b or zero-bubble
// ZERO-STAGE: error: option 'zero' is 4, expected 0 to 3

//--- no-cost.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 3, tp = 1)
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x {tgpt.layer = 10 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
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
//--- layer-out-of-range.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x {tgpt.layer = -2 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %1 = tgpt.gelu %x {tgpt.layer = 4 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return
  }
}
//--- too-many-layers.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  func.func @micro_batch(%x: tensor<4x6xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x {tgpt.layer = 20000 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return
  }
}
//--- heavy-layer.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  func.func @micro_batch(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.linear %x, %w {tgpt.layer = 0 : i64} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %1 = tgpt.linear %0, %w {tgpt.layer = 1 : i64} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %2 = tgpt.linear %1, %w {tgpt.layer = 2 : i64} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %3 = tgpt.linear %2, %w {tgpt.layer = 3 : i64} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %4 = tgpt.linear %3, %w {tgpt.layer = 3 : i64} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %5 = tgpt.linear %4, %w {tgpt.layer = 3 : i64} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %6 = tgpt.sum_squares %5 {tgpt.layer = 4 : i64} : (tensor<512x512xf32>) -> tensor<f32>
    return
  }
}
//--- collective.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 2)
  func.func @micro_batch(%x: tensor<64x64xf32, #dist.layout<[-, -], partial = [tp], of = [64, 64]>>) attributes {tgpt.phase = "micro_batch"} {
    %0 = dist.all_reduce sum %x over ["tp"] {tgpt.layer = 0 : i64} : tensor<64x64xf32, #dist.layout<[-, -], partial = [tp], of = [64, 64]>> to tensor<64x64xf32, #dist.layout<[-, -], of = [64, 64]>>
    %1 = tgpt.gelu %0 {tgpt.layer = 0 : i64} : (tensor<64x64xf32, #dist.layout<[-, -], of = [64, 64]>>) -> tensor<64x64xf32, #dist.layout<[-, -], of = [64, 64]>>
    %2 = tgpt.gelu %1 {tgpt.layer = 1 : i64} : (tensor<64x64xf32, #dist.layout<[-, -], of = [64, 64]>>) -> tensor<64x64xf32, #dist.layout<[-, -], of = [64, 64]>>
    %3 = tgpt.gelu %2 {tgpt.layer = 2 : i64} : (tensor<64x64xf32, #dist.layout<[-, -], of = [64, 64]>>) -> tensor<64x64xf32, #dist.layout<[-, -], of = [64, 64]>>
    %4 = tgpt.gelu %3 {tgpt.layer = 3 : i64} : (tensor<64x64xf32, #dist.layout<[-, -], of = [64, 64]>>) -> tensor<64x64xf32, #dist.layout<[-, -], of = [64, 64]>>
    %5 = tgpt.gelu %4 {tgpt.layer = 4 : i64} : (tensor<64x64xf32, #dist.layout<[-, -], of = [64, 64]>>) -> tensor<64x64xf32, #dist.layout<[-, -], of = [64, 64]>>
    return
  }
}
//--- activations.mlir
module {
  dist.mesh @mesh (dp = 1, pp = 2, tp = 1)
  func.func @micro_batch(%x: tensor<20x20xf32>) attributes {tgpt.phase = "micro_batch"} {
    %0 = tgpt.gelu %x {tgpt.layer = 0 : i64} : (tensor<20x20xf32>) -> tensor<20x20xf32>
    %1 = tgpt.gelu %0 {tgpt.layer = 1 : i64} : (tensor<20x20xf32>) -> tensor<20x20xf32>
    %2 = tgpt.gelu %1 {tgpt.layer = 2 : i64} : (tensor<20x20xf32>) -> tensor<20x20xf32>
    %3 = tgpt.gelu %2 {tgpt.layer = 3 : i64} : (tensor<20x20xf32>) -> tensor<20x20xf32>
    %4 = tgpt.gelu %3 {tgpt.layer = 4 : i64} : (tensor<20x20xf32>) -> tensor<20x20xf32>
    %5 = tgpt.gelu %4 {tgpt.layer = 5 : i64} : (tensor<20x20xf32>) -> tensor<20x20xf32>
    %6 = tgpt.sum_squares %5 {tgpt.layer = 6 : i64} : (tensor<20x20xf32>) -> tensor<f32>
    tgpt.begin_backward
    %d6 = tgpt.fill {value = 1.0 : f64, tgpt.layer = 6 : i64} : () -> tensor<20x20xf32>
    %d5 = tgpt.gelu_grad %d6, %5 {tgpt.layer = 5 : i64} : (tensor<20x20xf32>, tensor<20x20xf32>) -> tensor<20x20xf32>
    %d4 = tgpt.gelu_grad %d5, %4 {tgpt.layer = 4 : i64} : (tensor<20x20xf32>, tensor<20x20xf32>) -> tensor<20x20xf32>
    %d3 = tgpt.gelu_grad %d4, %3 {tgpt.layer = 3 : i64} : (tensor<20x20xf32>, tensor<20x20xf32>) -> tensor<20x20xf32>
    %d2 = tgpt.gelu_grad %d3, %2 {tgpt.layer = 2 : i64} : (tensor<20x20xf32>, tensor<20x20xf32>) -> tensor<20x20xf32>
    %d1 = tgpt.gelu_grad %d2, %1 {tgpt.layer = 1 : i64} : (tensor<20x20xf32>, tensor<20x20xf32>) -> tensor<20x20xf32>
    %d0 = tgpt.gelu_grad %d1, %0 {tgpt.layer = 0 : i64} : (tensor<20x20xf32>, tensor<20x20xf32>) -> tensor<20x20xf32>
    return
  }
}
