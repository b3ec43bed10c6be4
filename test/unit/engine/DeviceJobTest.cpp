//===- DeviceJobTest.cpp - the tiny pipeline on emulated devices -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same numbers as on the host, with graphs and without, and errors that say as much.
// The device refuses every access that no event orders, so passing at all is half of it.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/JobFailure.h"
#include "runtime/plan/Error.h"
#include "test/unit/engine/EmulatedDevices.h"
#include "test/unit/engine/FailingDevice.h"
#include "test/unit/engine/TinyTraining.h"
#include "test/unit/plan/StartedPlan.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {
JobOptions deviceOptions() {
  return onDevices(hostKernelsOnDevices(referenceKernels()));
}

using Grid = std::tuple<int64_t, int64_t, int64_t>;
class DeviceJob : public testing::TestWithParam<Grid> {};
} // namespace

TEST_P(DeviceJob, GivesTheNumbersOfTheModel) {
  auto [dp, tp, microBatches] = GetParam();
  for (bool isStarted : {false, true})
    for (bool usesGraphs : {false, true}) {
      JobOptions options = deviceOptions();
      options.device.usesGraphs = usesGraphs;
      plan::Plan plan = tinyPipeline(dp, tp, microBatches);
      Job job(isStarted ? withStartedCollectives(plan) : plan, options);
      expectNumbersOfModel(job, {dp, tp, microBatches});
      expectArenasUsedAsPlanned(job);
      EXPECT_EQ(job.replayedPieces() > 0, usesGraphs);
    }
}

INSTANTIATE_TEST_SUITE_P(Grids, DeviceJob,
                         testing::Values(Grid(1, 1, 1), Grid(1, 2, 3), Grid(2, 1, 2), Grid(2, 2, 3), Grid(3, 4, 5)));

TEST(DeviceJobs, RendezvousSendsGiveTheSameNumbers) {
  Job job(withRendezvousSends(tinyPipeline(2, 2, 3)), deviceOptions());
  expectNumbersOfModel(job, {2, 2, 3});
}

TEST(DeviceJobs, BitsAreThoseOfTheHost) {
  plan::Plan plan = withStartedCollectives(tinyPipeline());
  std::vector<std::byte> expected = trainedBits(plan, referenceOptions());
  JobOptions options = deviceOptions();
  EXPECT_EQ(trainedBits(plan, options), expected);
  options.device.usesGraphs = false;
  EXPECT_EQ(trainedBits(plan, options), expected);
  options.communicationThreads = 0; // what is started runs where it is started
  EXPECT_EQ(trainedBits(plan, options), expected);
  options.device.waitsForEach = true;
  EXPECT_EQ(trainedBits(plan, options), expected);
  JobOptions eager = onDevices(hostKernelsOnDevices(referenceKernels(), {.isLazy = false}));
  EXPECT_EQ(trainedBits(plan, eager), expected);
}

namespace {
std::atomic<int> addsDone{0};
KernelFunction uncountedAdd = nullptr;

/// Notes how many sums had been computed when the first input was asked for.
class CountingInputs final : public TinyInputs {
public:
  void fill(std::string_view input, int64_t dpIndex, int64_t microBatch, TensorView destination) override {
    addsBefore = addsBefore < 0 ? addsDone.load() : addsBefore;
    TinyInputs::fill(input, dpIndex, microBatch, destination);
  }
  int addsBefore = -1;
};

int addsBeforeTheFirstInput(plan::Plan plan) {
  KernelSet kernels = referenceKernels();
  kernels.find = [find = kernels.find](std::string_view opcode, const KernelCall &call) {
    ResolvedKernel kernel = find(opcode, call);
    if (opcode == "add") {
      uncountedAdd = kernel.function;
      kernel.function = [](const KernelCall &call) { return ++addsDone, uncountedAdd(call); };
    }
    return kernel;
  };
  addsDone = 0;
  Job job(std::move(plan), onDevices(hostKernelsOnDevices(kernels)));
  job.initializeVariables();
  CountingInputs inputs;
  job.runStep(inputs);
  EXPECT_EQ(numbersOf(job.readVariable("w")).size(), 4u);
  return inputs.addsBefore;
}
} // namespace

