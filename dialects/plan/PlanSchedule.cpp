//===- PlanSchedule.cpp - constraints of schedules ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Labels C1, C2, ... are those of plan.schedule. That every segment runs as often as
// its kind asks for, and which micro-batch a slot holds, is for runtime/plan/CheckSchedule.cpp.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tgpt::planir;

namespace {

/// Checks the runs of a stage's schedule, one after the other.
class RunCheck {
public:
  explicit RunCheck(ScheduleOp op) : op(op) {
    for (SegmentOp segment : stageOf(op).getBody().getOps<SegmentOp>())
      segments[segment.getName()] = {segment, SegmentChannels::of(segment)};
    microBatches = op->getParentOfType<ProgramOp>().getTraining().getMicroBatches();
  }

  LogicalResult step(RunAttr run) {
    auto found = segments.find(run.getSegment().getValue());
    if (found == segments.end()) // C1
      return op.emitOpError() << "runs segment " << run.getSegment() << ", which the stage does not have";
    SegmentOp segment = found->second.first;
    bool isOnce = segment.getKind() == SegmentKind::Begin || segment.getKind() == SegmentKind::Update;
    if (failed(isOnce ? checkOnce(run) : checkMicroBatch(run, segment.getChunk()))) // C2, C3
      return failure();
    const SegmentChannels &channels = found->second.second;
    if (run.getReceives() != channels.receives) // C4
      return op.emitOpError() << "runs segment " << run.getSegment() << " with receives " << run.getReceives()
                              << ", but its instructions are " << channels.receives;
    if (run.getSends() != channels.sends) // C4
      return op.emitOpError() << "runs segment " << run.getSegment() << " with sends " << run.getSends()
                              << ", but its instructions are " << channels.sends;
    return success();
  }

private:
  LogicalResult checkOnce(RunAttr run) {
    if (run.getMicroBatch() != -1 || run.getSlot() != 0)
      return op.emitOpError() << "runs segment " << run.getSegment() << " for a micro-batch, but it runs once a step";
    for (auto [word, page] : {std::pair("page", run.getPage()), {"leaf", run.getLeaf()}})
      if (page != 0)
        return op.emitOpError() << "runs segment " << run.getSegment() << " with " << word << " " << page
                                << ", but it runs once a step";
    if (run.getPhase() != SchedulePhase::None)
      return op.emitOpError() << "runs segment " << run.getSegment() << " in phase "
                              << stringifySchedulePhase(run.getPhase()) << ", but it runs once a step";
    return success();
  }

  LogicalResult checkPage(RunAttr run, int64_t chunk, MemoryKind kind, StringRef word, int64_t page) {
    RegionOp pages = stageOf(op).getRegionOf(kind, chunk);
    if (int64_t most = pages ? pages.getSlots() : 0; page < 0 || page > most)
      return op.emitOpError() << "runs segment " << run.getSegment() << " with " << word << " " << page << ", but "
                              << (chunk == 0 ? "the stage" : "chunk " + std::to_string(chunk)) << " has " << most;
    return success();
  }

  LogicalResult checkMicroBatch(RunAttr run, int64_t chunk) {
    RegionOp activations = stageOf(op).getRegionOf(MemoryKind::Activations, chunk);
    int64_t slots = activations ? activations.getSlots() : 1;
    if (run.getMicroBatch() < 0 || run.getMicroBatch() >= microBatches)
      return op.emitOpError() << "runs segment " << run.getSegment() << " for micro-batch " << run.getMicroBatch()
                              << ", but the step has " << microBatches;
    if (run.getSlot() < 0 || run.getSlot() >= slots)
      return op.emitOpError() << "runs segment " << run.getSegment() << " in slot " << run.getSlot() << ", but "
                              << (chunk == 0 ? "the stage" : "chunk " + std::to_string(chunk)) << " has " << slots;
    if (failed(checkPage(run, chunk, MemoryKind::Pages, "page", run.getPage())) ||
        failed(checkPage(run, chunk, MemoryKind::Leaves, "leaf", run.getLeaf())))
      return failure();
    if (run.getPhase() == SchedulePhase::None)
      return op.emitOpError() << "runs segment " << run.getSegment() << " in no phase, expected warm_up, steady or "
                              << "cool_down";
    if (run.getPhase() < phase)
      return op.emitOpError() << "runs segment " << run.getSegment() << " for micro-batch " << run.getMicroBatch()
                              << " in phase " << stringifySchedulePhase(run.getPhase()) << " after phase "
                              << stringifySchedulePhase(phase);
    phase = run.getPhase();
    return success();
  }

  ScheduleOp op;
  int64_t microBatches = 0;
  SchedulePhase phase = SchedulePhase::WarmUp;
  llvm::StringMap<std::pair<SegmentOp, SegmentChannels>> segments;
};

} // namespace

LogicalResult ScheduleOp::verify() {
  RunCheck check(*this);
  for (auto run : getRuns().getAsRange<RunAttr>())
    if (failed(check.step(run)))
      return failure();
  return success();
}
