//===- test/e2e/KillTest.cpp - ranks that die or hang, anywhere, while checkpoints are written -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small models train on many grids and save after each step. Drawn kernel calls of drawn
// ranks fail, throw or do not return. Each time the job ends within its bound with an error
// that has every rank; on disk are the checkpoints of the steps before and nothing else;
// and a new job that takes up the last of them ends with the bits of an unbroken run.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/data/SyntheticTokens.h"
#include "runtime/engine/JobFailure.h"
#include "runtime/plan/RankGrid.h"
#include "runtime/training/TrainingLoop.h"
#include "test/e2e/CompiledModel.h"
#include "test/e2e/Configuration.h"
#include "test/e2e/InProcessCompiler.h"
#include "test/unit/engine/FaultyKernels.h"
#include "test/unit/files/TemporaryDirectory.h"

#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;
using Kind = KernelFault::Kind;

static constexpr double bound = 0.5; // where a rank hangs; elsewhere a busy machine must not look like one
static constexpr int64_t steps = 4;
static constexpr int faultsAProgram = 5;

/// tp, dp, pp and what else changes who waits for whom.
static std::vector<Configuration> programs() {
  Configuration base;
  base.model = {"tiny", ModelFamily::Llama, 20, 16, 4, 4, 2, 24, 6, 1e-5, 100, true, 0.2};
  base.options.microBatches = 3;
  base.options.microBatchSamples = 2;
  std::vector<Configuration> made;
  for (auto [tp, dp, pp] :
       {std::tuple(1, 1, 1), std::tuple(2, 1, 1), std::tuple(1, 2, 1), std::tuple(1, 1, 2), std::tuple(2, 2, 1),
        std::tuple(2, 1, 2), std::tuple(1, 2, 2), std::tuple(1, 1, 4), std::tuple(2, 2, 2), std::tuple(4, 1, 2)}) {
    made.push_back(base);
    CompileOptions &options = made.back().options;
    options.tp = tp, options.dp = dp, options.pp = pp;
    options.sequenceParallel = tp == 2;
    options.overlap = made.size() % 2 == 0;
    options.schedule = std::array{"1f1b", "gpipe", "zero-bubble"}[made.size() % 3];
    options.vpp = pp == 2 && made.size() % 2 == 0 ? 2 : 1;
    options.zero = dp > 1 ? static_cast<int64_t>(made.size() % 4) : 0;
  }
  return made;
}

namespace {

/// One run of a program, from the last checkpoint in a directory or from the start.
class SavingRun {
public:
  explicit SavingRun(const plan::Plan &plan, double watchdogSeconds = 60)
      : source(3, plan.training().vocabulary(), 10001),
        batches(source,
                {.sequenceLength = plan.training().sequence_length(),
                 .microBatchSamples = plan.training().micro_batch_samples(),
                 .microBatches = plan.training().micro_batches(),
                 .dataParallel = RankGrid(plan.mesh()).dataParallelRanks(),
                 .globalBatch = plan.training().global_batch()},
                11) {
    JobOptions options;
    options.kernels = faultyKernels(cpuKernels());
    options.watchdogSeconds = watchdogSeconds;
    job.emplace(plan, options);
    job->initializeVariables();
    state.dataSeed = 11;
  }

  void train(const std::filesystem::path &directory) {
    if (holdsCheckpoints(directory)) {
      std::filesystem::path checkpoint = findCheckpoint(directory);
      state = readCheckpointState(checkpoint);
      loadCheckpoint(*job, checkpoint);
    }
    TrainingLoop loop(*job, batches, state,
                      {.steps = steps, .learningRate = {.peak = 1e-2}, .saveDirectory = directory, .saveEvery = 1});
    loop.run();
  }

  std::vector<std::byte> bytesOf(const std::string &variable) const { return job->readVariable(variable).bytes; }

  SyntheticTokens source;
  Batches batches;
  std::optional<Job> job;
  TrainingState state;
};

/// Kills one program's ranks.
class Killing {
public:
  Killing(const Configuration &program, const plan::Plan &plan, std::mt19937_64 &random)
      : program(program), plan(plan), grid(plan.mesh()), random(random), unbroken(plan) {
    setFault({});
    TemporaryDirectory directory;
    unbroken.train(directory.getPath());
    for (int64_t rank = 0; rank < grid.ranks(); ++rank)
      calls.push_back(callsOf(rank));
  }

