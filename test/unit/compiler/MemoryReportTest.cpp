//===- MemoryReportTest.cpp - where the memory of a plan goes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/report/MemoryReport.h"
#include "compiler/report/CommunicatorBytes.h"
#include "compiler/report/TextTable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <tuple>

using namespace tgpt;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

static uint32_t addRegion(plan::StageProgram &stage, plan::Region::Kind kind, int64_t slotBytes, int64_t slots) {
  plan::Region *region = stage.add_regions();
  region->set_kind(kind);
  region->set_offset_bytes(stage.arena_bytes());
  region->set_slot_bytes(slotBytes);
  region->set_slots(slots);
  stage.set_arena_bytes(stage.arena_bytes() + slotBytes * slots);
  return stage.regions_size() - 1;
}

static uint32_t addBuffer(plan::StageProgram &stage, const std::string &name, uint32_t region, int64_t offset,
                          plan::DType dtype, int64_t elements) {
  plan::Buffer *buffer = stage.add_buffers();
  buffer->set_name(name);
  buffer->set_region(region);
  buffer->set_offset_bytes(offset);
  buffer->set_dtype(dtype);
  buffer->add_shape(elements);
  return stage.buffers_size() - 1;
}

static void addVariable(plan::StageProgram &stage, plan::Variable::Role role, uint32_t region, int64_t offset,
                        plan::DType dtype, int64_t elements) {
  plan::Variable *variable = stage.add_variables();
  std::string name = "layers.0.mlp.up.weight" + std::string(role == plan::Variable::PARAMETER ? "" : ".state");
  variable->set_buffer(addBuffer(stage, name, region, offset, dtype, elements));
  variable->set_name(name);
  variable->set_parameter("layers.0.mlp.up.weight");
  variable->set_role(role);
}

static plan::Instruction &addKernel(plan::Segment &segment, const std::string &opcode, std::vector<uint32_t> inputs,
                                    std::vector<uint32_t> outputs, uint32_t location, int64_t flops = 0) {
  plan::Instruction &kernel = *segment.add_instructions();
  kernel.set_kind(plan::Instruction::KERNEL);
  kernel.set_opcode(opcode);
  kernel.mutable_inputs()->Add(inputs.begin(), inputs.end());
  kernel.mutable_outputs()->Add(outputs.begin(), outputs.end());
  kernel.set_location(location);
  kernel.mutable_cost()->set_flops(flops);
  return kernel;
}

