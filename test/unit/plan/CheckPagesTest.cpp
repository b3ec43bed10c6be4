//===- CheckPagesTest.cpp - pages that chunks share, and what lies over them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/CheckPlan.h"
#include "test/unit/plan/ChunkedPlan.h"
#include "test/unit/plan/DamagedPlan.h"

#include <functional>
#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

static void expectRefused(const std::string &text, const std::function<void(plan::StageProgram &)> &damage) {
  expectRefusal(pagedPlan(), text, damage);
}

/// The buffer of this name.
static plan::Buffer &bufferOf(plan::StageProgram &stage, const std::string &name) {
  for (plan::Buffer &buffer : *stage.mutable_buffers())
    if (buffer.name() == name)
      return buffer;
  throw std::out_of_range(name);
}

static uint32_t indexOf(const plan::StageProgram &stage, plan::Region::Kind kind) {
  for (int i = 0; i < stage.regions_size(); ++i)
    if (stage.regions(i).kind() == kind)
      return static_cast<uint32_t>(i);
  throw std::out_of_range("no such region");
}

TEST(CheckPages, TheUndamagedPlanIsValid) {
  EXPECT_EQ(findPlanProblems(pagedPlan()), std::vector<std::string>());
}

TEST(CheckPages, Regions) {
  expectRefused("has 4 pages of 128 bytes at",
                [](auto &stage) { regionOf(stage, plan::Region::PAGES, 1).set_slots(4); });
  expectRefused("is a second one of chunk 0",
                [](auto &stage) { regionOf(stage, plan::Region::PAGES, 1).set_chunk(0); });
  expectRefused("starts at", [](auto &stage) { // scratch within pages
    plan::Region &scratch = regionOf(stage, plan::Region::SCRATCH);
    scratch.set_offset_bytes(scratch.offset_bytes() - 64);
  });
  expectRefused("(STEP) from 0 to 64 lies over region 0 (PARAMETERS) at 0",
                [](auto &stage) { regionOf(stage, plan::Region::STEP).set_offset_bytes(0); });
  expectRefused("has the unknown kind 11",
                [](auto &stage) { regionOf(stage, plan::Region::STEP).set_kind(static_cast<plan::Region::Kind>(11)); });
}

TEST(CheckPages, Holders) {
  expectRefused("has page 6, but chunk 0 has 5 pages", [](auto &stage) { stage.mutable_schedule(1)->set_page(6); });
  expectRefused("has page -1, but chunk 0 has 5 pages", [](auto &stage) { stage.mutable_schedule(1)->set_page(-1); });
  expectRefused("has no page, but its instructions use one",
                [](auto &stage) { stage.mutable_schedule(1)->set_page(0); });
  expectRefused("has page 2, but an entry before it page 1",
                [](auto &stage) { stage.mutable_schedule(8)->set_page(2); });
  // Chunk 1 takes the page of micro-batch 1 of chunk 0, which has it until its weight_gradient.
  expectRefused("takes page 2 while micro-batch 1 of chunk 0 has it until entry 17", [](auto &stage) {
    for (int entry : {12, 14, 16})
      stage.mutable_schedule(entry)->set_page(2);
  });
  expectRefused("runs once per step, but has page 1",
                [](auto &stage) { stage.mutable_schedule(stage.schedule_size() - 1)->set_page(1); });
}

/// The same plan, but all that lay in pages lies in leaves.
static plan::Plan leafedPlan() {
  plan::Plan plan = pagedPlan();
  plan::StageProgram &stage = *plan.mutable_stages(0);
  for (plan::Region &region : *stage.mutable_regions())
    if (region.kind() == plan::Region::PAGES)
      region.set_kind(plan::Region::LEAVES);
  for (plan::ScheduleEntry &entry : *stage.mutable_schedule()) {
    entry.set_leaf(entry.page());
    entry.set_page(0);
  }
  return plan;
}

TEST(CheckPages, LeavesAreAsPages) {
  EXPECT_EQ(findPlanProblems(leafedPlan()), std::vector<std::string>());
  auto expectLeafRefused = [](const std::string &text, const std::function<void(plan::StageProgram &)> &damage) {
    expectRefusal(leafedPlan(), text, damage);
  };
  expectLeafRefused("has 4 pages of 128 bytes at",
                    [](auto &stage) { regionOf(stage, plan::Region::LEAVES, 1).set_slots(4); });
  expectLeafRefused("has leaf 6, but chunk 0 has 5 leaves",
                    [](auto &stage) { stage.mutable_schedule(1)->set_leaf(6); });
  expectLeafRefused("has page 1, but chunk 0 has 0 pages", [](auto &stage) { stage.mutable_schedule(1)->set_page(1); });
  expectLeafRefused("has no leaf, but its instructions use one",
                    [](auto &stage) { stage.mutable_schedule(1)->set_leaf(0); });
  expectLeafRefused("has leaf 2, but an entry before it leaf 1",
                    [](auto &stage) { stage.mutable_schedule(8)->set_leaf(2); });
  expectLeafRefused("takes leaf 2 while micro-batch 1 of chunk 0 has it until entry 17", [](auto &stage) {
    for (int entry : {12, 14, 16})
      stage.mutable_schedule(entry)->set_leaf(2);
  });
  expectLeafRefused("runs once per step, but has leaf 1",
                    [](auto &stage) { stage.mutable_schedule(stage.schedule_size() - 1)->set_leaf(1); });
}

TEST(CheckPages, Uses) {
  expectRefused("which lies in the PAGES of chunk 1",
                [](auto &stage) { bufferOf(stage, "x").set_region(bufferOf(stage, "z").region()); });
  expectRefused("which lies in the STEP region, which BEGIN and UPDATE alone may use",
                [](auto &stage) { bufferOf(stage, "y").set_region(indexOf(stage, plan::Region::STEP)); });
  expectRefused("which lies in the SCRATCH, over which the STEP region lies",
                [](auto &stage) { bufferOf(stage, "s").set_region(indexOf(stage, plan::Region::SCRATCH)); });
}
