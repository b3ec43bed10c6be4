//===- PackBuffersTest.cpp - offsets for buffers with lifetimes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every packing is checked pair by pair; small ones are compared with the optimum,
// found by trying all orders.
//
//===----------------------------------------------------------------------===//
#include "passes/memory/PackInTurn.h"
#include "passes/memory/PackingCache.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>

using namespace tgpt;

static constexpr int64_t alignment = 64;

static bool liveTogether(const Lifetime &a, const Lifetime &b) {
  return a.first <= b.last && b.first <= a.last;
}

/// Offsets are aligned, end where the packing says, and buffers live together are apart.
static void expectValid(const std::vector<Lifetime> &buffers, const Packing &packing) {
  ASSERT_EQ(packing.offsets.size(), buffers.size());
  int64_t end = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(packing.offsets[i] % alignment, 0);
    EXPECT_GE(packing.offsets[i], 0);
    end = std::max(end, packing.offsets[i] + buffers[i].bytes);
    for (size_t j = 0; j < i; ++j)
      if (liveTogether(buffers[i], buffers[j])) {
        EXPECT_TRUE(packing.offsets[i] >= packing.offsets[j] + buffers[j].bytes ||
                    packing.offsets[j] >= packing.offsets[i] + buffers[i].bytes)
            << "buffers " << i << " and " << j << " share bytes";
      }
  }
  EXPECT_EQ(packing.endBytes, end);
  EXPECT_GE(packing.endBytes, packing.peakLiveBytes);
}

/// Peak by looking at every position.
static int64_t slowPeak(const std::vector<Lifetime> &buffers) {
  int64_t peak = 0;
  for (const Lifetime &at : buffers) {
    int64_t live = 0;
    for (const Lifetime &buffer : buffers)
      live += buffer.first <= at.first && at.first <= buffer.last ? buffer.bytes : 0;
    peak = std::max(peak, live);
  }
  return peak;
}

/// The smallest end over all orders of placing each buffer as low as it goes. Some order
/// gives an optimal packing: that of rising offsets in one.
static int64_t optimalEnd(const std::vector<Lifetime> &buffers) {
  std::vector<int> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = INT64_MAX;
  do {
    std::vector<int64_t> offsets(buffers.size(), -1);
    int64_t end = 0;
    for (int i : order) {
      int64_t offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t j = 0; j < buffers.size(); ++j)
          if (offsets[j] >= 0 && liveTogether(buffers[i], buffers[j]) && offset < offsets[j] + buffers[j].bytes &&
              offsets[j] < offset + buffers[i].bytes) {
            offset = roundUp(offsets[j] + buffers[j].bytes, alignment);
            moved = true;
          }
      }
      offsets[i] = offset;
      end = std::max(end, offset + buffers[i].bytes);
    }
    best = std::min(best, end);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(PackBuffers, NothingTakesNothing) {
  Packing packing = packBuffers({}, alignment);
  EXPECT_EQ(packing.endBytes, 0);
  EXPECT_EQ(packing.peakLiveBytes, 0);
}

TEST(PackBuffers, BuffersLiveTogetherLieInTheirOrder) {
  Packing packing = packBuffers({{0, 0, 100}, {0, 0, 64}, {0, 0, 4}}, alignment);
  EXPECT_EQ(packing.offsets, (std::vector<int64_t>{0, 128, 192}));
  EXPECT_EQ(packing.endBytes, 196);
  EXPECT_EQ(packing.peakLiveBytes, 168);
}

TEST(PackBuffers, BuffersOneAfterTheOtherShareBytes) {
  std::vector<Lifetime> chain = {{0, 1, 64}, {1, 2, 64}, {2, 3, 64}, {3, 4, 64}};
  Packing packing = packBuffers(chain, alignment);
  expectValid(chain, packing);
  EXPECT_EQ(packing.endBytes, 128); // two neighbours at a time
}

TEST(PackBuffers, SmallInstancesComeCloseToTheOptimum) {
  std::mt19937 random(1);
  double sumOfRatios = 0;
  constexpr int instances = 200;
  for (int instance = 0; instance < instances; ++instance) {
    std::vector<Lifetime> buffers;
    for (int i = 0; i < 6; ++i) {
      int64_t first = random() % 8;
      buffers.push_back({first, first + static_cast<int64_t>(random() % 4), 1 + static_cast<int64_t>(random() % 600)});
    }
    Packing packing = packBuffers(buffers, alignment);
    expectValid(buffers, packing);
    EXPECT_EQ(packing.peakLiveBytes, slowPeak(buffers));
    int64_t optimal = optimalEnd(buffers);
    EXPECT_GE(packing.endBytes, optimal);
    sumOfRatios += static_cast<double>(packing.endBytes) / static_cast<double>(optimal);
  }
  EXPECT_LE(sumOfRatios / instances, 1.02); // the goal for arenas
}

