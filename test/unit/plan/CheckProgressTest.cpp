//===- CheckProgressTest.cpp - refusals: what waits for ever -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ends that do not match, and cycles: each is refused with the places that a person
// needs to follow it. Segments of the tiny pipeline: 0 begin, 1 forward, 2 backward, 3 update;
// stage 0 runs begin F0 F1 B0 F2 B1 B2 update, stage 1 begin F0 B0 F1 B1 F2 B2 update.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Error.h"
#include "runtime/plan/PlanProblems.h"
#include "runtime/plan/RankGrid.h"
#include "runtime/plan/StepGraph.h"
#include "test/unit/plan/ExpectProblem.h"
#include "test/unit/plan/PlanBuilder.h"

#include <ctime>
#include <numeric>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

/// `stages` stages under 1F1B that pass an activation on and its gradient back; all of a stage's work is a RECV and a
/// SEND, as far as there is a neighbour.
static plan::Plan pipelineOf(int stages, int64_t microBatches, uint32_t depth) {
  PlanBuilder b(1, stages, 1, microBatches);
  std::vector<uint32_t> forward, backward;
  for (int stage = 0; stage + 1 < stages; ++stage) {
    forward.push_back(b.channel(stage, stage + 1, depth, plan::F64, {4}));
    backward.push_back(b.channel(stage + 1, stage, depth, plan::F64, {4}));
  }
  for (int stage = 0; stage < stages; ++stage) {
    uint32_t fwd = b.segment(stage, "forward", plan::Segment::FORWARD);
    uint32_t bwd = b.segment(stage, "backward", plan::Segment::BACKWARD);
    bool isFirst = stage == 0, isLast = stage + 1 == stages;
    uint32_t x = b.buffer(stage, "x", plan::Region::ACTIVATIONS, plan::F64, {4});
    uint32_t dx = b.buffer(stage, "dx", plan::Region::SCRATCH, plan::F64, {4});
    isFirst ? void(b.instruction(stage, fwd, plan::Instruction::INPUT, "values", {}, {x}))
            : b.receive(stage, fwd, forward[stage - 1], x);
    if (!isLast)
      b.send(stage, fwd, forward[stage], x), b.receive(stage, bwd, backward[stage], dx);
    else
      b.kernel(stage, bwd, "accumulate", {x}, {dx});
    if (!isFirst)
      b.send(stage, bwd, backward[stage - 1], dx);
    int64_t ahead = std::min<int64_t>(stages - 1 - stage, microBatches - 1);
    b.activationSlots(stage, ahead + 1);
    for (int64_t entry = 0; entry < microBatches + ahead; ++entry) {
      if (entry < microBatches)
        b.run(stage, fwd, entry, entry % (ahead + 1));
      if (entry >= ahead)
        b.run(stage, bwd, entry - ahead, (entry - ahead) % (ahead + 1));
    }
  }
  return b.build();
}

static std::vector<std::string> progressProblems(const plan::Plan &plan) {
  PlanProblems problems;
  checkProgress(plan, RankGrid(plan.mesh()), problems);
  return problems.take();
}

TEST(CheckProgress, EveryMicroBatchCountEnds) {
  for (int stages : {1, 2, 3, 4, 8})
    for (int64_t microBatches : {1, std::max(stages - 1, 1), stages, stages + 1, 8 * stages})
      EXPECT_EQ(findPlanProblems(pipelineOf(stages, microBatches, 2)), std::vector<std::string>())
          << stages << " stages, " << microBatches << " micro-batches";
}

TEST(CheckProgress, TheOrderRespectsEveryWait) {
  plan::Plan plan = pipelineOf(4, 7, 1);
  StepGraph graph(plan);
  std::vector<int> reached, order = graph.order(reached), place(graph.size());
  ASSERT_EQ(static_cast<int>(order.size()), graph.size());
  for (int i = 0; i < graph.size(); ++i)
    place[order[i]] = i;
  for (int node = 0; node < graph.size(); ++node) {
    for (int awaited : graph.waitsFor(node))
      EXPECT_LT(place[awaited], place[node]);
    bool isFirst = node == graph.begin(graph.at(node).stage);
    EXPECT_TRUE(isFirst || place[node - 1] < place[node]);
  }
}

