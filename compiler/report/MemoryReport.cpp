//===- MemoryReport.cpp - where the memory of a plan goes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds up the regions of each stage; the text and JSON forms are in
// MemoryReportText.cpp.
//
//===----------------------------------------------------------------------===//

#include "compiler/report/MemoryReport.h"
#include "runtime/plan/BufferExtent.h"
#include <algorithm>
#include <set>
#include <string>

using namespace tgpt;

int64_t StageMemoryReport::liveBytes() const {
  int64_t live = 0;
  for (const CategoryMemory *category : {&parameters, &gradients, &optimizer, &activations, &scratch, &communication})
    live += category->liveBytes;
  return live;
}

static CategoryMemory *categoryOf(plan::Region::Kind kind, StageMemoryReport &report) {
  switch (kind) {
  case plan::Region::PARAMETERS: return &report.parameters;
  case plan::Region::GRADIENTS: return &report.gradients;
  case plan::Region::OPTIMIZER: return &report.optimizer;
  case plan::Region::ACTIVATIONS: return &report.activations;
  case plan::Region::SCRATCH: return &report.scratch;
  case plan::Region::COMMUNICATION: return &report.communication;
  default: return nullptr;
  }
}

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

MemoryReport tgpt::memoryReportOf(const plan::Plan &plan) {
  MemoryReport report;
  report.model = plan.model_name();
  int64_t ranksPerStage = 1;
  for (const plan::MeshAxis &axis : plan.mesh().axes()) {
    report.mesh += (report.mesh.empty() ? "" : " ") + axis.name() + "=" + std::to_string(axis.size());
    if (axis.name() != "pp")
      ranksPerStage *= axis.size();
  }
  for (const plan::StageProgram &stage : plan.stages()) {
    StageMemoryReport &entry = report.stages.emplace_back();
    entry.stage = stage.stage();
    entry.ranks = ranksPerStage;
    entry.arenaBytes = stage.arena_bytes();
    entry.ledger = ledgerOf(stage);
    for (const plan::Region &region : stage.regions()) {
      CategoryMemory *category = categoryOf(region.kind(), entry);
      if (!category)
        continue;
      category->bytes += region.slots() * region.slot_bytes();
      category->liveBytes += region.slots() * region.peak_live_bytes();
      if (region.kind() == plan::Region::ACTIVATIONS)
        entry.activationSlots.push_back({region.slots(), region.slot_bytes()});
    }
  }
  return report;
}