/// What a backward looks like: results of many sizes, short-lived but for a gradient
/// that travels on from layer to layer. Layers are alike or each of its own kind.
static std::vector<Lifetime> backwardOf(int64_t layers, bool areAlike) {
  std::mt19937 random(2);
  std::vector<Lifetime> buffers;
  for (int64_t layer = 0; layer < layers; ++layer) {
    if (areAlike)
      random.seed(2);
    int64_t start = layer * 10;
    buffers.push_back({start, start + 10, 1 << 20});
    for (int64_t i = 0; i < 9; ++i)
      buffers.push_back(
          {start + i, start + i + 1 + static_cast<int64_t>(random() % 2), int64_t(1 + random() % 8) << 18});
  }
  return buffers;
}

TEST(PackBuffers, BackwardOfManyLayersIsWithinTwoPercentOfTheLiveBytes) {
  std::vector<Lifetime> buffers = backwardOf(100, /*areAlike=*/false);
  Packing packing = packBuffers(buffers, alignment);
  expectValid(buffers, packing);
  EXPECT_LE(static_cast<double>(packing.endBytes), 1.02 * static_cast<double>(packing.peakLiveBytes));
}

TEST(PackBuffers, TwentyThousandBuffersArePacked) {
  std::vector<Lifetime> buffers = backwardOf(2000, /*areAlike=*/true);
  Packing packing = packBuffers(buffers, alignment);
  EXPECT_LE(static_cast<double>(packing.endBytes), 1.02 * static_cast<double>(packing.peakLiveBytes));
}

TEST(PackBuffers, TheSameInputGivesTheSameOffsets) {
  std::vector<Lifetime> buffers = backwardOf(20, /*areAlike=*/false);
  EXPECT_EQ(packBuffers(buffers, alignment).offsets, packBuffers(buffers, alignment).offsets);
}

//===----------------------------------------------------------------------===//
// With some of the room taken
//===----------------------------------------------------------------------===//

// A slot of 256 bytes is taken by 192 at position 0 and by its first 64 from position 1 on:
// what lives at 1 fits into what has become free, what lives at 0 lies behind the split.
TEST(PackBuffers, WhatIsFreeOfASlotIsUsed) {
  Space slot;
  slot.taken = {{{0, 2, 64}, 0}, {{0, 0, 128}, 64}};
  slot.splits = {256};
  std::vector<Lifetime> buffers = {{0, 0, 128}, {1, 1, 128}, {1, 1, 64}};
  Packing packing = packBuffers(buffers, alignment, slot);
  EXPECT_EQ(packing.offsets[0], 256);
  EXPECT_EQ(std::set<int64_t>(packing.offsets.begin() + 1, packing.offsets.end()), (std::set<int64_t>{64, 192}));
  EXPECT_EQ(packing.endBytes, 256 + 128);
}

// 128 bytes are free before the split, and no end of room behind it; 192 go behind it.
TEST(PackBuffers, NothingLiesAcrossTheSplit) {
  Space slot;
  slot.taken = {{{0, 0, 128}, 0}};
  slot.splits = {256};
  Packing packing = packBuffers({{0, 0, 192}}, alignment, slot);
  EXPECT_EQ(packing.offsets[0], 256);
  EXPECT_EQ(packing.endBytes, 256 + 192);
}

// Drawn slots and buffers: nothing shares a byte with what is live with it, taken or not.
TEST(PackBuffers, DrawnSlotsStayIntact) {
  std::mt19937 random(3);
  for (int instance = 0; instance < 300; ++instance) {
    Space slot;
    int64_t end = 0;
    for (int i = 0; i < 6; ++i) { // freed from the end, as by a backward
      int64_t bytes = 64 * static_cast<int64_t>(1 + random() % 6);
      slot.taken.push_back({{0, 12 - 2 * i, bytes}, end});
      end += bytes;
    }
    slot.splits = {end};
    std::vector<Lifetime> buffers;
    for (int i = 0; i < 20; ++i) {
      int64_t first = static_cast<int64_t>(random() % 12);
      buffers.push_back({first, first + static_cast<int64_t>(random() % 3), 1 + static_cast<int64_t>(random() % 900)});
    }
    Packing packing = packBuffers(buffers, alignment, slot);
    std::vector<Lifetime> all = buffers;
    std::vector<int64_t> offsets = packing.offsets;
    for (const PlacedBuffer &placed : slot.taken) {
      all.push_back(placed.lifetime);
      offsets.push_back(placed.offset);
    }
    EXPECT_GE(packing.endBytes, std::max(slowPeak(all), slot.endlessFrom()));
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_TRUE(offsets[i] >= slot.endlessFrom() || offsets[i] + all[i].bytes <= slot.endlessFrom())
          << "across the split";
      EXPECT_LE(offsets[i] + all[i].bytes, packing.endBytes);
      for (size_t j = 0; j < all.size(); ++j)
        if (i != j && liveTogether(all[i], all[j])) {
          EXPECT_TRUE(offsets[i] >= offsets[j] + all[j].bytes || offsets[j] >= offsets[i] + all[i].bytes)
              << instance << ": " << i << " and " << j << " share bytes";
        }
    }
  }
}