/// Where gradients arrive ahead, each kind of call has run before anything waits for them.
TEST(DeviceJobs, KernelsAreRehearsedWhereMessagesArriveAhead) {
  int adds = addsBeforeTheFirstInput(tinyPipeline(1, 1, 3));
  EXPECT_GE(adds, 1);
  EXPECT_LE(adds, 3) << "calls of one kind are rehearsed once";
  EXPECT_EQ(addsBeforeTheFirstInput(withRendezvousSends(tinyPipeline(1, 1, 3))), 0);
}

TEST(DeviceJobs, VariablesGoToTheDeviceAndBack) {
  Job job(tinyPipeline(1, 2, 1), deviceOptions());
  job.initializeVariables();
  EXPECT_EQ(numbersOf(job.readVariable("w")), std::vector<double>(4, 0.5)) << "before the first step";
  TinyInputs inputs;
  job.runStep(inputs);
  LogicalTensor w = job.readVariable("w");
  for (int64_t i = 0; i < 4; ++i)
    storeElement(w.view(), static_cast<double>(i), i);
  job.writeVariable("w", w);
  EXPECT_EQ(numbersOf(job.readVariable("w")), (std::vector<double>{0, 1, 2, 3}));
  TinyModel model{1, 2, 1, {0, 1, 2, 3}};
  EXPECT_EQ(job.runStep(inputs).loss, model.step());
  EXPECT_EQ(numbersOf(job.readVariable("w")), std::vector<double>(model.w.begin(), model.w.end()));
}

TEST(DeviceJobs, ProfileAndEventsTellOfEveryInstruction) {
  JobOptions options = deviceOptions();
  options.profile = true;
  options.tracedSteps = 1;
  Job job(tinyPipeline(), options);
  job.initializeVariables();
  TinyInputs inputs;
  job.runStep(inputs);
  job.runStep(inputs);
  int64_t adds = 0, sends = 0;
  for (const ProfileEntry &entry : job.profile(0)) {
    adds += entry.opcode == "add" ? entry.calls : 0;
    sends += entry.opcode == "send" ? entry.calls : 0;
    EXPECT_GT(entry.seconds, 0) << entry.opcode;
  }
  EXPECT_EQ(adds, 6);
  EXPECT_EQ(sends, 6);
  std::vector<InstructionEvent> events = job.events(0);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.front().step, 2);
  for (size_t i = 1; i < events.size(); ++i)
    EXPECT_GE(events[i].beginSeconds, events[i - 1].endSeconds) << "each was waited for";
}

// --- What goes wrong ---

TEST(DeviceJobs, AFailingInputNamesItsPlace) {
  Job job(tinyPipeline(), deviceOptions());
  job.initializeVariables();
  FailingInputs inputs("no such sample");
  std::string error = errorOf([&] { job.runStep(inputs); });
  EXPECT_NE(error.find("stage 0, segment 'forward', instruction 0 (input values), micro-batch 2: no such sample"),
            std::string::npos)
      << error;
  EXPECT_EQ(errorOf([&] { job.runStep(inputs); }), error) << "the job stays failed";
}

