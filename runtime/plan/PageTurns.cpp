//===- PageTurns.cpp - whose pages and leaves are when ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/PageTurns.h"
#include "runtime/plan/PageHoldings.h"

#include <algorithm>

using namespace tgpt;
using namespace tgpt::runtime;

std::string tgpt::runtime::scheduleEntryText(const plan::StageProgram &stage, int index) {
  const plan::ScheduleEntry &entry = stage.schedule(index);
  return "stage " + std::to_string(stage.stage()) + ", schedule entry " + std::to_string(index) + " (segment '" +
         stage.segments(entry.segment()).name() + "', micro-batch " + std::to_string(entry.micro_batch()) + ", slot " +
         std::to_string(entry.slot()) + ")";
}

PageTurns::PageTurns(const plan::StageProgram &stage, const PageKind &kind, PlanProblems &problems)
    : stage(stage), kind(kind), problems(problems), holdings(pageHoldings(stage, kind.region)) {
  for (const plan::Region &region : stage.regions()) {
    if (region.kind() != kind.region)
      continue;
    pagesOfChunk[region.chunk()] = region.slots();
    if (region.places_size() > 0)
      chunksWithPlaces.insert(region.chunk());
  }
  for (const plan::Segment &segment : stage.segments())
    usesPages.push_back(doesUse(segment));
}

/// Operands are checked later: those that there are not use none.
bool PageTurns::doesUse(const plan::Segment &segment) const {
  auto isThere = [&](uint32_t buffer) {
    return buffer < static_cast<uint32_t>(stage.buffers_size()) &&
           stage.regions(static_cast<int>(stage.buffers(static_cast<int>(buffer)).region())).kind() == kind.region;
  };
  return std::any_of(segment.instructions().begin(), segment.instructions().end(),
                     [&](const plan::Instruction &instruction) {
                       return std::any_of(instruction.inputs().begin(), instruction.inputs().end(), isThere) ||
                              std::any_of(instruction.outputs().begin(), instruction.outputs().end(), isThere);
                     });
}

void PageTurns::checkEntry(int index) const {
  const plan::ScheduleEntry &entry = stage.schedule(index);
  int64_t chunk = stage.segments(entry.segment()).chunk(), page = kind.of(entry);
  auto paged = pagesOfChunk.find(chunk);
  if (int64_t most = paged == pagesOfChunk.end() ? 0 : paged->second; page < 0 || page > most)
    problems.add(scheduleEntryText(stage, index) + " has " + kind.name + " " + std::to_string(page) + ", but chunk " +
                 std::to_string(chunk) + " has " + std::to_string(most) + " " + kind.plural);
  if (page == 0 && usesPages[entry.segment()])
    problems.add(scheduleEntryText(stage, index) + " has no " + kind.name + ", but its instructions use one");
}

PageTurns::Holder PageTurns::holderAt(int index) const {
  const plan::ScheduleEntry &entry = stage.schedule(index);
  return {stage.segments(entry.segment()).chunk(), entry.micro_batch(), holdings[entry.segment()]};
}

std::map<PageTurns::Holder, PageTurns::Held> PageTurns::heldPages() const {
  std::map<Holder, Held> held;
  for (int i = 0; i < stage.schedule_size(); ++i) {
    int64_t page = kind.of(stage.schedule(i));
    if (page == 0)
      continue;
    auto [found, isFirst] = held.try_emplace(holderAt(i), Held{page, i});
    if (!isFirst && found->second.page != page)
      problems.add(scheduleEntryText(stage, i) + " has " + kind.name + " " + std::to_string(page) +
                   ", but an entry before it " + kind.name + " " + std::to_string(found->second.page));
    found->second.until = i;
  }
  return held;
}

void PageTurns::checkHolders() const {
  std::map<Holder, Held> held = heldPages();
  std::map<std::pair<int64_t, int64_t>, Holder> holderOf; // by page; where pages have places, those of each chunk apart
  for (int i = 0; i < stage.schedule_size(); ++i) {
    int64_t page = kind.of(stage.schedule(i));
    if (page == 0)
      continue;
    Holder holder = holderAt(i);
    std::pair which(chunksWithPlaces.contains(holder.chunk) ? holder.chunk : -1, page);
    auto before = holderOf.find(which);
    if (before != holderOf.end() && before->second != holder && held[before->second].until > i)
      problems.add(scheduleEntryText(stage, i) + " takes " + kind.name + " " + std::to_string(page) +
                   " while micro-batch " + std::to_string(before->second.microBatch) + " of chunk " +
                   std::to_string(before->second.chunk) + " has it until entry " +
                   std::to_string(held[before->second].until));
    holderOf.insert_or_assign(which, holder);
  }
}
