//===- JobFailureTest.cpp - refused plans and failing ranks -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever fails, the job ends at once with one message that names the place.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/JobFailure.h"
#include "runtime/engine/Job.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/RankGrid.h"
#include "test/unit/engine/TinyInputs.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {

KernelStatus failingKernel(const KernelCall &) {
  return {"the sky is falling"};
}

plan::Instruction &at(plan::Plan &plan, int stage, int segment, int index) {
  return *plan.mutable_stages(stage)->mutable_segments(segment)->mutable_instructions(index);
}

} // namespace

TEST(JobFailure, UnknownKernelNamesTheNearest) {
  plan::Plan plan = tinyPipeline();
  at(plan, 0, 1, 2).set_opcode("ad");
  EXPECT_EQ(errorOf([&] { Job job(plan, referenceOptions()); }),
            "invalid plan: stage 0, segment 'forward', instruction 2 (ad, tiny.mlir:7:3 add): unknown kernel 'ad', the "
            "nearest known one is 'add'");
}

TEST(JobFailure, WrongOperandsAreRefusedAtLoad) {
  plan::Plan plan = tinyPipeline();
  at(plan, 0, 1, 2).mutable_inputs()->RemoveLast();
  std::string error = errorOf([&] { Job job(plan, referenceOptions()); });
  EXPECT_EQ(error.find("invalid plan: stage 0, segment 'forward', instruction 2 (add"), 0u) << error;
}

TEST(JobFailure, AxisOffsetsAreCheckedAtTheirLastRank) {
  plan::Plan plan = tinyPipeline();
  at(plan, 0, 1, 1).mutable_axis_offsets(0)->set_stride(3); // tp rank 1 would read [3, 5) of 4
  std::string error = errorOf([&] { Job job(plan, referenceOptions()); });
  EXPECT_EQ(error.find("invalid plan: stage 0, segment 'forward', instruction 1 (slice)"), 0u) << error;
}

TEST(JobFailure, FailingInputEndsTheJobWithItsPlace) {
  Job job(tinyPipeline(), referenceOptions());
  job.initializeVariables();
  FailingInputs inputs("token id 70000 is beyond the vocabulary of 50257");
  auto start = std::chrono::steady_clock::now();
  std::string error = errorOf([&] { job.runStep(inputs); });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  // Both tp ranks of dp 1 fail; whichever is first is named.
  EXPECT_TRUE(error.find("rank 4 (dp 1, pp 0, tp 0), ") == 0 || error.find("rank 5 (dp 1, pp 0, tp 1), ") == 0)
      << error;
  EXPECT_NE(error.find("stage 0, segment 'forward', instruction 0 (input values), micro-batch 2: token id 70000 is "
                       "beyond the vocabulary of 50257"),
            std::string::npos)
      << error;
  EXPECT_EQ(errorOf([&] { job.runStep(inputs); }), error) << "the job stays failed";
}

TEST(JobFailure, FailingKernelEndsTheJobWithItsModelLine) {
  JobOptions options = referenceOptions();
  auto find = options.kernels.find;
  options.kernels.find = [find](std::string_view opcode, const KernelCall &call) {
    return opcode == "add" ? ResolvedKernel{failingKernel, nullptr} : find(opcode, call);
  };
  Job job(tinyPipeline(1, 1, 2), options);
  job.initializeVariables();
  TinyInputs inputs;
  EXPECT_EQ(
      errorOf([&] { job.runStep(inputs); }),
      "rank 0 (dp 0, pp 0, tp 0), stage 0, segment 'forward', instruction 2 (add, tiny.mlir:7:3 add), micro-batch 0: "
      "the sky is falling");
}

TEST(JobFailure, RanksThatReportDifferentMetricsDisagree) {
  plan::Plan plan = tinyPipeline();
  // The loss is reported before it is summed over dp.
  plan.mutable_stages(1)->mutable_segments(3)->mutable_instructions()->SwapElements(0, 1);
  Job job(plan, referenceOptions());
  job.initializeVariables();
  TinyInputs inputs;
  std::string error = errorOf([&] { job.runStep(inputs); });
  EXPECT_EQ(error.find("rank 6 (dp 1, pp 1, tp 0), metric 'loss': it is "), 0u) << error;
  EXPECT_NE(error.find(" on rank 2 (dp 0, pp 1, tp 0)"), std::string::npos) << error;
}

TEST(JobFailure, PlansBeyondTheMachineAreRefusedBeforeTheyTouchMemory) {
  plan::Plan plan = tinyPipeline();
  plan::StageProgram &stage = *plan.mutable_stages(0);
  int64_t more = int64_t(1) << 50;
  plan::Region &last = *stage.mutable_regions(stage.regions_size() - 1);
  last.set_slot_bytes(last.slot_bytes() + more);
  stage.set_arena_bytes(stage.arena_bytes() + more);
  std::string error = errorOf([&] { Job job(plan, referenceOptions()); });
  EXPECT_EQ(error.find("the plan needs 4294967296 MiB for its 8 ranks, but this machine has "), 0u) << error;
}

/// What a rank's process says of its device names it already.
TEST(JobFailure, MessagesThatNameTheirRankAreKnown) {
  RankGrid grid(tinyPipeline(1, 2, 1).mesh());
  EXPECT_TRUE(beginsWithRank(grid.describe(3) + ", setting up its device: cudaMalloc: out of memory", 3));
  EXPECT_FALSE(beginsWithRank(grid.describe(3) + ", setting up its device", 1));
  EXPECT_FALSE(beginsWithRank("rank 3: no space left", 3));
}

TEST(JobFailure, BadOptions) {
  JobOptions options = referenceOptions();
  options.threadsPerRank = 0;
  EXPECT_EQ(errorOf([&] { Job job(tinyPipeline(), options); }), "threads per rank is 0, it must be at least 1");
  options.threadsPerRank = 1;
  options.watchdogSeconds = 0;
  EXPECT_NE(errorOf([&] { Job job(tinyPipeline(), options); }).find("it must be positive"), std::string::npos);
}
