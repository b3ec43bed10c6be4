//===- ScheduleStages.cpp - order the segments of each stage ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In which order does a stage run its segments over the micro-batches, and how many
// messages must find room between stages? Asks the library in schedule/ and writes down
// the answer. For pp = 2 and 3 micro-batches:
//
//   dist.schedule stage 0 of 3 slots [2] warm_up ["F0@0"] steady ["F1@1", "B0@0", "F2@0", "B1@1"] cool_down ["B2@0"]
//   dist.schedule stage 1 of 3 slots [1] warm_up [] steady ["F0@0", "B0@0", "F1@0", "B1@0", ...] cool_down []
//
// Relies on: dist-split-stages. Leaves true: each stage has one schedule, each send_recv
// of the micro-batch a depth, and no stage waits for another in a circle.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "passes/pipeline/Passes.h"
#include "passes/pipeline/StageLayers.h"
#include "passes/pipeline/schedule/Channels.h"
#include "passes/pipeline/schedule/Schedule.h"
#include <array>

namespace tgpt {
#define GEN_PASS_DEF_SCHEDULESTAGES
#include "passes/pipeline/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

/// The work that a segment is for; none for begin and update.
static std::optional<WorkKind> workOf(dist::SegmentKind kind) {
  switch (kind) {
  case dist::SegmentKind::Forward: return WorkKind::Forward;
  case dist::SegmentKind::Backward: return WorkKind::Backward;
  case dist::SegmentKind::WeightGradient: return WorkKind::WeightGradient;
  default: return std::nullopt;
  }
}

namespace {

/// The segments of a micro-batch by virtual stage and kind of work.
class SegmentTable {
public:
  /// Failure, reported, where two segments are for the same.
  static FailureOr<SegmentTable> of(func::FuncOp microBatch, int64_t stages) {
    SegmentTable table;
    table.stages = stages;
    for (auto segment : microBatch.getOps<dist::SegmentOp>())
      if (workOf(segment.getKind()))
        table.chunks = std::max<int64_t>(table.chunks, segment.getChunk() + 1);
    table.segments.resize(stages * table.chunks);
    for (auto segment : microBatch.getOps<dist::SegmentOp>()) {
      std::optional<WorkKind> work = workOf(segment.getKind());
      if (!work)
        continue;
      dist::SegmentOp &place = table.at(segment.getStage(), segment.getChunk())[static_cast<int>(*work)];
      if (place) {
        InFlightDiagnostic error = segment.emitOpError()
                                   << "is a second " << dist::stringifySegmentKind(segment.getKind()) << " of "
                                   << dist::virtualStageText(segment.getStage(), segment.getChunk());
        error.attachNote(place.getLoc()) << "first one here";
        return failure();
      }
      place = segment;
    }
    if (failed(table.checkPairs()))
      return failure();
    return table;
  }

  PipelineShape shape(int64_t microBatches) const {
    PipelineShape shape{stages, chunks, microBatches};
    for (const auto &ofKind : segments) {
      shape.isEmpty.push_back(!ofKind[0]);
      shape.keepsBackwardWhole.push_back(!ofKind[2]);
    }
    return shape;
  }

  /// A weight_gradient, or null.
  dist::SegmentOp anyWeightGradient() const {
    for (const auto &ofKind : segments)
      if (ofKind[2])
        return ofKind[2];
    return {};
  }

private:
  using OfKind = std::array<dist::SegmentOp, 3>;
  OfKind &at(int64_t stage, int64_t chunk) { return segments[chunk * stages + stage]; }

  /// What has a forward has a backward, and the other way round.
  LogicalResult checkPairs() {
    for (auto &[forward, backward, weightGradient] : segments) {
      dist::SegmentOp any = forward ? forward : backward ? backward : weightGradient;
      if (!any || (forward && backward))
        continue;
      return any.emitOpError() << "is of " << dist::virtualStageText(any.getStage(), any.getChunk())
                               << ", which has no segment of kind '" << (forward ? "backward" : "forward")
                               << "'; a schedule needs both";
    }
    return success();
  }