namespace {
/// What the next "add" does, on whichever rank it is.
enum class Mischief { None, Fails, LeavesFault, Blocks };
std::atomic<Mischief> mischief{Mischief::None};
thread_local DeviceQueue boundQueue;
KernelFunction honestAdd = nullptr;

KernelStatus add(const KernelCall &call) {
  switch (mischief.load()) {
  case Mischief::Fails: return {"add: it has no hands"};
  case Mischief::LeavesFault: *boundQueue.fault = 7; break;
  case Mischief::Blocks:
    while (mischief.load() == Mischief::Blocks)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    break;
  case Mischief::None: break;
  }
  return honestAdd(call);
}

JobOptions mischievousOptions() {
  KernelSet kernels = referenceKernels();
  kernels.find = [find = kernels.find](std::string_view opcode, const KernelCall &call) {
    ResolvedKernel kernel = find(opcode, call);
    if (opcode != "add")
      return kernel;
    honestAdd = kernel.function;
    kernel.function = add;
    return kernel;
  };
  auto backend = hostKernelsOnDevices(kernels);
  backend->bindQueue = [](const DeviceQueue &queue) { boundQueue = queue; };
  backend->describeFault = [](int32_t fault) { return fault == 7 ? "add: seven is too many" : nullptr; };
  return onDevices(backend);
}

std::string errorOfMischief(Mischief kind, JobOptions options, int goodSteps) {
  mischief = Mischief::None;
  Job job(tinyPipeline(1, 1, 2), std::move(options));
  job.initializeVariables();
  TinyInputs inputs;
  for (int step = 0; step < goodSteps; ++step)
    job.runStep(inputs);
  mischief = kind;
  std::string error = errorOf([&] { job.runStep(inputs); });
  mischief = Mischief::None;
  return error;
}
constexpr const char *place = "rank 0 (dp 0, pp 0, tp 0), stage 0, segment 'forward', instruction 2 (add, "
                              "tiny.mlir:7:3 add), micro-batch 0: ";
} // namespace

TEST(DeviceJobs, AKernelThatFailsIsNamed) {
  for (int goodSteps : {0, 3}) // issued one by one, and out of a graph
    EXPECT_EQ(errorOfMischief(Mischief::Fails, mischievousOptions(), goodSteps),
              std::string(place) + "add: it has no hands");
}

/// A kernel that does a slice and the sum behind it, and fails.
TEST(DeviceJobs, AllThatAFailedCallDidIsNamed) {
  for (bool waitsForEach : {false, true}) {
    auto backend = hostKernelsOnDevices(referenceKernels());
    backend->fuse = [](std::span<const SegmentCall> segment) {
      std::vector<FusedCalls> found;
      for (size_t i = 0; i + 1 < segment.size(); ++i)
        if (segment[i].kernel == "slice" && segment[i + 1].kernel == "add") {
          FusedCalls &fused = found.emplace_back();
          fused.name = "slice, add";
          fused.first = i;
          fused.others = {i + 1};
          fused.function = [](const KernelCall &) { return KernelStatus{"they do not go together"}; };
        }
      return found;
    };
    JobOptions options = onDevices(backend);
    options.device.waitsForEach = waitsForEach;
    EXPECT_EQ(errorOfMischief(Mischief::None, options, 0),
              "rank 0 (dp 0, pp 0, tp 0), stage 0, segment 'forward', instruction 1 (slice), micro-batch 0: they do "
              "not go together (in one call with instruction 2 (add, tiny.mlir:7:3 add))");
  }
}

/// Numbers of values are looked at by nobody where a plan has no layouts: then who takes what is not known.
TEST(DeviceJobs, WhatTakesAValueIsKnownOfCheckedPlansAlone) {
  plan::Plan plan = tinyPipeline(1, 1, 2);
  plan::Segment &forward = *plan.mutable_stages(0)->mutable_segments(1);
  for (auto [index, values] : {std::pair(1, std::array<uint32_t, 3>{1, 2}), {2, {2, 0, 3}}}) {
    plan::Instruction &instruction = *forward.mutable_instructions(index);
    for (int i = 0; i < instruction.inputs_size() + instruction.outputs_size(); ++i)
      instruction.add_values(values[static_cast<size_t>(i)]);
  }
  auto backend = hostKernelsOnDevices(referenceKernels());
  int slices = 0;
  backend->fuse = [&](std::span<const SegmentCall> segment) {
    for (const SegmentCall &call : segment)
      if (call.kernel == "slice") {
        ++slices;
        EXPECT_TRUE(call.isTakenOnce.empty());
      }
    return std::vector<FusedCalls>();
  };
  Job job(plan, onDevices(backend));
  EXPECT_GT(slices, 0);
}

