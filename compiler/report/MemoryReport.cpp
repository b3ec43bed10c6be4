//===- MemoryReport.cpp - where the memory of a plan goes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds up the regions of each stage and names its peak. The forms of the report are in
// files of their own.
//
//===----------------------------------------------------------------------===//

#include "compiler/report/MemoryReport.h"
#include "compiler/report/CommunicationReport.h"
#include "compiler/report/LiveItems.h"
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/PlanText.h"
#include "runtime/plan/RankGrid.h"
#include <algorithm>
#include <map>
#include <set>
#include <string>

using namespace tgpt;

/// Bytes per parameter follow from the dtypes of the variables there are.
static StateLedger ledgerOf(const plan::StageProgram &stage) {
  StateLedger ledger;
  int64_t master = 0, moment1 = 0, moment2 = 0;
  std::set<uint32_t> seen; // flat variables share a buffer
  std::set<std::string> hasGradient;
  for (const plan::Variable &variable : stage.variables()) {
    const plan::Buffer &buffer = stage.buffers(static_cast<int>(variable.buffer()));
    int64_t bytes = runtime::elementBytes(buffer.dtype());
    int64_t elements =
        seen.insert(variable.buffer()).second
            ? runtime::tensorBytes(buffer.dtype(), buffer.shape()).value_or(0) / std::max<int64_t>(bytes, 1)
            : 0;
    switch (variable.role()) {
    case plan::Variable::PARAMETER:
      ledger.parameterBytes = bytes;
      ledger.parameters += elements;
      break;
    case plan::Variable::GRADIENT:
      ledger.gradientBytes = bytes;
      if (hasGradient.insert(variable.parameter()).second)
        ledger.gradients += elements;
      else
        ledger.canonicalBytes += elements * bytes;
      break;
    case plan::Variable::MASTER: master = bytes; break;
    case plan::Variable::MOMENT1:
      moment1 = bytes;
      ledger.optimizer += elements;
      break;
    case plan::Variable::MOMENT2: moment2 = bytes; break;
    default: break;
    }
  }
  ledger.optimizerBytes = master + moment1 + moment2;
  return ledger;
}

int64_t tgpt::slotsHeld(const plan::StageProgram &stage, const plan::Region &region) {
  if (region.places_size() == 0)
    return region.slots();
  std::map<int64_t, int> last; // by micro-batch
  auto isOfChunk = [&](const plan::ScheduleEntry &entry) {
    return entry.micro_batch() >= 0 && stage.segments(static_cast<int>(entry.segment())).chunk() == region.chunk();
  };
  for (int i = 0; i < stage.schedule_size(); ++i)
    if (isOfChunk(stage.schedule(i)))
      last[stage.schedule(i).micro_batch()] = i;
  std::set<int64_t> held;
  size_t most = 0;
  for (int i = 0; i < stage.schedule_size(); ++i)
    if (int64_t microBatch = stage.schedule(i).micro_batch(); isOfChunk(stage.schedule(i))) {
      held.insert(microBatch);
      most = std::max(most, held.size());
      if (last[microBatch] == i)
        held.erase(microBatch);
    }
  return static_cast<int64_t>(most);
}

/// Bytes of the pages, which the chunks share, of what lies over other regions, and of a lot, counted once.
static void addSharedRegions(StageMemoryReport &report) {
  int64_t end = 0, stepEnd = 0, lotEnd = 0;
  std::map<plan::Region::Kind, int64_t> pageBytes;
  for (int i = 0; i < report.program->regions_size(); ++i) {
    const plan::Region &region = report.program->regions(i);
    int64_t &last = region.kind() == plan::Region::STEP ? stepEnd : end;
    last = std::max(last, region.offset_bytes() + runtime::regionBytes(region));
    if (region.places_size() > 0)
      lotEnd = std::max(lotEnd, runtime::regionBytes(region));
    if (!runtime::isPaged(region.kind()) || region.places_size() > 0)
      continue;
    StageMemoryReport::Slots &pages = region.kind() == plan::Region::PAGES ? report.pages : report.leaves;
    pages = {region.slots(), std::max(pages.bytes, report.liveness.keptSlotBytes(i))};
    pageBytes[region.kind()] = region.slots() * region.slot_bytes();
  }
  int64_t kept = report.pages.count * report.pages.bytes + report.leaves.count * report.leaves.bytes;
  int64_t rest = pageBytes[plan::Region::PAGES] + pageBytes[plan::Region::LEAVES] - kept;
  report.lotBytes = lotEnd;
  report.of(MemoryCategory::Activations).bytes += kept + lotEnd;
  report.of(MemoryCategory::Scratch).bytes += rest + std::max<int64_t>(stepEnd - end, 0);
}