  void killOnce() {
    KernelFault fault;
    Kind kinds[] = {Kind::ReturnsError, Kind::Throws, Kind::ThrowsInteger, Kind::Blocks};
    fault.kind = kinds[random() % 4];
    fault.rank = static_cast<int64_t>(random() % grid.ranks());
    fault.call = static_cast<int64_t>(random() % calls[fault.rank]);
    SCOPED_TRACE(program.text() + ", rank " + std::to_string(fault.rank) + ", call " + std::to_string(fault.call) +
                 " of " + std::to_string(calls[fault.rank]) + (fault.kind == Kind::Blocks ? " blocks" : " fails"));
    TemporaryDirectory directory;
    SavingRun killed(plan, fault.kind == Kind::Blocks ? bound : 60);
    setFault(fault);
    try {
      killed.train(directory.getPath());
      ADD_FAILURE() << "the run went on";
    } catch (const JobFailure &failure) {
      checkFailure(failure, fault);
    }
    // The bound, as much for the threads that do not come back, and what a busy machine takes.
    EXPECT_LT(secondsSinceFault(), 2 * bound + 10);
    releaseBlocked();
    setFault({});
    checkDirectory(directory.getPath());
    resumeAndCompare(directory.getPath());
  }

private:
  void checkFailure(const JobFailure &failure, const KernelFault &fault) const {
    bool isStuck = fault.kind == Kind::Blocks;
    EXPECT_EQ(failure.kind() == JobFailure::Kind::Stuck, isStuck) << failure.what();
    EXPECT_EQ(failure.hasLostThreads(), isStuck);
    EXPECT_NE(std::string(failure.what()).find(grid.describe(fault.rank)), std::string::npos) << failure.what();
    std::vector<int64_t> ranks;
    for (const RankPosition &position : failure.positions()) {
      if (!position.isCommunication)
        ranks.push_back(position.rank);
      if (position.rank == fault.rank && !position.isCommunication) {
        EXPECT_EQ(stateText(position.state), isStuck ? "working" : "failed");
        EXPECT_FALSE(position.opcode.empty());
      }
      EXPECT_EQ(position.state == RankPosition::State::Waiting, !position.waitsOn.empty());
      if (isStuck && position.state == RankPosition::State::Waiting) {
        EXPECT_FALSE(position.missing.empty()) << failure.details();
      }
    }
    ASSERT_EQ(static_cast<int64_t>(ranks.size()), grid.ranks()) << failure.details();
    for (int64_t rank = 0; rank < grid.ranks(); ++rank)
      EXPECT_EQ(ranks[rank], rank);
  }

  /// What is there is complete, and nothing else is there.
  static void checkDirectory(const std::filesystem::path &directory) {
    int64_t checkpoints = 0;
    for (const std::filesystem::directory_entry &entry : std::filesystem::directory_iterator(directory)) {
      std::string name = entry.path().filename();
      EXPECT_TRUE(name == "latest" || name.rfind("step-", 0) == 0) << name;
      if (name != "latest") {
        EXPECT_EQ(readCheckpointState(entry.path()).step, std::stoll(name.substr(5)));
        ++checkpoints;
      }
    }
    EXPECT_EQ(holdsCheckpoints(directory), checkpoints > 0);
    EXPECT_LT(checkpoints, steps);
  }

  void resumeAndCompare(const std::filesystem::path &directory) const {
    SavingRun resumed(plan);
    resumed.train(directory);
    for (const std::string &name : resumed.job->variableNames())
      if (resumed.job->variable(name).role() == plan::Variable::PARAMETER) {
        EXPECT_EQ(resumed.bytesOf(name), unbroken.bytesOf(name)) << name;
      }
  }

  const Configuration &program;
  const plan::Plan &plan;
  RankGrid grid;
  std::mt19937_64 &random;
  SavingRun unbroken;
  std::vector<int64_t> calls; // kernel calls of each rank in a whole run
};

} // namespace

TEST(Kill, AnyRankAnywhere) {
  std::mt19937_64 random(50);
  InProcessCompiler compiler;
  int64_t kills = 0;
  for (const Configuration &program : programs()) {
    plan::Plan plan = compiler.compile(program.model, program.options);
    Killing killing(program, plan, random);
    for (int i = 0; i < faultsAProgram; ++i, ++kills)
      killing.killOnce();
  }
  EXPECT_EQ(kills, 50);
}

// What docs/training.md shows is what a user sees.
TEST(Kill, TheDocumentsShowARealError) {
  plan::Plan plan = compileRecipe(TGPT_RECIPES_DIR "/nano.yaml", "--tp=2 --pp=2 --micro-batches=4");
  TemporaryDirectory directory;
  SavingRun run(plan, bound);
  setFault({Kind::Blocks, /*rank=*/3, /*call=*/100});
  std::string error;
  try {
    run.train(directory.getPath());
  } catch (const JobFailure &failure) {
    error = std::string("tgpt-run: error: ") + failure.what() + "\n" + failure.details() + "\n";
  }
  releaseBlocked();
  std::ifstream file(TGPT_DOCS_DIR "/training.md");
  std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(text.find("\n```text\n" + error + "```\n"), std::string::npos) << error;
}
