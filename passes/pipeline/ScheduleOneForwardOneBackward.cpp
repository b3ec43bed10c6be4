//===- ScheduleOneForwardOneBackward.cpp - order the segments of each stage ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In which order does a stage run its segments over the micro-batches? By
// one-forward-one-backward, so that stage s holds the activations of at most
// pp - s micro-batches. For pp = 2 and 3 micro-batches:
//
//   dist.schedule stage 0 of 3 slots [2] warm_up ["F0@0"] steady ["F1@1", "B0@0", "F2@0", "B1@1"] cool_down ["B2@0"]
//   dist.schedule stage 1 of 3 slots [1] warm_up [] steady ["F0@0", "B0@0", "F1@0", "B1@0", ...] cool_down []
//
// Relies on: dist-split-stages. Leaves true: each stage has one schedule, and no
// stage waits for another in a circle where channels hold `channelDepth` messages.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "passes/pipeline/OneForwardOneBackward.h"
#include "passes/pipeline/Passes.h"
#include "passes/pipeline/StageLayers.h"

namespace tgpt {
#define GEN_PASS_DEF_SCHEDULEONEFORWARDONEBACKWARD
#include "passes/pipeline/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {
struct ScheduleOneForwardOneBackward : tgpt::impl::ScheduleOneForwardOneBackwardBase<ScheduleOneForwardOneBackward> {
  using ScheduleOneForwardOneBackwardBase::ScheduleOneForwardOneBackwardBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<int64_t> stageCount = checkInput(module);
    if (failed(stageCount))
      return signalPassFailure();
    for (auto schedule : llvm::make_early_inc_range(module.getOps<dist::ScheduleOp>())) {
      ++schedulesReplaced;
      schedule.erase();
    }
    auto builder = OpBuilder::atBlockEnd(module.getBody());
    for (int64_t stage = 0; stage < *stageCount; ++stage)
      addSchedule(builder, stage);
  }

private:
  /// Most micro-batches of a step: a schedule of text beyond this is a mistake.
  static constexpr int64_t mostMicroBatches = 65536;

  FailureOr<int64_t> checkInput(ModuleOp module) {
    if (microBatches < 1 || microBatches > mostMicroBatches) {
      module.emitError() << "micro-batches is " << microBatches.getValue() << "; legal is 1 to " << mostMicroBatches;
      return failure();
    }
    func::FuncOp microBatch = findPhase(module, "micro_batch");
    if (!microBatch || microBatch.isDeclaration() || microBatch.getOps<dist::SegmentOp>().empty()) {
      module.emitError("micro-batch has no segments to schedule; dist-split-stages makes them");
      return failure();
    }
    FailureOr<int64_t> stageCount = countStages(module);
    if (succeeded(stageCount) && failed(checkSegments(microBatch, *stageCount)))
      return failure();
    return stageCount;
  }

  // One forward and one backward a stage, or none: what the entries of a schedule mean.
  LogicalResult checkSegments(func::FuncOp microBatch, int64_t stageCount) {
    std::vector<int64_t> forwards(stageCount), backwards(stageCount);
    for (auto segment : microBatch.getOps<dist::SegmentOp>()) {
      bool isForward = segment.getKind() == dist::SegmentKind::Forward;
      if (segment.getChunk() != 0 || (!isForward && segment.getKind() != dist::SegmentKind::Backward))
        return segment.emitOpError() << "of kind '" << dist::stringifySegmentKind(segment.getKind()) << "' and chunk "
                                     << segment.getChunk()
                                     << " has no place in one-forward-one-backward, which knows forwards and "
                                        "backwards of one chunk a stage";
      ++(isForward ? forwards : backwards)[segment.getStage()];
    }
    for (int64_t stage = 0; stage < stageCount; ++stage) {
      if (forwards[stage] > 1 || forwards[stage] != backwards[stage])
        return microBatch.emitError() << "micro-batch has " << forwards[stage] << " forward and " << backwards[stage]
                                      << " backward segments of stage " << stage
                                      << "; legal is one of each, or none where the stage is empty";
      if (forwards[stage] == 1)
        busy.push_back(stage);
    }
    return success();
  }

  // Empty stages do not count: the pipeline is as deep as there are busy ones.
  void addSchedule(OpBuilder &builder, int64_t stage) {
    int64_t index = llvm::find(busy, stage) - busy.begin(), stageCount = busy.size(), slots = 0;
    SmallVector<Attribute> all;
    if (index < stageCount) {
      slots = slotsInFlight(index, stageCount, microBatches);
      for (const ScheduleEntry &entry : scheduleOneForwardOneBackward(index, stageCount, microBatches))
        all.push_back(builder.getStringAttr(entry.toString()));
    }
    ArrayRef<Attribute> entries(all);
    size_t fill =
        slots == 0 ? 0 : std::min<int64_t>(microBatches, stageCount - index - 1); // as many as are left at the end
    dist::ScheduleOp::create(builder, getOperation().getLoc(), stage, microBatches, ArrayRef<int64_t>(slots),
                             builder.getArrayAttr(entries.take_front(fill)),
                             builder.getArrayAttr(entries.drop_front(fill).drop_back(fill)),
                             builder.getArrayAttr(entries.take_back(fill)));
    entriesWritten += entries.size();
  }

  SmallVector<int64_t> busy; ///< stages that have segments
};
} // namespace
