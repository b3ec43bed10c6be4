//===- CheckFlightsTest.cpp - started collectives, and what disturbs them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/plan/ExpectProblem.h"
#include "test/unit/plan/StartedPlan.h"

using namespace tgpt;
using namespace tgpt::test;
using plan::Instruction;

namespace {

/// The tiny pipeline with its collectives started; after `damage` its first problem contains `text`.
void expectStartedProblem(const std::string &text, const std::function<void(plan::Plan &)> &damage) {
  plan::Plan plan = withStartedCollectives(tinyPipeline());
  damage(plan);
  std::vector<std::string> problems = runtime::findPlanProblems(plan);
  ASSERT_FALSE(problems.empty()) << "not refused, expected: " << text;
  EXPECT_NE(problems.front().find(text), std::string::npos) << "expected: " << text << "\nfound: " << problems.front();
}

// Forward of stage 0 is now: input x, slice, add, all_gather y to z, wait, send z.
constexpr int forward = 1, gather = 3, ending = 4;

/// A kernel that fills a buffer, between the all_gather and its wait.
void fillMeanwhile(plan::Plan &plan, const std::string &name) {
  auto &all = *plan.mutable_stages(0)->mutable_segments(forward)->mutable_instructions();
  Instruction &fill = *all.Add();
  fill.set_kind(Instruction::KERNEL);
  fill.set_opcode("fill");
  for (int i = 0; i < plan.stages(0).buffers_size(); ++i)
    if (plan.stages(0).buffers(i).name() == name)
      fill.add_outputs(i);
  for (int i = all.size() - 1; i > ending; --i)
    all.SwapElements(i, i - 1);
}

} // namespace

TEST(CheckFlights, StartedCollectivesAreValid) {
  plan::Plan plan = withStartedCollectives(tinyPipeline());
  EXPECT_EQ(at(plan, 0, forward, ending).kind(), Instruction::WAIT);
  for (const std::string &problem : runtime::findPlanProblems(plan))
    ADD_FAILURE() << problem;
}

TEST(CheckFlights, EventsBeginAndEndOnce) {
  expectStartedProblem("instruction 3 (all_gather): event 1 is not waited for in its segment", [](plan::Plan &p) {
    p.mutable_stages(0)->mutable_segments(forward)->mutable_instructions()->DeleteSubrange(ending, 2);
  });
  expectStartedProblem("instruction 3 (wait for event 1): event 1 is not in flight", [](plan::Plan &p) {
    p.mutable_stages(0)->mutable_segments(forward)->mutable_instructions()->SwapElements(gather, ending);
  });
  expectStartedProblem("instruction 5 (wait for event 1): event 1 is not in flight", [](plan::Plan &p) {
    Instruction again = at(p, 0, forward, ending);
    at(p, 0, forward, 5) = again;
  });
  expectStartedProblem("instruction 5 (all_gather): event 1 is started a second time", [](plan::Plan &p) {
    Instruction again = at(p, 0, forward, gather);
    at(p, 0, forward, 5) = again;
  });
}

TEST(CheckFlights, AWaitNamesWhatIsInFlight) {
  const std::string text = "its inputs are not the output and the input of the collective that it waits for";
  expectStartedProblem(text, [](plan::Plan &p) { at(p, 0, forward, ending).mutable_inputs()->RemoveLast(); });
  expectStartedProblem(text, [](plan::Plan &p) { at(p, 0, forward, ending).mutable_inputs()->SwapElements(0, 1); });
}

TEST(CheckFlights, BytesInFlightAreLeftAlone) {
  expectStartedProblem("reads 'z', which has bytes of the output of event 1, which is in flight since instruction 3",
                       [](plan::Plan &p) {
                         p.mutable_stages(0)->mutable_segments(forward)->mutable_instructions()->SwapElements(4, 5);
                       });
  expectStartedProblem("writes 'z', which has bytes of the output of event 1",
                       [](plan::Plan &p) { fillMeanwhile(p, "z"); });
  expectStartedProblem("writes 'y', which has bytes of the input of event 1",
                       [](plan::Plan &p) { fillMeanwhile(p, "y"); });
  // Another buffer of the same bytes is no better.
  expectStartedProblem("writes 'x.part', which has bytes of the input of event 1", [](plan::Plan &p) {
    bufferNamed(p, 0, "y").set_offset_bytes(bufferNamed(p, 0, "x.part").offset_bytes());
    fillMeanwhile(p, "x.part");
  });
}

TEST(CheckFlights, StreamsAreForCollectivesWithinAStage) {
  expectStartedProblem("is on stream COMPUTE with event 1, expected both a communication stream and an event, or none",
                       [](plan::Plan &p) { at(p, 0, forward, gather).set_stream(Instruction::COMPUTE); });
  expectStartedProblem("is on stream TENSOR with event 0",
                       [](plan::Plan &p) { at(p, 0, forward, gather).set_event(0); });
  expectStartedProblem("has the unknown stream 7", [](plan::Plan &p) {
    at(p, 0, forward, gather).set_stream(static_cast<Instruction::Stream>(7));
  });
  expectStartedProblem("is no collective, but on stream DATA",
                       [](plan::Plan &p) { at(p, 0, forward, 2).set_stream(Instruction::DATA); });
  expectStartedProblem("is no collective, but has event 3", [](plan::Plan &p) { at(p, 0, forward, 2).set_event(3); });
  expectStartedProblem("waits for no event", [](plan::Plan &p) { at(p, 0, forward, ending).set_event(0); });
  expectStartedProblem("has 0 inputs and 0 outputs, expected 1 or 2 and 0",
                       [](plan::Plan &p) { at(p, 0, forward, ending).clear_inputs(); });
  expectStartedProblem("is started, but group 2 spans pipeline stages", [](plan::Plan &p) {
    for (Instruction &instruction : *p.mutable_stages(0)->mutable_segments(3)->mutable_instructions())
      if (instruction.group() == 2) {
        instruction.set_event(9);
        instruction.set_stream(Instruction::DATA);
      }
  });
}
