//===- ForgetMemory.cpp - what an earlier assignment has decided ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/ForgetMemory.h"
#include "cost/PageSharing.h"
#include "passes/memory/SlotArrangement.h"

using namespace mlir;
using namespace tgpt;
using planir::MemoryKind;

planir::RunAttr tgpt::withPlaces(planir::RunAttr run, int64_t slot, int64_t page, int64_t leaf) {
  return planir::RunAttr::get(run.getContext(), run.getSegment(), run.getMicroBatch(), slot, run.getPhase(),
                              run.getReceives(), run.getSends(), page, leaf);
}

/// Slots of a chunk that lay anywhere follow each other again, as few as there are micro-batches in flight.
static void forgetPlaces(planir::RegionOp region, planir::StageOp stage) {
  region.removePlacesAttr();
  planir::ScheduleOp schedule = stage.getSchedule();
  if (!schedule)
    return;
  cost::DealtPages dealt = cost::dealOutPages(holdersOfSlots(static_cast<int64_t>(region.getChunk()), stage));
  SmallVector<Attribute> runs;
  for (auto [run, slot] : llvm::zip(schedule.getRuns().getAsRange<planir::RunAttr>(), dealt.pageOfRun))
    runs.push_back(slot == 0 ? run : withPlaces(run, slot - 1, run.getPage(), run.getLeaf()));
  schedule.setRunsAttr(Builder(stage.getContext()).getArrayAttr(runs));
  region.setSlots(static_cast<uint64_t>(std::max<int64_t>(dealt.pages, 1)));
}

void tgpt::forgetMemory(planir::StageOp stage) {
  for (auto region : stage.getBody().getOps<planir::RegionOp>())
    if (region.getKind() == MemoryKind::Activations && region.getPlaces())
      forgetPlaces(region, stage);
  for (auto buffer : stage.getBody().getOps<planir::BufferOp>())
    if (planir::isPaged(buffer.getRegion()))
      buffer.setRegion(MemoryKind::Activations);
    else if (buffer.getRegion() == MemoryKind::Step)
      buffer.setRegion(MemoryKind::Scratch);
  SmallVector<planir::RegionOp> regions(stage.getBody().getOps<planir::RegionOp>());
  for (planir::RegionOp region : regions)
    if (planir::isPaged(region.getKind()) || region.getKind() == MemoryKind::Step)
      region.erase();
  if (planir::ScheduleOp schedule = stage.getSchedule()) {
    SmallVector<Attribute> runs;
    for (auto run : schedule.getRuns().getAsRange<planir::RunAttr>())
      runs.push_back(withPlaces(run, run.getSlot(), /*page=*/0, /*leaf=*/0));
    schedule.setRunsAttr(Builder(stage.getContext()).getArrayAttr(runs));
  }
}