/// What is kept counts as activations, whatever else of its region's bytes as scratch.
static void addRegions(StageMemoryReport &report) {
  addSharedRegions(report);
  for (int i = 0; i < report.program->regions_size(); ++i) {
    const plan::Region &region = report.program->regions(i);
    int64_t bytes = region.slots() * region.slot_bytes();
    switch (region.kind()) {
    case plan::Region::PARAMETERS: report.of(MemoryCategory::Parameters).bytes += bytes; break;
    case plan::Region::GRADIENTS: report.of(MemoryCategory::Gradients).bytes += bytes; break;
    case plan::Region::OPTIMIZER: report.of(MemoryCategory::Optimizer).bytes += bytes; break;
    case plan::Region::COMMUNICATION: report.of(MemoryCategory::Communication).bytes += bytes; break;
    case plan::Region::WORKSPACE: report.of(MemoryCategory::Workspace).bytes += bytes; break;
    case plan::Region::ACTIVATIONS: {
      int64_t kept = report.liveness.keptSlotBytes(i);
      report.activationSlots.push_back({slotsHeld(*report.program, region), kept});
      if (region.places_size() > 0)
        break; // of the lot
      report.of(MemoryCategory::Activations).bytes += region.slots() * kept;
      report.of(MemoryCategory::Scratch).bytes += bytes - region.slots() * kept;
      break;
    }
    case plan::Region::SCRATCH: report.of(MemoryCategory::Scratch).bytes += bytes; break;
    default: break; // shared
    }
  }
}

static PeakMoment peakOf(const plan::Plan &plan, const StageMemoryReport &report) {
  LiveItems items(plan, *report.program);
  PeakMoment peak;
  peak.moment = report.liveness.peak();
  peak.live = items.at(report.liveness, peak.moment);
  if (peak.moment.entry >= report.program->schedule_size())
    return peak;
  const plan::ScheduleEntry &entry = report.program->schedule(static_cast<int>(peak.moment.entry));
  const plan::Segment &segment = report.program->segments(static_cast<int>(entry.segment()));
  peak.segment = segment.name();
  peak.microBatch = entry.micro_batch();
  peak.inFlight = report.liveness.microBatchesInFlight(peak.moment.entry);
  const plan::Instruction &instruction = segment.instructions(static_cast<int>(peak.moment.instruction));
  peak.instruction = runtime::instructionText(instruction);
  peak.line = items.lineOf(instruction);
  return peak;
}

static int64_t flopsOf(const plan::StageProgram &stage) {
  std::vector<int64_t> bySegment;
  for (const plan::Segment &segment : stage.segments()) {
    int64_t &flops = bySegment.emplace_back(0);
    for (const plan::Instruction &instruction : segment.instructions())
      flops += instruction.cost().flops();
  }
  int64_t flops = 0;
  for (const plan::ScheduleEntry &entry : stage.schedule())
    flops += bySegment[entry.segment()];
  return flops;
}

static StageMemoryReport stageReportOf(const plan::Plan &plan, const plan::StageProgram &stage) {
  StageMemoryReport report(stage);
  report.stage = stage.stage();
  report.ranks = runtime::RankGrid(plan.mesh()).ranks() / std::max(plan.stages_size(), 1);
  report.arenaBytes = stage.arena_bytes();
  report.ledger = ledgerOf(stage);
  report.flops = flopsOf(stage);
  addRegions(report);
  report.peak = peakOf(plan, report);
  for (const LiveItem &item : report.peak.live)
    report.of(item.category).liveBytes += item.bytes;
  return report;
}

MemoryReport tgpt::memoryReportOf(const plan::Plan &plan) {
  MemoryReport report;
  report.plan = &plan;
  report.model = plan.model_name();
  for (const plan::MeshAxis &axis : plan.mesh().axes())
    report.mesh += (report.mesh.empty() ? "" : " ") + axis.name() + "=" + std::to_string(axis.size());
  for (const plan::StageProgram &stage : plan.stages())
    report.stages.push_back(stageReportOf(plan, stage));
  for (const Exchange &exchange : communicationReportOf(plan).exchanges)
    for (StageMemoryReport &stage : report.stages)
      if (stage.stage == exchange.stage) {
        stage.exposedBytes += exchange.sentBytes - exchange.overlappedBytes;
        stage.overlappedBytes += exchange.overlappedBytes;
      }
  return report;
}

const StageMemoryReport *MemoryReport::largest() const {
  const StageMemoryReport *largest = nullptr;
  for (const StageMemoryReport &stage : stages)
    if (!largest || stage.arenaBytes > largest->arenaBytes)
      largest = &stage;
  return largest;
}

WhatIf tgpt::whatIfOf(const MemoryReport &report, const std::string &change) {
  WhatIf line;
  line.change = change;
  double mostSent = -1;
  for (const StageMemoryReport &stage : report.stages) {
    line.arenaBytes = std::max(line.arenaBytes, stage.arenaBytes);
    line.flops = std::max(line.flops, stage.flops);
    if (stage.exposedBytes + stage.overlappedBytes <= mostSent)
      continue;
    mostSent = stage.exposedBytes + stage.overlappedBytes;
    line.exposedBytes = stage.exposedBytes;
    line.overlappedBytes = stage.overlappedBytes;
  }
  return line;
}
