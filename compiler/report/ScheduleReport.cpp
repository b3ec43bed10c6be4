//===- ScheduleReport.cpp - which pipeline stage does what when ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/report/ScheduleReport.h"
#include "dialects/dist/Dist.h"

using namespace mlir;
using namespace tgpt;

static WorkKind workOf(dist::SegmentKind kind) {
  return kind == dist::SegmentKind::Forward    ? WorkKind::Forward
         : kind == dist::SegmentKind::Backward ? WorkKind::Backward
                                               : WorkKind::WeightGradient;
}

static std::vector<ScheduleEntry> entriesOf(ArrayAttr list) {
  std::vector<ScheduleEntry> entries;
  for (StringRef text : list.getAsValueRange<StringAttr>()) {
    dist::ScheduledSegment entry = *dist::ScheduledSegment::parse(text); // checked by dist.schedule
    entries.push_back({workOf(entry.kind), entry.microBatch, entry.chunk, entry.slot});
  }
  return entries;
}

namespace {

/// What the dist.schedules of a module say.
struct ModuleSchedule {
  explicit ModuleSchedule(ModuleOp module) {
    for (auto op : module.getOps<dist::ScheduleOp>()) {
      shape.chunks = std::max<int64_t>(shape.chunks, op.countChunks());
      shape.stages = std::max<int64_t>(shape.stages, op.getStage() + 1);
      shape.microBatches = std::max<int64_t>(shape.microBatches, op.getMicroBatches());
    }
    stages.resize(shape.stages);
    shape.isEmpty.assign(shape.virtualStages(), true);
    for (auto op : module.getOps<dist::ScheduleOp>()) {
      StageSchedule &stage = stages[op.getStage()];
      stage = {entriesOf(op.getWarmUp()), entriesOf(op.getSteady()), entriesOf(op.getCoolDown()), op.getSlots().vec()};
      for (const ScheduleEntry &entry : stage.entries())
        shape.isEmpty[shape.virtualStage(op.getStage(), entry.chunk)] = false;
    }
  }

  PipelineShape shape;
  std::vector<StageSchedule> stages;
};

} // namespace

std::string tgpt::scheduleReportText(ModuleOp module, const std::string &kind, const GanttStyle &style) {
  ModuleSchedule schedule(module);
  std::string title = "schedule " + kind + " of " + module.getSymName().value_or("the model").str();
  return scheduleText(title, schedule.shape, schedule.stages, style);
}

std::string tgpt::scheduleReportJson(ModuleOp module, const std::string &kind) {
  ModuleSchedule schedule(module);
  return scheduleJson(kind, schedule.shape, schedule.stages);
}
