//===- PackingCache.cpp - packings that were found before ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/memory/PackingCache.h"
#include <algorithm>
#include <limits>
#include <utility>

using namespace tgpt;

/// Counts positions from the first buffer on.
static void shiftToStart(std::vector<Lifetime> &buffers, Space &space) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const Lifetime &buffer : buffers)
    first = std::min(first, buffer.first);
  auto shift = [&](Lifetime &lifetime) {
    lifetime.first -= first;
    lifetime.last -= first;
  };
  for (Lifetime &buffer : buffers)
    shift(buffer);
  for (PlacedBuffer &placed : space.taken)
    shift(placed.lifetime);
}

static uint64_t hashOf(const std::vector<Lifetime> &buffers, int64_t alignment, const Space &space) {
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&](int64_t value) { hash = (hash ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15; };
  auto addLifetime = [&](const Lifetime &lifetime) {
    add(lifetime.first);
    add(lifetime.last);
    add(lifetime.bytes);
  };
  add(alignment);
  for (const Lifetime &buffer : buffers)
    addLifetime(buffer);
  for (const PlacedBuffer &placed : space.taken) {
    addLifetime(placed.lifetime);
    add(placed.offset);
  }
  for (int64_t split : space.splits)
    add(split);
  return hash;
}

const Packing &PackingCache::pack(std::vector<Lifetime> buffers, int64_t alignment, Space space) {
  if (!buffers.empty())
    shiftToStart(buffers, space);
  uint64_t hash = hashOf(buffers, alignment, space);
  auto [begin, end] = entries.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    const Entry &known = entry->second;
    bool isSame = known.alignment == alignment && known.buffers == buffers && known.space.taken == space.taken &&
                  known.space.splits == space.splits;
    bool isGood = known.packing.isTight || known.space.goalBytes <= space.goalBytes ||
                  roundUp(known.packing.endBytes, alignment) <= space.goalBytes;
    if (isSame && isGood)
      return known.packing;
  }
  Packing packing = packBuffers(buffers, alignment, space);
  return entries.emplace(hash, Entry{std::move(buffers), alignment, std::move(space), std::move(packing)})
      ->second.packing;
}
