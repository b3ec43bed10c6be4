//===- CommunicationReportTest.cpp - what the ranks of a plan exchange ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/report/CommunicationReport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tgpt;
using ::testing::HasSubstr;

static uint32_t addBuffer(plan::StageProgram &stage, int64_t elements) {
  plan::Buffer *buffer = stage.add_buffers();
  buffer->set_dtype(plan::F32);
  buffer->add_shape(elements);
  return stage.buffers_size() - 1;
}

static void addInstruction(plan::Segment &segment, plan::Instruction::Kind kind, std::vector<uint32_t> inputs,
                           std::vector<uint32_t> outputs) {
  plan::Instruction *instruction = segment.add_instructions();
  instruction->set_kind(kind);
  if (kind == plan::Instruction::ALL_REDUCE)
    instruction->set_opcode("sum");
  instruction->mutable_inputs()->Add(inputs.begin(), inputs.end());
  instruction->mutable_outputs()->Add(outputs.begin(), outputs.end());
  instruction->set_peer_stage(1);
}

/// Four dp ranks; a forward run three times with two all_reduces of 100 floats, an
/// all_gather of 25 into 100 and a send of 50, and a kernel.
static plan::Plan twoRanksPlan() {
  plan::Plan plan;
  plan.set_model_name("small");
  for (auto [name, size] : {std::pair("dp", 4), std::pair("pp", 2)}) {
    plan::MeshAxis *axis = plan.mutable_mesh()->add_axes();
    axis->set_name(name);
    axis->set_size(size);
  }
  plan.add_groups()->add_axes("dp");
  plan::StageProgram &stage = *plan.add_stages();
  uint32_t whole = addBuffer(stage, 100), part = addBuffer(stage, 25), message = addBuffer(stage, 50);
  plan::Segment &forward = *stage.add_segments();
  forward.set_kind(plan::Segment::FORWARD);
  addInstruction(forward, plan::Instruction::KERNEL, {whole}, {whole});
  addInstruction(forward, plan::Instruction::ALL_REDUCE, {whole}, {whole});
  addInstruction(forward, plan::Instruction::ALL_GATHER, {part}, {whole});
  addInstruction(forward, plan::Instruction::ALL_REDUCE, {whole}, {whole});
  addInstruction(forward, plan::Instruction::SEND, {message}, {});
  for (int i = 0; i < 3; ++i)
    stage.add_schedule()->set_segment(0);
  return plan;
}

TEST(CommunicationReport, CountsCallsOfTheWholeSchedule) {
  CommunicationReport report = communicationReportOf(twoRanksPlan());
  ASSERT_EQ(report.exchanges.size(), 3u);
  const Exchange &reduce = report.exchanges[0], &gather = report.exchanges[1], &send = report.exchanges[2];
  EXPECT_EQ(reduce.what, "all_reduce sum");
  EXPECT_EQ(reduce.with, "dp");
  EXPECT_EQ(reduce.ranks, 4);
  EXPECT_EQ(reduce.calls, 6);
  EXPECT_EQ(reduce.payloadBytes, 6 * 400);
  EXPECT_EQ(gather.calls, 3);
  EXPECT_EQ(gather.payloadBytes, 3 * 400);
  EXPECT_EQ(send.with, "stage 1");
  EXPECT_EQ(send.payloadBytes, 3 * 200);
}

TEST(CommunicationReport, SentBytesAreThoseOfOptimalAlgorithms) {
  CommunicationReport report = communicationReportOf(twoRanksPlan());
  EXPECT_DOUBLE_EQ(report.exchanges[0].sentBytes, 6 * 400 * 2 * 0.75);
  EXPECT_DOUBLE_EQ(report.exchanges[1].sentBytes, 3 * 400 * 0.75);
  EXPECT_DOUBLE_EQ(report.exchanges[2].sentBytes, 3 * 200);
}

// From one chunk of a stage to another; a weight_gradient comes before the update.
TEST(CommunicationReport, AMessageToItselfLeavesNoRank) {
  plan::Plan plan = twoRanksPlan();
  plan::StageProgram &stage = *plan.mutable_stages(0);
  plan::Segment update = stage.segments(0);
  update.set_kind(plan::Segment::UPDATE);
  *stage.add_segments() = update;
  stage.add_schedule()->set_segment(1);
  stage.mutable_segments(0)->set_kind(plan::Segment::WEIGHT_GRADIENT);
  stage.mutable_segments(0)->mutable_instructions(4)->set_peer_stage(0);
  CommunicationReport report = communicationReportOf(plan);
  ASSERT_EQ(report.exchanges.size(), 6u);
  EXPECT_EQ(report.exchanges[2].segment, plan::Segment::WEIGHT_GRADIENT);
  EXPECT_EQ(report.exchanges[2].with, "itself");
  EXPECT_EQ(report.exchanges[2].ranks, 1);
  EXPECT_EQ(report.exchanges[2].payloadBytes, 3 * 200);
  EXPECT_EQ(report.exchanges[2].sentBytes, 0);
  EXPECT_EQ(report.exchanges[3].segment, plan::Segment::UPDATE);
  EXPECT_THAT(communicationReportText(report), HasSubstr("weight_gradient"));
}

TEST(CommunicationReport, TextAndJsonSayTheSame) {
  CommunicationReport report = communicationReportOf(twoRanksPlan());
  EXPECT_THAT(communicationReportText(report),
              HasSubstr("0  forward  all_reduce sum       dp      4      6  2.34 KiB"));
  EXPECT_THAT(communicationReportJson(report), HasSubstr("\"payload_bytes\": 2400,\n      \"sent_bytes\": 3600.0"));
}

TEST(CommunicationReport, OneRankExchangesNothing) {
  plan::Plan plan;
  plan.set_model_name("small");
  EXPECT_THAT(communicationReportText(communicationReportOf(plan)), HasSubstr("\n  none\n"));
}