/// A bf16 parameter of 1000 elements with its states; two micro-batches in flight, of which
/// each keeps 1500 bytes that a linear makes for the backward of a gelu, and 600 bytes of
/// scratch in the backward.
static plan::Plan smallPlan() {
  plan::Plan plan;
  plan.set_model_name("small");
  for (auto [name, size] : {std::pair("dp", 3), std::pair("pp", 1), std::pair("tp", 2)}) {
    plan::MeshAxis *axis = plan.mutable_mesh()->add_axes();
    axis->set_name(name);
    axis->set_size(size);
  }
  for (const char *location : {"unknown", "small.mlir:7:3 linear", "small.mlir:8:3 gelu", "small.mlir:8:3 gelu_grad"})
    plan.add_locations(location);
  plan::StageProgram &stage = *plan.add_stages();
  uint32_t parameters = addRegion(stage, plan::Region::PARAMETERS, 2048, 1),
           gradients = addRegion(stage, plan::Region::GRADIENTS, 4096, 1),
           optimizer = addRegion(stage, plan::Region::OPTIMIZER, 12032, 1),
           slots = addRegion(stage, plan::Region::ACTIVATIONS, 1536, 2),
           scratch = addRegion(stage, plan::Region::SCRATCH, 640, 1);
  addVariable(stage, plan::Variable::PARAMETER, parameters, 0, plan::BF16, 1000);
  addVariable(stage, plan::Variable::GRADIENT, gradients, 0, plan::F32, 1000);
  addVariable(stage, plan::Variable::MASTER, optimizer, 0, plan::F32, 1000);
  addVariable(stage, plan::Variable::MOMENT1, optimizer, 4032, plan::F32, 1000);
  addVariable(stage, plan::Variable::MOMENT2, optimizer, 8064, plan::F32, 992);
  addVariable(stage, plan::Variable::METRIC, gradients, 4032, plan::F32, 1);
  uint32_t kept = addBuffer(stage, "layers.0.mlp.up.linear", slots, 0, plan::F32, 375);
  uint32_t short1 = addBuffer(stage, "layers.0.gelu", slots, 0, plan::F32, 1);
  uint32_t short2 = addBuffer(stage, "layers.0.gelu_grad", scratch, 0, plan::F32, 150);
  stage.mutable_buffers(static_cast<int>(short1))->set_offset_bytes(1500);
  plan::Segment &forward = *stage.add_segments(), &backward = *stage.add_segments();
  forward.set_name("forward");
  forward.set_kind(plan::Segment::FORWARD);
  addKernel(forward, "linear", {0}, {kept}, 1, 70);
  addKernel(forward, "gelu", {kept}, {short1}, 2, 30);
  backward.set_name("backward");
  backward.set_kind(plan::Segment::BACKWARD);
  addKernel(backward, "gelu_grad", {kept}, {short2}, 3, 200);
  for (auto [segment, microBatch, slot] : {std::tuple(0, 0, 0), std::tuple(0, 1, 1), std::tuple(1, 0, 0),
                                           std::tuple(0, 2, 0), std::tuple(1, 1, 1), std::tuple(1, 2, 0)}) {
    plan::ScheduleEntry *entry = stage.add_schedule();
    entry->set_segment(segment);
    entry->set_micro_batch(microBatch);
    entry->set_slot(slot);
  }
  return plan;
}

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

TEST(MemoryReport, DetailsAddUp) {
  plan::Plan plan = smallPlan();
  MemoryReport report = memoryReportOf(plan);
  EXPECT_THAT(memoryReportText(report, {.by = "layer"}),
              HasSubstr("layers.0    1.95 KiB   3.91 KiB   11.7 KiB     2.93 KiB"));
  EXPECT_THAT(memoryReportText(report, {.by = "op"}), HasSubstr("mlp.up.linear  small.mlir:7:3"));
  EXPECT_THAT(memoryReportText(report, {.by = "", .top = 1}),
              HasSubstr("largest buffers at the peak of each stage:\n"));
}

