//===- DeviceFailureTest.cpp - every call of a device fails in turn -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tiny pipeline on four emulated devices, where one call of one of them fails: of each
// kind the first, second, third, ninth ... call of a run, while ranks are set up, in the first step
// and in those that are captured and replayed, and while variables are read. Each time the
// job ends on all ranks, well before its watchdog would look, with one message that names
// rank, instruction and model line; and no checkpoint is begun.
//
//===----------------------------------------------------------------------===//
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/comm/nccl/NcclTransport.h"
#include "runtime/engine/JobFailure.h"
#include "test/unit/comm/nccl/FailingNccl.h"
#include "test/unit/engine/EmulatedDevices.h"
#include "test/unit/engine/FailingDevice.h"
#include "test/unit/engine/TinyInputs.h"
#include "test/unit/files/TemporaryDirectory.h"
#include "test/unit/plan/StartedPlan.h"

#include <gtest/gtest.h>

#include <chrono>
#include <regex>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {
constexpr int64_t steps = 3;
constexpr double watchdogSeconds = 60, mostSeconds = 20;

/// What became of a run.
struct Ended {
  bool isWithinStep = false;
  std::string text, details;
};

/// Two stages of two ranks; every instruction has a model line.
plan::Plan locatedPipeline() {
  plan::Plan plan = withStartedCollectives(tinyPipeline(1, 2, 2));
  for (plan::StageProgram &stage : *plan.mutable_stages())
    for (plan::Segment &segment : *stage.mutable_segments())
      for (plan::Instruction &instruction : *segment.mutable_instructions()) {
        plan.add_locations("tiny.mlir:" + std::to_string(plan.locations_size()) + ":3 " + instruction.opcode());
        instruction.set_location(static_cast<uint32_t>(plan.locations_size() - 1));
      }
  return plan;
}

/// Sets up, trains, and saves.
Ended run(JobOptions options) {
  TemporaryDirectory directory;
  options.watchdogSeconds = watchdogSeconds;
  Ended ended;
  auto begin = std::chrono::steady_clock::now();
  try {
    Job job(locatedPipeline(), options);
    TinyInputs inputs;
    try {
      job.initializeVariables();
      for (int64_t step = 0; step < steps; ++step)
        job.runStep(inputs);
    } catch (const JobFailure &failure) {
      ended.isWithinStep = true;
      EXPECT_EQ(failure.kind(), JobFailure::Kind::RankFailed) << failure.what();
      EXPECT_FALSE(failure.hasLostThreads()) << failure.what();
      EXPECT_EQ(errorOf([&] { job.runStep(inputs); }), failure.what()) << "the job stays failed";
      EXPECT_EQ(errorOf([&] { saveCheckpoint(job, {}, directory.getPath()); }), failure.what());
      EXPECT_EQ(directory.entries(), 0u) << failure.what();
      throw;
    }
    saveCheckpoint(job, {}, directory.getPath());
  } catch (const Error &error) {
    ended.text = error.what();
    ended.details = error.details();
    EXPECT_EQ(directory.entries(), 0u) << error.what();
  }
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), mostSeconds) << ended.text;
  return ended;
}

/// "stage 1, segment 'forward', instruction 0 (recv, tiny.mlir:7:3 recv), micro-batch 1: ".
const std::regex
    placePattern(R"(stage \d, segment '\w+', instruction \d+ \(.*tiny\.mlir:\d+:3 .*\)(, micro-batch \d)?: )");

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// Which calls of a kind are tried.
int after(int number) {
  return number < 2 ? number + 1 : 4 * number;
}

/// How often the call failed, in all.
struct Tried {
  int count = 0, withinSteps = 0;
};
} // namespace

static JobOptions optionsWith(std::shared_ptr<DeviceRuntime> device, bool waitsForEach) {
  auto backend = hostKernelsOnDevices(referenceKernels());
  backend->device = std::move(device);
  JobOptions options = onDevices(backend);
  options.device.waitsForEach = waitsForEach;
  return options;
}

static Tried failInTurn(DeviceCall kind, int victim, bool waitsForEach) {
  Tried tried;
  for (int number = 0;; number = after(number)) {
    auto device = std::make_shared<FailingDevice>(std::make_shared<EmulatedDevice>(), victim, kind, number);
    Ended ended = run(optionsWith(device, waitsForEach));
    if (!device->hasFailed()) {
      EXPECT_EQ(ended.text, "");
      return tried;
    }
    ++tried.count;
    tried.withinSteps += ended.isWithinStep ? 1 : 0;
    std::string rank = "rank " + std::to_string(victim) + " (dp 0, pp " + std::to_string(victim / 2) + ", tp " +
                       std::to_string(victim % 2) + "), ";
    EXPECT_EQ(ended.text.find(rank), 0u) << ended.text;
    EXPECT_TRUE(has(ended.text, FailingDevice::text(kind))) << ended.text;
    bool isSetUp =
        has(ended.text, "setting up its device: ") || has(ended.text, "reading the variables of its device: ");
    bool isBeforeAll = has(ended.text, ", the start of its step: ");
    EXPECT_EQ(ended.isWithinStep, !isSetUp) << ended.text;
    EXPECT_TRUE(isSetUp || isBeforeAll || std::regex_search(ended.text, placePattern)) << ended.text;
    EXPECT_EQ(ended.details.empty(), isSetUp) << "a table of all ranks, where they were in a step: " << ended.text;
  }
}

