//===- SplitStages.cpp - cut the program at layer boundaries ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What does each pipeline stage run? Cuts the three functions of a training step
// into segments, one per stage and kind, by the module's dist.stages:
//
//   %1 = tgpt.gelu %0 {tgpt.layer = 0}        %s:2 = dist.segment forward stage 0 {
//   %2 = tgpt.gelu %1 {tgpt.layer = 1}          %1 = tgpt.gelu %0
//   tgpt.begin_backward                         dist.yield %0, %1 }
//   %3 = tgpt.gelu_grad %d, %1 {... 1}   ->   %r = dist.send_recv %s#1 from 0 to 1
//   %4 = tgpt.gelu_grad %3, %0 {... 0}        dist.segment forward stage 1 {...}
//                                             %b = dist.segment backward stage 1 {uses %r}
//                                             %t = dist.send_recv %b from 1 to 0
//                                             dist.segment backward stage 0 {uses %s#0, %t}
//
// Relies on: local types (dist-partition), tgpt.layer, tgpt.begin_backward, and the
// decision of dist-choose-stages. Leaves true: functions hold segments and
// send_recvs only; each layer is whole on one virtual stage; each value moves straight
// from the virtual stage that makes it to each that uses it; all stages meet in the all_reduces
// over "pp" in the same order.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/Remarks.h"
#include "passes/pipeline/Passes.h"
#include "passes/pipeline/SourceOps.h"
#include "passes/pipeline/SplitMicroBatch.h"
#include "passes/pipeline/SplitStateFunction.h"
#include "passes/pipeline/StageLayers.h"

namespace tgpt {
#define GEN_PASS_DEF_SPLITSTAGES
#include "passes/pipeline/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

/// The layers of the stages as the module says; failure, reported.
static FailureOr<StageLayers> readDecision(ModuleOp module, func::FuncOp microBatch) {
  if (!microBatch || microBatch.isDeclaration()) {
    module.emitError("module has no function with tgpt.phase \"micro_batch\"");
    return failure();
  }
  FailureOr<int64_t> stageCount = countStages(module);
  if (failed(stageCount))
    return failure();
  return readStages(module, *stageCount, countLayers(microBatch));
}

namespace {
struct SplitStages : tgpt::impl::SplitStagesBase<SplitStages> {
  using SplitStagesBase::SplitStagesBase;

  void runOnOperation() override {
    func::FuncOp microBatch = findPhase(getOperation(), "micro_batch");
    FailureOr<StageLayers> layers = readDecision(getOperation(), microBatch);
    if (failed(layers))
      return signalPassFailure();
    StageHomes homes(layers->stageCount);
    if (failed(splitMicroBatch(microBatch, *layers, homes)) ||
        failed(splitStateFunction("begin", dist::SegmentKind::Begin, homes)) ||
        failed(splitStateFunction("update", dist::SegmentKind::Update, homes)))
      return signalPassFailure();
  }

private:
  LogicalResult splitMicroBatch(func::FuncOp function, const StageLayers &layers, StageHomes &homes) {
    MicroBatchSplit split(function, layers);
    if (failed(split.place()) || failed(split.route()))
      return failure();
    split.addUses(homes);
    if (failed(homes.settle(getOperation())))
      return failure();
    split.build();
    if (failed(verifySourceOps(getOperation(), function)))
      return failure();
    if (!keepSource)
      eraseSourceOps(function);
    valuesSent += split.countSends();
    valuesSaved += split.countSaved();
    opsRepeated += split.countRepeated();
    parametersTied += homes.countTiedParameters();
    explain(function.getLoc(), split, layers, homes);
    return success();
  }

  static void explain(Location where, const MicroBatchSplit &split, const StageLayers &layers,
                      const StageHomes &homes) {
    auto whole = remark::RemarkOpts::name("micro-batch").category("dist-split-stages");
    remark::analysis(where, whole) << remark::metric("valuesSent", split.countSends())
                                   << remark::metric("valuesSaved", split.countSaved())
                                   << remark::metric("opsRepeated", split.countRepeated())
                                   << remark::metric("parametersTied", homes.countTiedParameters());
    auto part = remark::RemarkOpts::name("stage").category("dist-split-stages");
    for (int64_t stage = 0; stage < layers.virtualCount(); ++stage) {
      auto text = remark::analysis(where, part);
      text << remark::metric("stage", layers.stageOf(stage));
      if (layers.chunkCount() > 1)
        text << remark::metric("chunk", layers.chunkOf(stage));
      text << remark::metric("layers", layers.layersOf[stage])
           << remark::metric("savedBytesPerMicroBatch", split.savedBytes(stage));
    }
  }

  LogicalResult splitStateFunction(StringRef phase, dist::SegmentKind kind, const StageHomes &homes) {
    func::FuncOp function = findPhase(getOperation(), phase);
    if (!function || function.isDeclaration())
      return success();
    StateFunctionSplit split(function, kind, homes);
    if (failed(split.place()))
      return failure();
    split.build();
    allReducesAdded += split.countAllReduces();
    return success();
  }
};
} // namespace