// 64 stages, 1024 micro-batches: far beyond any real plan, as the check runs at every compilation and load.
TEST(CheckProgress, IsFast) {
  auto seconds = [](const plan::Plan &plan) {
    timespec from, to;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    EXPECT_EQ(progressProblems(plan), std::vector<std::string>());
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return static_cast<double>(to.tv_sec - from.tv_sec) + static_cast<double>(to.tv_nsec - from.tv_nsec) * 1e-9;
  };
  double usual = seconds(pipelineOf(16, 128, 2)), large = seconds(pipelineOf(64, 1024, 2));
  std::printf("16 stages x 128 micro-batches: %.4f s; 64 x 1024: %.4f s\n", usual, large);
  EXPECT_LT(usual, 0.1);
  EXPECT_LT(large, 5);
}

// Stage 0 wants the answer before it sends the question.
TEST(CheckProgress, ACycleIsToldStageByStage) {
  plan::Plan plan = tinyPipeline();
  std::swap(at(plan, 0, 1, 0), at(plan, 0, 2, 0));
  at(plan, 0, 1, 0).set_location(1);
  try {
    checkPlan(plan);
    FAIL() << "not refused";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "invalid plan: deadlock: stage 0 waits for stage 1, which waits for stage 0 (and 2 more)");
    EXPECT_EQ(error.details(),
              "  stage 0, entry 1 of 8 (segment 'forward', micro-batch 0), instruction 0 (recv, tiny.mlir:7:3 add) "
              "waits for a message on channel 1, sent by stage 1, entry 2 of 8 (segment 'backward', micro-batch 0), "
              "instruction 2 (send)\n"
              "  stage 1, entry 1 of 8 (segment 'forward', micro-batch 0), instruction 0 (recv) waits for a message on "
              "channel 0, sent by stage 0, entry 1 of 8 (segment 'forward', micro-batch 0), instruction 4 (send)");
  }
}

// Stage 0 runs all forwards before a backward, but the channels hold one message each.
TEST(CheckProgress, ACycleOfFullChannels) {
  plan::Plan plan = pipelineOf(2, 4, 1);
  auto &schedule = *plan.mutable_stages(0)->mutable_schedule();
  std::stable_sort(schedule.begin(), schedule.end(),
                   [](const auto &a, const auto &b) { return a.segment() < b.segment(); });
  std::vector<std::string> problems = progressProblems(plan);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(
      problems[0],
      "deadlock: stage 0 waits for stage 1, which waits for stage 0\n"
      "  stage 0, entry 3 of 8 (segment 'forward', micro-batch 3), instruction 1 (send) waits for room in channel "
      "0 of depth 1, made by stage 1, entry 4 of 8 (segment 'forward', micro-batch 2), instruction 0 (recv)\n"
      "  stage 1, entry 3 of 8 (segment 'backward', micro-batch 1), instruction 1 (send) waits for room in channel "
      "1 of depth 1, made by stage 0, entry 4 of 8 (segment 'backward', micro-batch 0), instruction 0 (recv)");
}

// Sends that wait for their receive: under 1F1B the first stage sends the next activation while the last one sends a
// gradient back, so one direction needs a buffer. A GPipe-like order, all forwards first, needs none.
TEST(CheckProgress, RendezvousSends) {
  std::vector<std::string> problems = progressProblems(pipelineOf(2, 3, 0));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0],
            "deadlock: stage 0 waits for stage 1, which waits for stage 0\n"
            "  stage 0, entry 1 of 6 (segment 'forward', micro-batch 1), instruction 1 (send) waits on channel 0, a "
            "rendezvous, for stage 1, entry 2 of 6 (segment 'forward', micro-batch 1), instruction 0 (recv)\n"
            "  stage 1, entry 1 of 6 (segment 'backward', micro-batch 0), instruction 1 (send) waits on channel 1, a "
            "rendezvous, for stage 0, entry 2 of 6 (segment 'backward', micro-batch 0), instruction 0 (recv)");
  plan::Plan oneDirection = pipelineOf(2, 3, 0);
  oneDirection.mutable_channels(1)->set_depth(1);
  EXPECT_EQ(progressProblems(oneDirection), std::vector<std::string>());
  plan::Plan forwardsFirst = pipelineOf(4, 5, 0);
  for (plan::StageProgram &stage : *forwardsFirst.mutable_stages())
    std::stable_sort(stage.mutable_schedule()->begin(), stage.mutable_schedule()->end(),
                     [](const auto &a, const auto &b) { return a.segment() < b.segment(); });
  EXPECT_EQ(progressProblems(forwardsFirst), std::vector<std::string>());
}

