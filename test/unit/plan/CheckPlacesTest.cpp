//===- CheckPlacesTest.cpp - slots, pages and leaves that lie anywhere ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/ByteOwners.h"
#include "test/unit/plan/ChunkedPlan.h"
#include "test/unit/plan/DamagedPlan.h"

#include <algorithm>
#include <limits>
#include <random>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;
using plan::Region;

static void expectPlaceRefused(const std::string &text, const std::function<void(plan::StageProgram &)> &damage) {
  expectRefusal(placedPlan(), text, damage);
}

static void expectLeavesRefused(const std::string &text, const std::function<void(Region &)> &damage) {
  expectPlaceRefused(text, [&](plan::StageProgram &stage) { damage(regionOf(stage, Region::LEAVES)); });
}

TEST(CheckPlaces, TheUndamagedPlanIsValid) {
  EXPECT_EQ(findPlanProblems(placedPlan()), std::vector<std::string>());
  EXPECT_EQ(strangeRead(placedPlan()), "");
}

TEST(CheckPlaces, APlaceForEachSlotWithinTheArena) {
  expectLeavesRefused("has 5 places for 6 slots", [](Region &leaves) { leaves.mutable_places()->RemoveLast(); });
  expectLeavesRefused("at place 544, expected a multiple of 64", [](Region &leaves) { leaves.set_places(0, 544); });
  expectLeavesRefused("at place -64, expected a multiple of 64", [](Region &leaves) { leaves.set_places(0, -64); });
  constexpr int64_t most = std::numeric_limits<int64_t>::max() / 64 * 64;
  expectLeavesRefused("expected a multiple of 64 from 0 to", [](Region &leaves) { leaves.set_places(0, most); });
  expectLeavesRefused("expected a multiple of 64 from 0 to", [](Region &leaves) { leaves.set_slot_bytes(most); });
  expectPlaceRefused("only ACTIVATIONS, PAGES and LEAVES have any",
                     [](plan::StageProgram &stage) { regionOf(stage, Region::SCRATCH).add_places(0); });
}

TEST(CheckPlaces, TheLotIsApartFromOtherRegions) {
  expectPlaceRefused("with places begins at", [](plan::StageProgram &stage) {
    Region &pages = regionOf(stage, Region::PAGES, 1);
    pages.set_offset_bytes(pages.offset_bytes() + 64);
  });
  auto intoLot = [](plan::StageProgram &stage) {
    Region &scratch = regionOf(stage, Region::SCRATCH);
    scratch.set_offset_bytes(regionOf(stage, Region::PAGES).offset_bytes());
    return &scratch;
  };
  expectPlaceRefused("starts at", [&](plan::StageProgram &stage) { intoLot(stage); });
  // The first region of the lot is empty, so that the scratch begins where it ends.
  expectPlaceRefused("starts at", [&](plan::StageProgram &stage) {
    intoLot(stage);
    for (plan::Buffer &buffer : *stage.mutable_buffers())
      if (stage.regions(static_cast<int>(buffer.region())).kind() == Region::PAGES)
        buffer.set_region(buffer.region() + 2); // the leaves of its chunk
    for (int64_t chunk : {0, 1}) {
      Region &pages = regionOf(stage, Region::PAGES, chunk);
      pages.set_slot_bytes(0);
      pages.set_peak_live_bytes(0);
      for (int64_t &place : *pages.mutable_places())
        place = 0;
    }
  });
}

TEST(CheckPlaces, NobodyHasBytesOfAnother) {
  // Page 3, which micro-batch 0 of chunk 1 has from entry 3 to 7: a forward comes between.
  expectLeavesRefused("micro-batch 2 takes slot 0 of", [](Region &leaves) { leaves.set_places(0, 256); });
  // And half of it.
  expectLeavesRefused("micro-batch 2 takes slot 0 of", [](Region &leaves) { leaves.set_places(0, 320); });
  // A page and a leaf of one run.
  expectLeavesRefused("of which micro-batch 0 has bytes as slot 0", [](Region &leaves) { leaves.set_places(0, 0); });
  // Leaves that reach into the ones behind them.
  expectLeavesRefused("has bytes as slot", [](Region &leaves) {
    leaves.set_slot_bytes(256);
    leaves.set_places(5, 1024);
  });
}

