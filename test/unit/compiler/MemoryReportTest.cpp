//===- MemoryReportTest.cpp - where the memory of a plan goes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/report/MemoryReport.h"
#include "compiler/report/TextTable.h"

#include <gtest/gtest.h>

using namespace tgpt;

static void addRegion(plan::StageProgram &stage, plan::Region::Kind kind, int64_t slotBytes, int64_t slots,
                      int64_t live) {
  plan::Region *region = stage.add_regions();
  region->set_kind(kind);
  region->set_offset_bytes(stage.arena_bytes());
  region->set_slot_bytes(slotBytes);
  region->set_slots(slots);
  region->set_peak_live_bytes(live);
  stage.set_arena_bytes(stage.arena_bytes() + slotBytes * slots);
}

static void addVariable(plan::StageProgram &stage, plan::Variable::Role role, plan::DType dtype, int64_t elements) {
  plan::Buffer *buffer = stage.add_buffers();
  buffer->set_dtype(dtype);
  buffer->add_shape(elements);
  plan::Variable *variable = stage.add_variables();
  variable->set_role(role);
  variable->set_buffer(stage.buffers_size() - 1);
}

/// A bf16 parameter of 1000 elements with its states, two micro-batches in flight.
static plan::Plan smallPlan() {
  plan::Plan plan;
  plan.set_model_name("small");
  for (auto [name, size] : {std::pair("dp", 3), std::pair("pp", 1), std::pair("tp", 2)}) {
    plan::MeshAxis *axis = plan.mutable_mesh()->add_axes();
    axis->set_name(name);
    axis->set_size(size);
  }
  plan::StageProgram &stage = *plan.add_stages();
  addVariable(stage, plan::Variable::PARAMETER, plan::BF16, 1000);
  addVariable(stage, plan::Variable::GRADIENT, plan::F32, 1000);
  addVariable(stage, plan::Variable::MASTER, plan::F32, 1000);
  addVariable(stage, plan::Variable::MOMENT1, plan::F32, 1000);
  addVariable(stage, plan::Variable::MOMENT2, plan::F32, 1000);
  addVariable(stage, plan::Variable::METRIC, plan::F32, 1);
  addRegion(stage, plan::Region::PARAMETERS, 2048, 1, 2000);
  addRegion(stage, plan::Region::GRADIENTS, 4096, 1, 4004);
  addRegion(stage, plan::Region::OPTIMIZER, 12032, 1, 12000);
  addRegion(stage, plan::Region::ACTIVATIONS, 1536, 2, 1500);
  addRegion(stage, plan::Region::SCRATCH, 640, 1, 600);
  return plan;
}

TEST(MemoryReport, AddsUpRegionsAndSlots) {
  MemoryReport report = memoryReportOf(smallPlan());
  ASSERT_EQ(report.stages.size(), 1u);
  const StageMemoryReport &stage = report.stages[0];
  EXPECT_EQ(report.mesh, "dp=3 pp=1 tp=2");
  EXPECT_EQ(stage.ranks, 6);
  EXPECT_EQ(stage.activations.bytes, 3072);
  EXPECT_EQ(stage.activations.liveBytes, 3000);
  ASSERT_EQ(stage.activationSlots.size(), 1u);
  EXPECT_EQ(stage.activationSlots[0].count, 2);
  EXPECT_EQ(stage.activationSlots[0].bytes, 1536);
  EXPECT_EQ(stage.communication.bytes, 0);
  EXPECT_EQ(stage.arenaBytes, 2048 + 4096 + 12032 + 3072 + 640);
  EXPECT_EQ(stage.liveBytes(), 2000 + 4004 + 12000 + 3000 + 600);
}

TEST(MemoryReport, LedgerIsBytesPerParameterHeld) {
  StageMemoryReport stage = memoryReportOf(smallPlan()).stages[0];
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

TEST(MemoryReport, TextNamesEveryCategory) {
  EXPECT_EQ(
      memoryReportText(memoryReportOf(smallPlan())),
      "memory of each rank of small, dp=3 pp=1 tp=2\n"
      "  stage  ranks  parameters  gradients  optimizer  activations  = slots x bytes  scratch  communication     "
      "total      live  "
      "total/live\n"
      "      0      6    2.00 KiB   4.00 KiB   11.8 KiB     3.00 KiB     2 x 1.50 KiB    640 B            0 B  21.4 "
      "KiB  21.1 KiB  "
      "    1.0131\n"
      "largest: stage 0 with 21888 B a rank; one slot holds what a micro-batch in flight keeps for its backward\n"
      "weights, gradients and optimizer state by the closed formula (N: parameters held by the rank):\n"
      "  stage 0: 2N + 4N + 12N with N = 1000 is 17.6 KiB, planned 17.8 KiB (176 B more: metrics and alignment)\n");
}

TEST(MemoryReport, StagesAlikeShareALedgerLine) {
  plan::Plan plan = smallPlan();
  for (int i = 1; i < 3; ++i) {
    *plan.add_stages() = plan.stages(0);
    plan.mutable_stages(i)->set_stage(i);
  }
  std::string text = memoryReportText(memoryReportOf(plan));
  EXPECT_NE(text.find("  stages 0-2: 2N"), std::string::npos) << text;
}

TEST(MemoryReport, JsonHoldsBytes) {
  std::string json = memoryReportJson(memoryReportOf(smallPlan()));
  EXPECT_NE(json.find("\"activations\": {\"bytes\": 3072, \"live_bytes\": 3000}"), std::string::npos) << json;
  EXPECT_NE(json.find("\"ledger_state_bytes\": 18000"), std::string::npos) << json;
}

TEST(MemoryReport, JsonEscapesTheModelName) {
  plan::Plan plan;
  plan.set_model_name("a\"b\\c\n");
  EXPECT_NE(memoryReportJson(memoryReportOf(plan)).find("{\"model\": \"a\\\"b\\\\c\\u000a\""), std::string::npos);
}

TEST(BytesText, HasThreeDigits) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(1536), "1.50 KiB");
  EXPECT_EQ(bytesText(20 << 20), "20.0 MiB");
  EXPECT_EQ(bytesText(int64_t(114) << 30), "114 GiB");
}