// Three stages, each in a collective with the next before it comes to the one with the last.
TEST(CheckProgress, ACycleOfCollectives) {
  PlanBuilder b(1, 3, 1, 1);
  std::vector<uint32_t> groups = {b.group({"pp"}, {0, 1}), b.group({"pp"}, {1, 2}), b.group({"pp"}, {0, 2})};
  std::vector<std::pair<int, int>> calls = {{0, 2}, {1, 0}, {2, 1}}; // by stage: which group first, which second
  for (int stage = 0; stage < 3; ++stage) {
    uint32_t update = b.segment(stage, "update", plan::Segment::UPDATE);
    uint32_t one = b.buffer(stage, "one", plan::Region::SCRATCH, plan::F64, {});
    setAttribute(b.kernel(stage, update, "fill", {}, {one}), "value", 1.0);
    for (int group : {calls[stage].first, calls[stage].second})
      b.collective(stage, update, plan::Instruction::ALL_REDUCE, groups[group], one, one);
    b.run(stage, update);
  }
  std::vector<std::string> problems = findPlanProblems(b.build());
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0],
            "deadlock: stage 0 waits for stage 1, which waits for stage 2, which waits for stage 0\n"
            "  stage 0, entry 0 of 1 (segment 'update'), instruction 1 (all_reduce sum) waits in group 0 for stage 1, "
            "which comes to it behind stage 1, entry 0 of 1 (segment 'update'), instruction 1 (all_reduce sum)\n"
            "  stage 1, entry 0 of 1 (segment 'update'), instruction 1 (all_reduce sum) waits in group 1 for stage 2, "
            "which comes to it behind stage 2, entry 0 of 1 (segment 'update'), instruction 1 (all_reduce sum)\n"
            "  stage 2, entry 0 of 1 (segment 'update'), instruction 1 (all_reduce sum) waits in group 2 for stage 0, "
            "which comes to it behind stage 0, entry 0 of 1 (segment 'update'), instruction 1 (all_reduce sum)");
}

TEST(CheckProgress, AChannelCarriesOneValue) {
  expectProblem("channel 0 from stage 0 to stage 1 is sent to by two instructions: stage 0, entry 1 of 8 (segment "
                "'forward', micro-batch 0), instruction 4 (send) and stage 0, entry 1 of 8 (segment 'forward', "
                "micro-batch 0), instruction 5 (send)",
                [](plan::Plan &p) {
                  plan::Segment &forward = *p.mutable_stages(0)->mutable_segments(1);
                  *forward.add_instructions() = forward.instructions(4);
                });
}

TEST(CheckProgress, EveryMessageIsReceived) {
  expectProblem("channel 1 from stage 1 to stage 0 is sent 3 messages a step, of which 0 are received; stage 1, entry "
                "2 of 8 (segment 'backward', micro-batch 0), instruction 2 (send) is received by nobody",
                [](plan::Plan &p) {
                  plan::Instruction &receive = at(p, 0, 2, 0);
                  uint32_t z = receive.outputs(0);
                  receive = plan::Instruction();
                  receive.set_kind(plan::Instruction::INPUT);
                  receive.set_opcode("values");
                  receive.add_outputs(z);
                });
  expectProblem("channel 0 from stage 0 to stage 1 is sent 0 messages a step, of which 3 are received; stage 1, entry "
                "1 of 8 (segment 'forward', micro-batch 0), instruction 0 (recv) waits for what nobody sends",
                [](plan::Plan &p) { p.mutable_stages(0)->mutable_segments(1)->mutable_instructions()->RemoveLast(); });
}

// Stage 1 takes micro-batch 1 before micro-batch 0: its labels would meet the other's activations.
TEST(CheckProgress, MessagesMeetTheirMicroBatch) {
  expectProblem("message 0 of channel 0 from stage 0 to stage 1 is of micro-batch 0 but is received for micro-batch 1: "
                "stage 0, entry 1 of 8 (segment 'forward', micro-batch 0), instruction 4 (send) meets stage 1, entry 1 "
                "of 8 (segment 'forward', micro-batch 1), instruction 0 (recv)",
                [](plan::Plan &p) {
                  for (int entry : {1, 2})
                    p.mutable_stages(1)->mutable_schedule(entry)->set_micro_batch(1);
                  for (int entry : {3, 4})
                    p.mutable_stages(1)->mutable_schedule(entry)->set_micro_batch(0);
                });
}

TEST(CheckProgress, CollectivesAcrossStagesMatch) {
  expectProblem("collectives of group 2 do not match", [](plan::Plan &p) { at(p, 1, 3, 3).set_opcode("max"); });
  expectProblem(
      "stage 0 comes to group 2 1 times a step and stage 1 0 times; nobody meets stage 0, entry 7 of 8 "
      "(segment 'update'), instruction 3 (all_reduce sum)",
      [](plan::Plan &p) { p.mutable_stages(1)->mutable_segments(3)->mutable_instructions()->DeleteSubrange(3, 1); });
}