TEST(MemoryReport, BudgetSaysWhatIsLeft) {
  plan::Plan plan = smallPlan();
  MemoryReport report = memoryReportOf(plan);
  report.budget = {
      "toy", 32 << 10, {{"device context", 4 << 10, "toy.yaml:3"}, {"communicators", 1 << 10, "2 of them"}}};
  EXPECT_THAT(memoryReportText(report),
              HasSubstr("outside of the plan on toy: 5.00 KiB (device context 4.00 KiB, communicators "
                        "1.00 KiB); of 32.0 KiB are left 5.62 KiB on stage 0\n"));
  report.budget.bytes = 16 << 10;
  EXPECT_THAT(memoryReportText(report), HasSubstr("of 16.0 KiB are missing 10.4 KiB on stage 0\n"));
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

// The times of a simulation are taken as they are; without one the lengths are operations.
TEST(MemoryReport, ScheduleHasTheTimesThatAreGiven) {
  plan::Plan plan = smallPlan();
  MemoryReport report = memoryReportOf(plan);
  auto entry = [&] {
    nlohmann::json json = nlohmann::json::parse(memoryReportJson(report));
    nlohmann::json begin = json["stages"][0]["timeline"]["entries"][1][4];
    return std::pair(json["schedule_unit"].get<std::string>(), begin.get<int64_t>());
  };
  EXPECT_EQ(entry(), std::pair(std::string("operations"), int64_t(100)));
  report.entryTimes = {std::vector<EntryTime>(plan.stages(0).schedule_size(), EntryTime{7e9, 8e9})};
  EXPECT_EQ(entry(), std::pair(std::string("nanoseconds"), int64_t(7000000000)));
}

TEST(MemoryReport, WhatIfComparesWithThePlan) {
  plan::Plan plan = smallPlan();
  MemoryReport report = memoryReportOf(plan);
  report.whatIf = {whatIfOf(report, "as it is"), whatIfOf(report, "--recompute=full")};
  report.whatIf[1].arenaBytes -= 2048;
  report.whatIf[1].flops += 90;
  WhatIf &refused = report.whatIf.emplace_back();
  refused.change = "--zero=1";
  refused.refusal = "because";
  std::string text = memoryReportText(report);
  EXPECT_THAT(text, HasSubstr("--recompute=full       19.4 KiB  +2.00 KiB           +10.0%"));
  EXPECT_THAT(text, HasSubstr("  --zero=1 is not possible: because\n"));
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

TEST(MemoryReport, TextNamesEveryCategory) {
  plan::Plan plan = smallPlan();
  EXPECT_THAT(
      memoryReportText(memoryReportOf(plan)),
      AllOf(StartsWith("memory of each rank of small, dp=3 pp=1 tp=2\n"
                       "  stage  ranks  parameters  gradients  optimizer  activations  = slots x bytes  scratch  "
                       "communication     total  peak live  total/live\n"
                       "      0      6    2.00 KiB   4.00 KiB   11.8 KiB     3.00 KiB     2 x 1.50 KiB    640 B  "
                       "          0 B  21.4 KiB   21.1 KiB      1.0146\n"
                       "largest: stage 0 with 21888 B a rank; one slot holds what a micro-batch in flight keeps "
                       "for its backward\n"),
            EndsWith("  stage 0: 2N + 4N + 12N with N = 1000 is 17.6 KiB, planned 17.8 KiB (176 B more: metrics "
                     "and alignment)\n")));
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
  plan::Plan plan = smallPlan();
  nlohmann::json json = nlohmann::json::parse(memoryReportJson(memoryReportOf(plan)));
  const nlohmann::json &stage = json["stages"][0];
  EXPECT_EQ(stage["activations"]["bytes"], 3072);
  EXPECT_EQ(stage["activations"]["live_bytes"], 3000);
  EXPECT_EQ(stage["ledger_state_bytes"], 18000);
  EXPECT_EQ(stage["peak"]["bytes"], 2000 + 4004 + 11968 + 3000 + 600);
  EXPECT_EQ(stage["timeline"]["segments"][1]["scratch_bytes"], nlohmann::json({600}));
  EXPECT_EQ(stage["timeline"]["entries"].size(), 6u);
  EXPECT_EQ(stage["timeline"]["entries"][1], nlohmann::json({0, 1, 1500, 2, 100, 200}));
}

TEST(MemoryReport, JsonEscapesTheModelName) {
  plan::Plan plan;
  plan.set_model_name("a\"b\\c\n");
  EXPECT_EQ(nlohmann::json::parse(memoryReportJson(memoryReportOf(plan)))["model"], "a\"b\\c\n");
}

// A name that would end the script element stands in the page without ending it.
TEST(MemoryReport, PageHoldsTheReport) {
  plan::Plan plan = smallPlan();
  plan.set_model_name("</script><script>alert(1)");
  std::string page = memoryReportHtml(memoryReportOf(plan));
  EXPECT_THAT(page, HasSubstr("{\"model\":\"\\u003c/script>\\u003cscript>alert(1)\""));
  EXPECT_THAT(page, Not(HasSubstr("</script><script>alert")));
  for (const char *mark : {"/* STYLE */", "/* SCRIPT */", "/* REPORT */", "http://localhost", "src=", "@import"})
    EXPECT_THAT(page, Not(HasSubstr(mark)));
}

TEST(BytesText, HasThreeDigits) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(1536), "1.50 KiB");
  EXPECT_EQ(bytesText(20 << 20), "20.0 MiB");
  EXPECT_EQ(bytesText(int64_t(114) << 30), "114 GiB");
}