// What a cache gives is valid, is the same for the same buffers at other positions, and is no worse than it has to be.
TEST(PackInTurn, NothingTakesNothing) {
  EXPECT_EQ(packInTurn({}, alignment, 0).endBytes, 0);
}

TEST(PackInTurn, DrawnBuffersLieApart) {
  std::mt19937 random(3);
  for (int instance = 0; instance < 300; ++instance) {
    std::vector<Lifetime> buffers;
    for (int64_t count = random() % 60; count > 0; --count) {
      int64_t first = random() % 40;
      buffers.push_back({first, first + static_cast<int64_t>(random() % 12), 1 + static_cast<int64_t>(random() % 300)});
    }
    Packing packing = packInTurn(buffers, alignment, random() % 4 == 0 ? 10000 : 0);
    expectValid(buffers, packing);
    EXPECT_EQ(packing.peakLiveBytes, slowPeak(buffers));
    if (packing.isTight) {
      EXPECT_EQ(roundUp(packing.endBytes, alignment), peakLiveBytes(buffers, alignment));
    }
  }
}

// Slots of two sizes and what is held beside them for a while: as many as a step of 2048 micro-batches has, in the time
// that this takes.
TEST(PackInTurn, ManyMicroBatchesArePackedWithinTenPercent) {
  std::vector<Lifetime> held;
  for (int64_t microBatch = 0; microBatch < 2048; ++microBatch) {
    held.push_back({3 * microBatch, 3 * microBatch + 60, 6400});
    held.push_back({3 * microBatch + 1, 3 * microBatch + 31, 12800});
    held.push_back({3 * microBatch + 32, 3 * microBatch + 58, 3200});
  }
  Packing packing = packInTurn(held, alignment, 0);
  expectValid(held, packing);
  EXPECT_LE(static_cast<double>(packing.endBytes), 1.1 * static_cast<double>(packing.peakLiveBytes));
}

TEST(PackingCache, TakesAPackingAgainThatIsAsGood) {
  std::mt19937 random(4);
  int64_t again = 0;
  for (int round = 0; round < 200; ++round) {
    PackingCache cache;
    std::vector<Lifetime> buffers;
    for (int i = 0; i < 12; ++i) {
      int64_t first = 5 + static_cast<int64_t>(random() % 12);
      buffers.push_back({first, first + static_cast<int64_t>(random() % 6), 1 + static_cast<int64_t>(random() % 900)});
    }
    Space slot;
    slot.taken = {{{0, 9, 512}, 0}, {{0, 14, 256}, 512}};
    slot.splits = {1024};
    std::vector<Lifetime> later = buffers;
    Space laterSlot = slot;
    for (Lifetime &lifetime : later)
      lifetime = {lifetime.first + 1000, lifetime.last + 1000, lifetime.bytes};
    for (PlacedBuffer &placed : laterSlot.taken)
      placed.lifetime = {placed.lifetime.first + 1000, placed.lifetime.last + 1000, placed.lifetime.bytes};
    slot.goalBytes = 8192; // whatever comes first
    const Packing &easy = cache.pack(buffers, alignment, slot);
    const Packing &hard = cache.pack(later, alignment, laterSlot);
    again += &easy == &hard;
    for (const Packing *packing : {&easy, &hard}) {
      expectValid(buffers, *packing);
      for (size_t i = 0; i < buffers.size(); ++i)
        for (const PlacedBuffer &placed : slot.taken)
          EXPECT_TRUE(!liveTogether(buffers[i], placed.lifetime) ||
                      packing->offsets[i] >= placed.offset + placed.lifetime.bytes ||
                      placed.offset >= packing->offsets[i] + buffers[i].bytes);
    }
    EXPECT_LE(hard.endBytes, easy.endBytes);
    EXPECT_LE(hard.endBytes, packBuffers(later, alignment, laterSlot).endBytes) << "round " << round;
    laterSlot.goalBytes = slot.goalBytes;
    EXPECT_EQ(&cache.pack(buffers, alignment, slot), &cache.pack(later, alignment, laterSlot));
  }
  EXPECT_LT(again, 200); // with the lower goal it has to be looked for again, but where the first is tight
}