// A forward writes and reads `y` in a leaf, and nobody else does: it may have another one than its backward.
TEST(CheckPlaces, ARunMayHaveALeafAlone) {
  plan::Plan plan = placedPlan();
  plan.mutable_stages(0)->mutable_schedule(2)->set_leaf(5);
  EXPECT_EQ(findPlanProblems(plan), std::vector<std::string>());
  EXPECT_EQ(strangeRead(plan), "");
  expectRefusal(plan, "of which micro-batch 0 has bytes as slot 3 of region 11 (LEAVES) until entry 7",
                [](plan::StageProgram &stage) { stage.mutable_schedule(5)->set_leaf(4); });
}

// Page 1 of one chunk is not page 1 of the other.
TEST(CheckPlaces, PagesOfAChunkHaveNumbersOfTheirOwn) {
  plan::Plan plan = placedPlan();
  plan::StageProgram &stage = *plan.mutable_stages(0);
  Region &pages = regionOf(stage, Region::PAGES, 1);
  std::reverse(pages.mutable_places()->begin(), pages.mutable_places()->end());
  for (plan::ScheduleEntry &entry : *stage.mutable_schedule())
    if (entry.page() > 0 && stage.segments(static_cast<int>(entry.segment())).chunk() == 1)
      entry.set_page(6 - entry.page());
  EXPECT_EQ(findPlanProblems(plan), std::vector<std::string>());
  EXPECT_EQ(strangeRead(plan), "");
  expectRefusal(plan, "has bytes as slot 1 of region", // page 2 of the other, until its weight gradient
                [](plan::StageProgram &stage) { regionOf(stage, Region::PAGES, 1).set_places(0, 128); });
}

TEST(CheckPlaces, WhatIsReadLaterIsInTheSameLeaf) {
  expectPlaceRefused("has leaf 2, but an entry before it leaf 1", [](plan::StageProgram &stage) {
    for (int i = 0; i < stage.buffers_size(); ++i)
      if (stage.buffers(i).name() == "y")
        stage.mutable_segments(WeightGradient)->mutable_instructions(0)->set_inputs(0, static_cast<uint32_t>(i));
  });
}

// What is not refused reads nothing that another micro-batch, chunk or run has written there since.
TEST(CheckPlaces, WhatIsAcceptedReadsItsOwn) {
  std::mt19937_64 random(7);
  auto draw = [&](int64_t count) { return static_cast<int64_t>(random() % count); };
  int64_t accepted = 0, refusedForPlaces = 0, strange = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    plan::Plan plan = placedPlan();
    plan::StageProgram &stage = *plan.mutable_stages(0);
    for (int64_t changes = 1 + draw(3); changes > 0; --changes) {
      plan::ScheduleEntry &entry = *stage.mutable_schedule(1 + draw(stage.schedule_size() - 2));
      Region &region = regionOf(stage, draw(2) == 0 ? Region::PAGES : Region::LEAVES, draw(2));
      switch (draw(4)) {
      case 0: entry.set_page(1 + draw(5)); break;
      case 1: entry.set_leaf(draw(7)); break;
      case 2: region.set_places(draw(region.slots()), 64 * draw(20)); break;
      default:
        std::swap(region.mutable_places()->at(draw(region.slots())), region.mutable_places()->at(draw(region.slots())));
      }
    }
    if (std::vector<std::string> problems = findPlanProblems(plan); !problems.empty()) {
      refusedForPlaces += problems.front().find("has bytes as slot") != std::string::npos;
      strange += problems.front().find("has bytes as slot") != std::string::npos && !strangeRead(plan).empty();
      continue;
    }
    ++accepted;
    ASSERT_EQ(strangeRead(plan), "") << "trial " << trial;
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refusedForPlaces, 1000);
  EXPECT_GT(strange, 100); // some of what is refused is wrong in this order of entries
}
