//===- WatchdogTest.cpp - stuck and failed ranks, and what is said of them -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank that does not return ends the job within the bound, one that is slow does not;
// and the error says where every rank was.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Watchdog.h"
#include "runtime/engine/CommunicationThread.h"
#include "runtime/engine/FailureRecord.h"
#include "runtime/engine/Job.h"
#include "test/unit/engine/FaultyKernels.h"
#include "test/unit/engine/TinyInputs.h"
#include "test/unit/plan/StartedPlan.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;
using Kind = KernelFault::Kind;
using State = RankPosition::State;

namespace {

constexpr double bound = 0.5;

JobOptions faultyOptions(double watchdogSeconds = bound) {
  JobOptions options;
  options.kernels = faultyKernels(referenceKernels());
  options.watchdogSeconds = watchdogSeconds;
  return options;
}

/// What a step of the plan ends with, and after how long.
struct Outcome {
  std::optional<JobFailure> failure;
  double seconds = 0;
};

Outcome run(const plan::Plan &plan, const KernelFault &fault, JobOptions options = faultyOptions()) {
  Outcome outcome;
  setFault({});
  Job job(plan, options);
  job.initializeVariables();
  TinyInputs inputs;
  setFault(fault);
  auto start = std::chrono::steady_clock::now();
  try {
    job.runStep(inputs);
  } catch (const JobFailure &failure) {
    outcome.failure = failure;
    EXPECT_THROW(job.runStep(inputs), JobFailure) << "the job stays failed";
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

} // namespace

TEST(Watchdog, ARankThatDoesNotReturnEndsTheJob) {
  // Call 0 of rank 0 clears the gradient, 1 takes the slice, 2 adds.
  Outcome outcome = run(tinyPipeline(1, 1, 2), {Kind::Blocks, /*rank=*/0, /*call=*/2});
  ASSERT_TRUE(outcome.failure);
  EXPECT_GE(outcome.seconds, bound);
  EXPECT_LT(outcome.seconds, bound + 5);
  EXPECT_EQ(outcome.failure->kind(), JobFailure::Kind::Stuck);
  EXPECT_TRUE(outcome.failure->hasLostThreads());
  EXPECT_STREQ(outcome.failure->what(),
               "no rank has advanced for 0.5 s: rank 0 (dp 0, pp 0, tp 0) does not return from stage 0, segment "
               "'forward', instruction 2 (add, tiny.mlir:7:3 add), micro-batch 0");
  EXPECT_EQ(outcome.failure->details(),
            "  ranks  stage  entry   segment  micro-batch  instruction                state\n"
            "  0      0      1 of 6  forward  0            2 add (tiny.mlir:7:3 add)  working\n"
            "  1      1      1 of 6  forward  0            0 recv                     waiting on channel 0 for rank 0")
      << outcome.failure->details();
  releaseBlocked();
}

TEST(Watchdog, TheReportHasEveryRankAndWhoIsMissing) {
  // Rank 5 is (dp 1, pp 0, tp 1); its tp peer waits for it in the all_gather, stage 1 of dp 1 for a message.
  Outcome outcome = run(tinyPipeline(2, 2, 3), {Kind::Blocks, /*rank=*/5, /*call=*/4});
  ASSERT_TRUE(outcome.failure);
  EXPECT_LT(outcome.seconds, bound + 5);
  const std::vector<RankPosition> &positions = outcome.failure->positions();
  ASSERT_EQ(positions.size(), 8u);
  for (int64_t rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(positions[rank].rank, rank);
    EXPECT_EQ(positions[rank].stage, rank / 2 % 2);
    EXPECT_EQ(positions[rank].state, rank == 5 ? State::Working : State::Waiting) << rank;
  }
  EXPECT_EQ(positions[5].entry, 2);
  EXPECT_EQ(positions[5].microBatch, 1);
  EXPECT_EQ(positions[5].location, "tiny.mlir:7:3 add");
  EXPECT_EQ(positions[4].waitsOn, "group 0 (tp)");
  EXPECT_EQ(positions[4].missing, std::vector<int64_t>{5});
  EXPECT_EQ(positions[7].waitsOn, "channel 0");
  EXPECT_EQ(positions[7].missing, std::vector<int64_t>{5});
  // dp 0 is through its micro-batches and waits for dp 1 in the update.
  EXPECT_EQ(positions[0].segment, "update");
  EXPECT_EQ(positions[0].waitsOn, "group 1 (dp)");
  EXPECT_EQ(positions[0].missing, std::vector<int64_t>{4});
  releaseBlocked();
}

TEST(Watchdog, ASlowRankIsNotStuck) {
  // Rank 0 calls a dozen kernels a step, and all others wait for it all the time.
  Outcome outcome = run(tinyPipeline(1, 2, 2), {Kind::SleepsEveryCall, 0, 0, 0.3}, faultyOptions(1));
  EXPECT_FALSE(outcome.failure) << outcome.failure->what();
  EXPECT_GT(outcome.seconds, 2);
}

TEST(Watchdog, AKernelMayTakeWhatItsOperationsTake) {
  plan::Plan plan = tinyPipeline(1, 1, 1);
  plan.mutable_stages(0)->mutable_segments(1)->mutable_instructions(2)->mutable_cost()->set_flops(2'000'000'000);
  KernelFault sleeps{Kind::SleepsEveryCall, 0, 0, 0.5};
  JobOptions options = faultyOptions(0.2);
  Outcome impatient = run(plan, sleeps, options);
  ASSERT_TRUE(impatient.failure);
  EXPECT_EQ(impatient.failure->kind(), JobFailure::Kind::Stuck);
  // Two seconds for `add`; the other kernels still sleep for too long.
  options.kernels.slowestFlopsPerSecond = 1e9;
  Outcome patient = run(plan, sleeps, options);
  ASSERT_TRUE(patient.failure);
  EXPECT_EQ(patient.failure->positions()[0].opcode, "fill");
  for (plan::StageProgram &stage : *plan.mutable_stages())
    for (plan::Segment &segment : *stage.mutable_segments())
      for (plan::Instruction &instruction : *segment.mutable_instructions())
        instruction.mutable_cost()->set_flops(2'000'000'000);
  EXPECT_FALSE(run(plan, sleeps, options).failure);
}

TEST(Watchdog, AFailedRankIsToldFromThoseThatWait) {
  for (Kind kind : {Kind::ReturnsError, Kind::Throws, Kind::ThrowsInteger}) {
    Outcome outcome = run(tinyPipeline(1, 2, 2), {kind, /*rank=*/1, /*call=*/2}, faultyOptions(60));
    ASSERT_TRUE(outcome.failure);
    EXPECT_LT(outcome.seconds, 10);
    EXPECT_EQ(outcome.failure->kind(), JobFailure::Kind::RankFailed);
    EXPECT_FALSE(outcome.failure->hasLostThreads());
    EXPECT_EQ(std::string(outcome.failure->what()),
              std::string("rank 1 (dp 0, pp 0, tp 1), stage 0, segment 'forward', instruction 2 (add, tiny.mlir:7:3 "
                          "add), micro-batch 0: ") +
                  (kind == Kind::ReturnsError ? "the sky is falling"
                   : kind == Kind::Throws     ? "the sky has fallen"
                                              : "unknown exception"));
    const std::vector<RankPosition> &positions = outcome.failure->positions();
    ASSERT_EQ(positions.size(), 4u);
    EXPECT_EQ(positions[1].state, State::Failed);
    for (int64_t rank : {0, 2, 3})
      EXPECT_TRUE(positions[rank].state == State::Waiting || positions[rank].state == State::Stopped) << rank;
  }
}

// A rank fails while another is in a kernel that does not return: the job ends all the same.
TEST(Watchdog, AFailureDoesNotWaitForAStuckRank) {
  setFault({});
  Job job(tinyPipeline(2, 1, 3), faultyOptions());
  job.initializeVariables();
  FailingInputs inputs("no such sample");
  setFault({Kind::Blocks, /*rank=*/0, /*call=*/0});
  auto start = std::chrono::steady_clock::now();
  try {
    job.runStep(inputs);
    FAIL() << "no failure";
  } catch (const JobFailure &failure) {
    EXPECT_EQ(failure.kind(), JobFailure::Kind::RankFailed);
    EXPECT_TRUE(failure.hasLostThreads());
    EXPECT_EQ(failure.positions()[0].state, State::Working);
    EXPECT_EQ(failure.positions()[2].state, State::Failed);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  releaseBlocked();
}

TEST(Watchdog, TheCommunicationOfARankIsReported) {
  Outcome outcome = run(withStartedCollectives(tinyPipeline(1, 2, 2)), {Kind::Blocks, /*rank=*/1, /*call=*/2});
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->kind(), JobFailure::Kind::Stuck);
  bool isReported = false;
  for (const RankPosition &position : outcome.failure->positions())
    if (position.isCommunication && position.rank == 0) {
      isReported = true;
      EXPECT_EQ(position.opcode, "all_gather");
      EXPECT_EQ(position.waitsOn, "group 0 (tp)");
      EXPECT_EQ(position.missing, std::vector<int64_t>{1});
    }
  EXPECT_TRUE(isReported) << outcome.failure->details();
  EXPECT_NE(outcome.failure->details().find("waiting on its communication thread"), std::string::npos)
      << outcome.failure->details();
  releaseBlocked();
}

// Collectives do not fail by themselves, so one is made that does.
TEST(Watchdog, ACommunicationThreadThatDiesEndsTheJob) {
  plan::Plan plan = withStartedCollectives(tinyPipeline(1, 2, 2));
  RankGrid grid(plan.mesh());
  SharedMemoryWorld world({2 * grid.ranks(), 2 * grid.ranks()});
  std::vector<std::unique_ptr<Arena>> arenas;
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    arenas.push_back(std::make_unique<Arena>(plan.stages(static_cast<int>(grid.stageOf(rank))).arena_bytes(), rank));
  Transport transport(plan, grid, world, arenas, grid.ranks());
  KernelSet kernels = referenceKernels();
  std::vector<std::string> metrics = {"loss", "rank_count"};
  BindingContext binding{plan, grid, kernels, metrics};
  std::vector<std::unique_ptr<RankProgram>> programs;
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    programs.push_back(
        std::make_unique<RankProgram>(binding, rank, arenas[rank]->base(), transport.of(rank), world.placeOf(rank)));
  std::vector<std::unique_ptr<CommunicationProgress>> progresses;
  std::vector<std::unique_ptr<CommunicationThread>> communication;
  FailureRecord failures(world, plan, grid, /*hasCommunicationThreads=*/true);
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    progresses.push_back(std::make_unique<CommunicationProgress>(world, grid.ranks() + rank));
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    communication.push_back(std::make_unique<CommunicationThread>(
        world, *programs[rank], 2, *progresses[rank],
        CommunicationThread::Options{rank, grid.ranks() + rank, false, false,
                                     [&, rank](const std::string &what) { failures.add(grid.ranks() + rank, what); }}));
  BoundInstruction broken;
  broken.segment = 1, broken.index = 3;
  broken.exchange = [](const BoundInstruction &, StepContext &) { throw std::runtime_error("the cable is cut"); };
  StepContext context;
  context.entry = 1;
  communication[1]->start(broken, context);
  communication[1]->settle();
  EXPECT_TRUE(world.aborted());
  try {
    failures.throwIfAny();
    FAIL() << "no failure";
  } catch (const JobFailure &failure) {
    EXPECT_STREQ(failure.what(), "the communication of rank 1 (dp 0, pp 0, tp 1), stage 0, segment 'forward', "
                                 "instruction 3 (all_gather), micro-batch 0: the cable is cut");
    ASSERT_EQ(failure.positions().size(), 5u);
    EXPECT_TRUE(failure.positions()[2].isCommunication);
    EXPECT_EQ(failure.positions()[2].rank, 1);
    EXPECT_EQ(failure.positions()[2].state, State::Failed);
  }
}

namespace {
/// A world of two ranks that are in different stages, and who waits there for the other.
struct TwoRanks final : WaitPlace {
  TwoRanks() {
    world.add(*this);
    world.watch(event);
  }
  std::string name() const override { return "channel 0"; }
  std::vector<int64_t> missing() const override { return {0}; }

  /// What the job that has ended says, and its table.
  std::pair<std::string, std::string> failure() {
    try {
      record.throwIfAny();
    } catch (const JobFailure &failure) {
      return {failure.what(), failure.details()};
    }
    return {};
  }

  plan::Plan plan = tinyPipeline(1, 1, 2);
  RankGrid grid{plan.mesh()};
  SharedMemoryWorld world{{2, 2}};
  FailureRecord record{world, plan, grid, /*hasCommunicationThreads=*/false};
  EventWord event;
};
} // namespace

// Where ranks are processes, one of them may be suspended before it begins a step in which others wait for it.
TEST(Watchdog, ARankThatIsNotWithinItsStepIsNamed) {
  TwoRanks two;
  two.world.placeOf(0).end();
  two.world.placeOf(1).entry = 1;
  two.world.placeOf(1).set(1, 0);
  two.world.setIdle(1, false);
  std::thread waits([&] { EXPECT_THROW(two.world.wait(1, two.event, two, [] { return false; }), JobAborted); });
  while (!two.world.waitsAt(1))
    std::this_thread::yield();
  two.record.addStuck(1);
  waits.join();
  auto [message, table] = two.failure();
  EXPECT_EQ(message,
            "no rank has advanced for 1 s: rank 0 (dp 0, pp 0, tp 0) is not within its step, and rank 1 (dp 0, "
            "pp 1, tp 0) waits for it at stage 1, segment 'forward', instruction 0 (recv), micro-batch 0 on "
            "channel 0");
  EXPECT_EQ(table,
            "  ranks  stage  entry   segment  micro-batch  instruction          state\n"
            "  0      0      6 of 6                        the end of its step  ended\n"
            "  1      1      1 of 6  forward  0            0 recv               waiting on channel 0 for rank 0");
}

TEST(Watchdog, ARankThatDoesNotGoOnAfterItsStepIsNamed) {
  TwoRanks two;
  two.world.placeOf(0).end();
  two.world.placeOf(1).end();
  two.record.addStuck(1, /*missing=*/{1});
  auto [message, table] = two.failure();
  EXPECT_EQ(message, "no rank has advanced for 1 s: rank 1 (dp 0, pp 1, tp 0) has ended its step and does not go on");
  EXPECT_EQ(table, "  ranks  stage  entry   segment  micro-batch  instruction          state\n"
                   "  0      0      6 of 6                        the end of its step  ended\n"
                   "  1      1      6 of 6                        the end of its step  ended");
}

TEST(JobFailure, SaysWhetherAStepHadBegunOrWasOver) {
  struct Case {
    bool isEnd, isIdle;
    std::string where, row;
  };
  for (const Case &each :
       {Case{true, true, "between steps", "6 of 6"}, Case{false, true, "between steps", "0 of 6"},
        Case{true, false, "the end of its step", "6 of 6"}, Case{false, false, "the start of its step", "0 of 6"}}) {
    TwoRanks two;
    if (each.isEnd)
      two.world.placeOf(1).end();
    two.world.setIdle(1, each.isIdle);
    two.record.addDied(1, "it is gone");
    auto [message, table] = two.failure();
    EXPECT_EQ(message, "rank 1 (dp 0, pp 1, tp 0), " + each.where + ": it is gone");
    EXPECT_NE(table.find("  " + each.row), std::string::npos) << table;
    EXPECT_NE(table.find(each.where + "  "), std::string::npos) << table;
  }
}

// A machine that stood still, or a process that was suspended and goes on: ranks may have stood still with it.
TEST(Watchdog, TimeInWhichItDidNotLookCountsLittle) {
  SharedMemoryWorld world({1, 1});
  int stuck = 0;
  std::function<double()> kernelSeconds = [] { return 0.0; };
  std::function<void()> onStuck = [&] { ++stuck; };
  Watchdog watchdog(world, 0.05, kernelSeconds, onStuck);
  for (int look = 0; look < 4; ++look) { // each comes later than the bound
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    EXPECT_TRUE(watchdog.goOn());
    EXPECT_EQ(stuck, 0) << look;
  }
  for (int look = 0; look < 2; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    watchdog.goOn();
  }
  EXPECT_EQ(stuck, 1);
}

TEST(JobFailure, HundredsOfRanksAreAFewRows) {
  plan::Plan plan = tinyPipeline();
  std::vector<RankPosition> positions;
  for (int64_t rank = 0; rank < 512; ++rank) {
    RankPosition position = positionAt(plan, rank / 256, 1, 1, rank == 7 ? 2 : 3 * (rank / 256 == 0));
    position.rank = rank;
    position.state = rank == 7 ? State::Failed : State::Waiting;
    position.waitsOn = rank == 7 ? "" : rank < 256 ? "group 0 (tp)" : "channel 0";
    position.missing = rank == 7 ? std::vector<int64_t>{} : std::vector<int64_t>{rank < 256 ? 7 : rank - 256};
    positions.push_back(position);
  }
  JobFailure failure(JobFailure::Kind::RankFailed, "m", positions, false);
  EXPECT_EQ(failure.details(),
            "  ranks       stage  entry   segment  micro-batch  instruction                state\n"
            "  0-6, 8-255  0      1 of 8  forward  0            3 all_gather               waiting on group 0 (tp) for "
            "rank 7\n"
            "  7           0      1 of 8  forward  0            2 add (tiny.mlir:7:3 add)  failed\n"
            "  256-511     1      1 of 8  forward  0            0 recv                     waiting on channel 0 for "
            "ranks 0-255")
      << failure.details();
  EXPECT_EQ(rangesText({1, 2, 4, 6, 7, 8}), "1, 2, 4, 6-8");
}
