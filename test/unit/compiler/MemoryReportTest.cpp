//===- MemoryReportTest.cpp - where the memory of a plan goes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is counted, and as what. How it is written: MemoryReportFormatsTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "compiler/report/MemoryReport.h"
#include "compiler/report/CommunicatorBytes.h"
#include "test/unit/compiler/SmallPlan.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tgpt;
using ::testing::HasSubstr;
using tgpt::test::smallPlan;

TEST(MemoryReport, AddsUpRegionsAndSlots) {
  plan::Plan plan = smallPlan();
  MemoryReport report = memoryReportOf(plan);
  ASSERT_EQ(report.stages.size(), 1u);
  const StageMemoryReport &stage = report.stages[0];
  EXPECT_EQ(report.mesh, "dp=3 pp=1 tp=2");
  EXPECT_EQ(stage.ranks, 6);
  EXPECT_EQ(stage.of(MemoryCategory::Activations).bytes, 3072);
  EXPECT_EQ(stage.of(MemoryCategory::Activations).liveBytes, 3000);
  ASSERT_EQ(stage.activationSlots.size(), 1u);
  EXPECT_EQ(stage.activationSlots[0].count, 2);
  EXPECT_EQ(stage.activationSlots[0].bytes, 1536);
  EXPECT_EQ(stage.of(MemoryCategory::Communication).bytes, 0);
  EXPECT_EQ(stage.arenaBytes, 2048 + 4096 + 12032 + 3072 + 640);
  EXPECT_EQ(stage.flops, 3 * (70 + 30 + 200));
}

// Both slots are full when the first backward begins to write its 600 bytes.
TEST(MemoryReport, NamesThePeak) {
  plan::Plan plan = smallPlan();
  MemoryReport report = memoryReportOf(plan);
  const PeakMoment &peak = report.stages[0].peak;
  EXPECT_EQ(peak.moment.bytes, 2000 + 4004 + 11968 + 3000 + 600);
  EXPECT_EQ(peak.segment, "backward");
  EXPECT_EQ(peak.microBatch, 0);
  EXPECT_EQ(peak.inFlight, 2);
  EXPECT_EQ(peak.instruction, "gelu_grad");
  EXPECT_EQ(peak.line, "small.mlir:8:3");
  EXPECT_THAT(
      memoryReportText(report),
      HasSubstr("stage 0 peaks at backward of micro-batch 0: 21.1 KiB, 2.93 KiB of it gelu inputs, 2 in flight, "
                "small.mlir:8:3 (while gelu_grad runs, small.mlir:8:3)\n"));
}

TEST(MemoryReport, LiveItemsHaveLayerOpAndLine) {
  plan::Plan plan = smallPlan();
  MemoryReport report = memoryReportOf(plan);
  const std::vector<LiveItem> &live = report.stages[0].peak.live;
  auto kept = std::find_if(live.begin(), live.end(), [](const LiveItem &i) { return i.copies == 2; });
  ASSERT_NE(kept, live.end());
  EXPECT_EQ(kept->category, MemoryCategory::Activations);
  EXPECT_EQ(kept->bytes, 3000);
  EXPECT_EQ(kept->layer, "layers.0");
  EXPECT_EQ(kept->op, "mlp.up.linear");
  EXPECT_EQ(kept->line, "small.mlir:7:3");
  EXPECT_EQ(kept->inputOf, "gelu");
  for (const LiveItem &item : live)
    if (item.category == MemoryCategory::Parameters) {
      EXPECT_EQ(item.line, "small.mlir:7:3"); // where the forward reads it
    }
}

// A slot may be larger than what is kept in it: the rest is scratch.
TEST(MemoryReport, WhatIsNotKeptIsScratch) {
  plan::Plan plan = smallPlan();
  plan::StageProgram &stage = *plan.mutable_stages(0);
  stage.mutable_regions(3)->set_slot_bytes(1536 + 640);
  stage.set_arena_bytes(stage.arena_bytes() + 2 * 640);
  MemoryReport whole = memoryReportOf(plan);
  const StageMemoryReport &report = whole.stages[0];
  EXPECT_EQ(report.of(MemoryCategory::Activations).bytes, 3072);
  EXPECT_EQ(report.of(MemoryCategory::Scratch).bytes, 640 + 2 * 640);
}