  int64_t stages = 1, chunks = 1;
  std::vector<OfKind> segments; ///< by virtual stage
};

struct ScheduleStages : tgpt::impl::ScheduleStagesBase<ScheduleStages> {
  using ScheduleStagesBase::ScheduleStagesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp microBatch = findPhase(module, "micro_batch");
    std::optional<ScheduleKind> schedule = checkOptions(microBatch);
    FailureOr<int64_t> stages = schedule ? countStages(module) : FailureOr<int64_t>();
    if (failed(stages))
      return signalPassFailure();
    FailureOr<SegmentTable> segments = SegmentTable::of(microBatch, *stages);
    if (failed(segments) || failed(checkSize(*segments)) || failed(checkWeightGradients(*segments, *schedule)))
      return signalPassFailure();
    PipelineShape shape = segments->shape(microBatches);
    std::vector<StageSchedule> schedules = makeSchedule(*schedule, shape);
    writeSchedules(schedules);
    writeDepths(microBatch, shape, schedules);
  }

private:
  /// Most micro-batches of a step, and most entries of all schedules: text beyond this is a mistake.
  static constexpr int64_t mostMicroBatches = 65536, mostEntries = 1 << 22;

  std::optional<ScheduleKind> checkOptions(func::FuncOp microBatch) {
    ModuleOp module = getOperation();
    std::optional<ScheduleKind> schedule = parseScheduleKind(kind.getValue());
    if (!schedule) {
      module.emitError() << "kind is '" << kind << "', expected " << scheduleKindChoices();
      return std::nullopt;
    }
    if (microBatches < 1 || microBatches > mostMicroBatches) {
      module.emitError() << "micro-batches is " << microBatches.getValue() << "; legal is 1 to " << mostMicroBatches;
      return std::nullopt;
    }
    if (!microBatch || microBatch.isDeclaration() || microBatch.getOps<dist::SegmentOp>().empty()) {
      module.emitError("micro-batch has no segments to schedule; dist-split-stages makes them");
      return std::nullopt;
    }
    return schedule;
  }

  LogicalResult checkSize(const SegmentTable &segments) {
    PipelineShape shape = segments.shape(microBatches);
    int64_t entries = 3 * shape.virtualStages() * microBatches;
    if (entries <= mostEntries)
      return success();
    return getOperation().emitError() << "schedules of " << shape.virtualStages() << " virtual stages and "
                                      << microBatches.getValue() << " micro-batches have up to " << entries
                                      << " entries; legal is up to " << mostEntries << ", such as "
                                      << std::max<int64_t>(mostEntries / 3 / shape.virtualStages(), 1)
                                      << " micro-batches";
  }

  LogicalResult checkWeightGradients(const SegmentTable &segments, ScheduleKind schedule) {
    dist::SegmentOp weightGradient = segments.anyWeightGradient();
    if (!weightGradient || schedule == ScheduleKind::ZeroBubble)
      return success();
    return weightGradient.emitOpError() << "is of kind 'weight_gradient', which a schedule of kind '" << kind
                                        << "' has no place for; kind=zero-bubble has";
  }

  void writeSchedules(ArrayRef<StageSchedule> schedules) {
    ModuleOp module = getOperation();
    for (auto old : llvm::make_early_inc_range(module.getOps<dist::ScheduleOp>())) {
      ++schedulesReplaced;
      old.erase();
    }
    auto builder = OpBuilder::atBlockEnd(module.getBody());
    auto arrayOf = [&](ArrayRef<ScheduleEntry> entries) {
      SmallVector<Attribute> texts;
      for (const ScheduleEntry &entry : entries)
        texts.push_back(builder.getStringAttr(entry.toString()));
      entriesWritten += entries.size();
      return builder.getArrayAttr(texts);
    };
    for (const auto &[stage, schedule] : llvm::enumerate(schedules))
      dist::ScheduleOp::create(builder, module.getLoc(), stage, microBatches, schedule.slots, arrayOf(schedule.warmUp),
                               arrayOf(schedule.steady), arrayOf(schedule.coolDown));
  }

  void writeDepths(func::FuncOp microBatch, const PipelineShape &shape, const std::vector<StageSchedule> &schedules) {
    std::vector<Transfer> transfers;
    SmallVector<dist::SendRecvOp> messages;
    for (auto message : microBatch.getOps<dist::SendRecvOp>()) {
      std::optional<WorkKind> work = workOf(message.getInput().getDefiningOp<dist::SegmentOp>().getKind());
      int64_t from = shape.virtualStage(message.getFrom(), message.getFromChunk());
      int64_t to = shape.virtualStage(message.getTo(), message.getToChunk());
      transfers.push_back({work.value_or(WorkKind::Forward), from, to});
      messages.push_back(message);
    }
    std::vector<int64_t> depths = channelDepths(shape, schedules, transfers);
    for (auto [message, depth] : llvm::zip_equal(messages, depths)) {
      message.setDepth(depth);
      channelsDeepened += depth > 1;
    }
  }
};

} // namespace
