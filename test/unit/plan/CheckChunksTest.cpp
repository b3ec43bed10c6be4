//===- CheckChunksTest.cpp - refusals: chunks and weight gradients -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each case damages one thing of the valid plan with two chunks and expects the message
// that names its place. Schedule: begin F0 F1 F0.1 B0.1 F2 F1.1 W0.1 B0 B1.1 B1 W0 F2.1 ...
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/CheckPlan.h"
#include "test/unit/plan/ChunkedPlan.h"

#include <functional>
#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

static void expectRefused(const std::string &text,
                          const std::function<void(plan::Plan &, plan::StageProgram &)> &damage) {
  plan::Plan plan = chunkedPlan();
  damage(plan, *plan.mutable_stages(0));
  std::vector<std::string> problems = findPlanProblems(plan);
  ASSERT_FALSE(problems.empty()) << "not refused, expected: " << text;
  EXPECT_NE(problems.front().find(text), std::string::npos) << "expected: " << text << "\nfound: " << problems.front();
}

static uint32_t indexOf(const plan::StageProgram &stage, const std::string &name) {
  for (int i = 0; i < stage.buffers_size(); ++i)
    if (stage.buffers(i).name() == name)
      return i;
  throw std::out_of_range(name);
}

/// The region of activations of chunk 1.
static plan::Region &secondActivations(plan::StageProgram &stage) {
  return *stage.mutable_regions(stage.regions_size() - 1);
}

TEST(CheckChunks, TheUndamagedPlanIsValid) {
  EXPECT_EQ(findPlanProblems(chunkedPlan()), std::vector<std::string>());
}

TEST(CheckChunks, RegionsAndSegments) {
  expectRefused("is a second one of chunk 0", [](auto &, auto &stage) { secondActivations(stage).set_chunk(0); });
  expectRefused("is of chunk -1, the first chunk is 0",
                [](auto &, auto &stage) { secondActivations(stage).set_chunk(-1); });
  expectRefused("is of chunk 2, but only ACTIVATIONS, PAGES and LEAVES are of a chunk",
                [](auto &, auto &stage) { stage.mutable_regions(plan::Region::SCRATCH - 1)->set_chunk(2); });
  expectRefused("segment 'update' is of chunk 1, expected 0",
                [](auto &, auto &stage) { stage.mutable_segments(Update)->set_chunk(1); });
  expectRefused("segment 'forward' has the unknown kind 6", [](auto &, auto &stage) {
    stage.mutable_segments(Forward)->set_kind(static_cast<plan::Segment::Kind>(6));
  });
}

// A slot number of one chunk means nothing in the activations of the other.
TEST(CheckChunks, AChunkUsesItsOwnActivations) {
  expectRefused("segment 'backward.1', instruction 0 (add): of chunk 1 uses buffer", [](auto &, auto &stage) {
    stage.mutable_segments(Backward1)->mutable_instructions(0)->set_inputs(0, indexOf(stage, "x"));
  });
  expectRefused("'z', which lies in the ACTIVATIONS of chunk 1",
                [](auto &, auto &stage) { stage.mutable_segments(Forward1)->set_chunk(0); });
}

TEST(CheckChunks, Slots) {
  expectRefused("chunk 1 has 2 activation slots", [](auto &, auto &stage) { stage.mutable_schedule(3)->set_slot(2); });
  expectRefused(
      "(segment 'weight_gradient.1', micro-batch 0, slot 1) reads another slot than its forward wrote, slot 0",
      [](auto &, auto &stage) { stage.mutable_schedule(7)->set_slot(1); });
  // Micro-batch 2 would come into slot 0 of chunk 0 before its weight_gradient has run.
  expectRefused("takes the slot while micro-batch 0 is in flight in it until entry 11", [](auto &, auto &stage) {
    for (int entry : {5, 15, 18})
      stage.mutable_schedule(entry)->set_slot(0);
  });
  // The same number in the other chunk is another slot: 0 of chunk 1 is free.
  expectRefused("takes the slot while micro-batch 1 is in flight in it until entry", [](auto &, auto &stage) {
    for (int entry : {12, 14, 16})
      stage.mutable_schedule(entry)->set_slot(1);
  });
}