// A communicator for each group that has more than one rank, whatever calls it makes; a peer for each other stage.
TEST(MemoryReport, CommunicatorsAreCounted) {
  plan::Plan plan;
  for (auto [name, size] : {std::pair<const char *, int64_t>{"dp", 1}, {"pp", 3}, {"tp", 2}}) {
    plan::MeshAxis &axis = *plan.mutable_mesh()->add_axes();
    axis.set_name(name);
    axis.set_size(size);
    plan.add_groups()->add_axes(name);
  }
  for (int64_t stage = 0; stage < 3; ++stage) {
    plan::StageProgram &program = *plan.add_stages();
    program.set_stage(stage);
    plan::Segment &segment = *program.add_segments();
    for (uint32_t group : {2, 2, 0}) { // tp twice, and dp, which has one rank
      plan::Instruction &instruction = *segment.add_instructions();
      instruction.set_kind(plan::Instruction::ALL_REDUCE);
      instruction.set_group(group);
    }
    for (int64_t peer : {stage - 1, stage, stage + 1})
      if (peer >= 0 && peer < 3) {
        plan::Instruction &instruction = *segment.add_instructions();
        instruction.set_kind(plan::Instruction::SEND);
        instruction.set_peer_stage(peer);
      }
  }
  EXPECT_EQ(communicatorsOf(plan, 0), (cost::CommunicatorCount{1, 1}));
  EXPECT_EQ(communicatorsOf(plan, 1), (cost::CommunicatorCount{1, 2}));
  OutsideBytes bytes = communicatorBytes(plan, {1000, 10}, "c.yaml");
  EXPECT_EQ(bytes.what, "1 communicator and 2 peers");
  EXPECT_EQ(bytes.bytes, 1020);
  EXPECT_EQ(bytes.source, "c.yaml");
}

TEST(MemoryReport, LedgerIsBytesPerParameterHeld) {
  plan::Plan plan = smallPlan();
  StageMemoryReport stage = memoryReportOf(plan).stages[0];
  EXPECT_EQ(stage.ledger.parameters, 1000);
  EXPECT_EQ(stage.ledger.parameterBytes, 2);
  EXPECT_EQ(stage.ledger.gradientBytes, 4);
  EXPECT_EQ(stage.ledger.optimizerBytes, 12);
  EXPECT_EQ(stage.ledger.bytes(), 18000);
  EXPECT_EQ(stage.stateBytes(), 2048 + 4096 + 12032);
}

// Moments of two parameters of 600 and 400 elements, of which the rank holds a piece of 500.
TEST(MemoryReport, LedgerCountsAPieceOnce) {
  plan::Plan plan = smallPlan();
  plan::StageProgram &stage = *plan.mutable_stages(0);
  for (int i : {2, 3, 4}) {
    stage.mutable_buffers(i)->set_shape(0, 500);
    plan::Variable first = stage.variables(i);
    stage.mutable_variables(i)->mutable_flat()->add_axes("dp");
    *stage.add_variables() = first;
    stage.mutable_variables(stage.variables_size() - 1)->mutable_flat()->set_first_element(600);
  }
  StateLedger ledger = memoryReportOf(plan).stages[0].ledger;
  EXPECT_EQ(ledger.parameters, 1000);
  EXPECT_EQ(ledger.gradients, 1000);
  EXPECT_EQ(ledger.optimizer, 500);
  EXPECT_EQ(ledger.bytes(), 12000);
  EXPECT_NE(memoryReportText(memoryReportOf(plan)).find("stage 0: 2 x 1000 + 4 x 1000 + 12 x 500 is 11.7 KiB"),
            std::string::npos);
}