TEST(DeviceJobs, DetailsOfAnErrorAreKept) {
  for (bool waitsForEach : {false, true}) {
    KernelSet kernels = referenceKernels();
    kernels.find = [find = kernels.find](std::string_view opcode, const KernelCall &call) {
      ResolvedKernel kernel = find(opcode, call);
      if (opcode == "add")
        kernel.function = [](const KernelCall &) -> KernelStatus { throw Error("it is stuck", "  here\n  and there"); };
      return kernel;
    };
    JobOptions options = onDevices(hostKernelsOnDevices(kernels));
    options.device.waitsForEach = waitsForEach;
    Job job(tinyPipeline(1, 1, 2), options);
    job.initializeVariables();
    TinyInputs inputs;
    try {
      job.runStep(inputs);
      FAIL();
    } catch (const JobFailure &failure) {
      EXPECT_EQ(failure.details().find("  here\n  and there\n  ranks  stage"), 0u) << failure.details();
    }
  }
}

TEST(DeviceJobs, AFaultOfTheDataIsNamed) {
  for (bool waitsForEach : {false, true})
    for (int goodSteps : {0, 3}) {
      JobOptions options = mischievousOptions();
      options.device.waitsForEach = waitsForEach;
      EXPECT_EQ(errorOfMischief(Mischief::LeavesFault, options, goodSteps),
                std::string(place) + "add: seven is too many");
    }
}

TEST(DeviceJobs, AStuckDeviceEndsTheStep) {
  mischief = Mischief::None;
  JobOptions options = mischievousOptions();
  options.watchdogSeconds = 0.3;
  static auto &kept = *new std::vector<Job *>; // outlive the test, as the thread that is lost does
  Job *job = kept.emplace_back(new Job(tinyPipeline(1, 1, 2), options));
  job->initializeVariables();
  TinyInputs inputs;
  job->runStep(inputs);
  mischief = Mischief::Blocks;
  auto start = std::chrono::steady_clock::now();
  std::string error = errorOf([&] { job->runStep(inputs); });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  mischief = Mischief::None;
  EXPECT_EQ(error.find("no rank has advanced for 0.3 s: "), 0u) << error;
  EXPECT_NE(error.find("stage 0, segment 'forward'"), std::string::npos) << error;
}

TEST(DeviceJobs, AnArenaThatDoesNotFitIsRefused) {
  auto backend = hostKernelsOnDevices(referenceKernels(), {.devices = 8, .bytesPerDevice = 100});
  EXPECT_EQ(errorOf([&] { Job job(tinyPipeline(), onDevices(backend)); }),
            "rank 0 (dp 0, pp 0, tp 0), setting up its device: its arena takes 1 MiB of device memory, but device 0 "
            "(emulated device 0) has 1 MiB free");
}

namespace {
/// One for which there are no kernels.
class OldDevice final : public FailingDevice {
public:
  OldDevice() : FailingDevice(std::make_shared<EmulatedDevice>(), 0, DeviceCall::Count, 0) {}
  std::string whyUnfit(int) const override { return "it has compute capability 7.5, 8.0 or newer is needed"; }
};
} // namespace

TEST(DeviceJobs, ADeviceWithoutKernelsIsRefused) {
  auto backend = hostKernelsOnDevices(referenceKernels());
  backend->device = std::make_shared<OldDevice>();
  EXPECT_EQ(errorOf([&] { Job job(tinyPipeline(), onDevices(backend)); }),
            "rank 0 (dp 0, pp 0, tp 0), setting up its device: device 0 (emulated device 0) cannot run the kernels: it "
            "has compute capability 7.5, 8.0 or newer is needed");
}

TEST(DeviceJobs, MoreRanksThanDevicesAreRefused) {
  auto backend = hostKernelsOnDevices(referenceKernels(), {.devices = 2});
  EXPECT_EQ(errorOf([&] { Job job(tinyPipeline(1, 2, 2), onDevices(backend)); }),
            "the plan is for 4 ranks, which need a GPU each, but only 2 GPUs are visible: compile it for at most 2, or "
            "use more machines");
}