TEST(CheckChunks, Order) {
  expectRefused("(segment 'weight_gradient.1', micro-batch 0, slot 0) comes before its backward, entry 7",
                [](auto &, auto &stage) { stage.mutable_schedule()->SwapElements(4, 7); });
  expectRefused("segment 'weight_gradient' is scheduled 2 times per step, expected 3, once for each micro-batch",
                [](auto &, auto &stage) { stage.mutable_schedule()->DeleteSubrange(18, 1); });
}

// A sum in a tree takes up those of the micro-batches before; others may come in any order.
TEST(CheckChunks, OrderOfMicroBatches) {
  plan::Plan plan = chunkedPlan();
  plan::StageProgram &stage = *plan.mutable_stages(0);
  stage.mutable_schedule()->SwapElements(17, 18);
  EXPECT_EQ(findPlanProblems(plan), std::vector<std::string>());
  expectRefused(
      "schedule entry 18 (segment 'weight_gradient', micro-batch 1, slot 1) comes after micro-batch 2 in entry "
      "17, but the segment adds micro-batches in a tree, in their order",
      [](auto &, auto &stage) {
        stage.mutable_segments(WeightGradient)->mutable_instructions(1)->set_opcode("accumulate_tree");
        stage.mutable_schedule()->SwapElements(17, 18);
      });
}

TEST(CheckChunks, Phases) {
  using Entry = plan::ScheduleEntry;
  expectRefused("is in phase 0, expected WARM_UP, STEADY or COOL_DOWN",
                [](auto &, auto &stage) { stage.mutable_schedule(2)->clear_phase(); });
  expectRefused(
      "schedule entry 3 (segment 'forward.1', micro-batch 0, slot 0) is in phase STEADY, after an entry in COOL_DOWN",
      [](auto &, auto &stage) { stage.mutable_schedule(2)->set_phase(Entry::COOL_DOWN); });
  expectRefused("runs once per step, but names a phase of the pipeline",
                [](auto &, auto &stage) { stage.mutable_schedule(0)->set_phase(Entry::WARM_UP); });
}

TEST(CheckChunks, WhatAWeightGradientReadsWasWritten) {
  // Nothing computes d.
  expectRefused(
      "segment 'backward.1', instruction 0 (send): input 0 'd' is read, but its byte 0 of 32 was not written "
      "before for this micro-batch",
      [](auto &, auto &stage) { stage.mutable_segments(Backward1)->mutable_instructions()->DeleteSubrange(0, 1); });
  // Nor t, which the backward has left behind.
  expectRefused("'t' is read, but its byte 0 of 32 was not written before in this segment", [](auto &, auto &stage) {
    stage.mutable_segments(WeightGradient)->mutable_instructions()->DeleteSubrange(0, 1);
  });
}

// A rank that waits for a message of its own, or for room in its own channel, waits forever.
TEST(CheckChunks, MessagesOfARankToItself) {
  expectRefused("deadlock: stage 0 waits for stage 0\n  stage 0, entry 1 of 20 (segment 'forward.1', micro-batch 0), "
                "instruction 0 (recv) waits for a message on channel 0, sent by stage 0, entry 2",
                [](auto &, auto &stage) {
                  stage.mutable_schedule()->SwapElements(1, 3); // F0.1 first
                  stage.mutable_schedule()->SwapElements(2, 3);
                });
  expectRefused("waits for room in channel 0 of depth 1, made by stage 0", [](auto &plan, auto &) {
    plan::Channel &channel = *plan.mutable_channels(0);
    channel.set_depth(1);
    channel.mutable_receive_buffers()->RemoveLast();
  });
}
