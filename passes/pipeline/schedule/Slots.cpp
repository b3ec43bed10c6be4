//===- Slots.cpp - where each micro-batch keeps its activations ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Colours intervals: the lowest free colour, in the order in which the intervals begin,
// uses no more colours than intervals overlap.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/schedule/WorkOrder.h"
#include <map>
#include <set>

using namespace tgpt;

std::vector<int64_t> tgpt::assignSlots(std::vector<ScheduleEntry> &entries, int64_t chunks) {
  std::map<std::pair<int64_t, int64_t>, size_t> lastUse; // of (chunk, micro-batch)
  for (size_t i = 0; i < entries.size(); ++i)
    lastUse[{entries[i].chunk, entries[i].microBatch}] = i;
  std::vector<int64_t> slots(chunks, 0);
  std::vector<std::set<int64_t>> free(chunks);
  std::map<std::pair<int64_t, int64_t>, int64_t> held;
  for (size_t i = 0; i < entries.size(); ++i) {
    ScheduleEntry &entry = entries[i];
    std::pair<int64_t, int64_t> key{entry.chunk, entry.microBatch};
    std::set<int64_t> &ofChunk = free[entry.chunk];
    if (entry.kind == WorkKind::Forward) {
      if (ofChunk.empty())
        ofChunk.insert(slots[entry.chunk]++);
      held[key] = *ofChunk.begin();
      ofChunk.erase(ofChunk.begin());
    }
    entry.slot = held[key];
    if (lastUse[key] == i) {
      ofChunk.insert(entry.slot);
      held.erase(key);
    }
  }
  return slots;
}