class DeviceFailure : public testing::TestWithParam<int> {};

TEST_P(DeviceFailure, NamesItsPlaceAndEndsTheJob) {
  auto kind = static_cast<DeviceCall>(GetParam());
  bool isOfGraphs =
      kind == DeviceCall::BeginCapture || kind == DeviceCall::EndCapture || kind == DeviceCall::LaunchGraph;
  bool isOfSetUp = kind <= DeviceCall::CreateEvent;
  for (bool waitsForEach : {false, true}) {
    Tried tried;
    for (int victim : waitsForEach ? std::vector<int>{3} : std::vector<int>{0, 3}) { // of both stages
      Tried more = failInTurn(kind, victim, waitsForEach);
      tried.count += more.count;
      tried.withinSteps += more.withinSteps;
    }
    EXPECT_EQ(tried.count > 0, !isOfGraphs || !waitsForEach);
    EXPECT_EQ(tried.withinSteps > 0, !isOfSetUp && (!isOfGraphs || !waitsForEach));
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, DeviceFailure, testing::Range(0, static_cast<int>(DeviceCall::Count)));

/// Late, as a GPU reports an illegal access: the segment is known, and how to learn more. Waited for, the instruction.
TEST(DeviceFailures, AKernelThatFailsLateIsNamedWhereItIsWaitedFor) {
  auto textOf = [](bool waitsForEach, int number) {
    auto device = std::make_shared<FailingDevice>(std::make_shared<EmulatedDevice>(), 0, DeviceCall::RunKernel, number);
    return run(optionsWith(device, waitsForEach)).text;
  };
  int rehearsed = 0;
  while (rehearsed < 100 &&
         has(textOf(false, rehearsed), "(at some kernel of those that are rehearsed before the first "
                                       "step: add --device-sync to learn which)"))
    ++rehearsed;
  EXPECT_GT(rehearsed, 0);
  EXPECT_TRUE(std::regex_search(textOf(true, 0), placePattern)) << "waited for, the instruction is known there too";
  // In a step rank 0's third kernel is the sum of its first micro-batch.
  std::string late = textOf(false, rehearsed + 2), exact = textOf(true, rehearsed + 2);
  EXPECT_TRUE(has(late, "stage 0, segment 'forward', instruction 0 (input values, ")) << late;
  EXPECT_TRUE(has(late, "(at some instruction of this segment, or of one that follows: add --device-sync")) << late;
  EXPECT_TRUE(has(exact, "stage 0, segment 'forward', instruction 2 (add, tiny.mlir:")) << exact;
  EXPECT_FALSE(has(exact, "--device-sync")) << exact;
}

static void failNcclInTurn(NcclCall kind) {
  int tried = 0;
  for (int number = 0;; number = after(number), ++tried) {
    auto nccl = std::make_shared<FailingNccl>(kind, number);
    auto backend = hostKernelsOnDevices(referenceKernels());
    backend->connect = [nccl](const DeviceTransportRequest &request) { return makeNcclTransport(request, nccl.get()); };
    Ended ended = run(onDevices(backend));
    EXPECT_EQ(nccl->openCommunicators(), 0) << ended.text;
    if (!nccl->hasFailed()) {
      EXPECT_EQ(ended.text, "");
      break;
    }
    EXPECT_TRUE(has(ended.text, "ncclSystemError (the switch is on fire)")) << ended.text;
    bool isSetUp = has(ended.text, "setting up its communicators: ");
    bool isOfAll = kind == NcclCall::UniqueId;
    EXPECT_TRUE(isOfAll || ended.text.find("rank ") == 0) << ended.text;
    EXPECT_EQ(isSetUp, !ended.isWithinStep && !isOfAll) << ended.text;
    EXPECT_EQ(ended.isWithinStep, std::regex_search(ended.text, placePattern)) << ended.text;
  }
  EXPECT_GT(tried, 0);
}

class NcclFailure : public testing::TestWithParam<int> {};

TEST_P(NcclFailure, NamesItsPlaceAndEndsTheJob) {
  failNcclInTurn(static_cast<NcclCall>(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Calls, NcclFailure, testing::Range(0, static_cast<int>(NcclCall::Count)));
