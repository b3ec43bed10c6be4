//===- test/unit/training/ResumeTest.cpp - a resumed run is the unbroken run ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/WriteVariables.h"
#include "runtime/data/SyntheticTokens.h"
#include "runtime/plan/Error.h"
#include "runtime/training/StepFeed.h"
#include "runtime/training/TrainingLoop.h"
#include "test/unit/files/TemporaryDirectory.h"
#include "test/unit/training/TinyModel.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using namespace tgpt;
using namespace tgpt::runtime;
using tgpt::test::TinyModel;

namespace {
/// A job on the tiny model with its data.
struct Trainer {
  explicit Trainer(const TinyModel &model)
      : source(3, model.vocabulary, 1001), batches(source,
                                                   {.sequenceLength = model.sequence,
                                                    .microBatchSamples = model.microBatchSamples,
                                                    .microBatches = model.microBatches,
                                                    .dataParallel = model.dp},
                                                   11),
        job(model.plan()) {
    job.initializeVariables();
    state.dataSeed = 11;
  }

  void resume(const std::filesystem::path &directory) {
    std::filesystem::path checkpoint = findCheckpoint(directory);
    state = readCheckpointState(checkpoint);
    counts = loadCheckpoint(job, checkpoint);
  }

  /// Trains to `steps` and keeps all losses.
  void train(int64_t steps, const std::filesystem::path &save = {}, int64_t saveEvery = 0) {
    LoopSettings settings{.steps = steps,
                          .learningRate = {.peak = 0.05, .warmupSteps = 3},
                          .saveDirectory = save,
                          .saveEvery = saveEvery};
    TrainingLoop loop(job, batches, state, settings);
    loop.onStep = [&](const StepReport &report) { losses.push_back(report.loss); };
    loop.run();
    state = loop.getState();
  }

  SyntheticTokens source;
  Batches batches;
  Job job;
  TrainingState state;
  ReadCounts counts;
  std::vector<double> losses;
};
} // namespace

static void expectSameBits(const Job &a, const Job &b) {
  for (const std::string &name : a.variableNames())
    EXPECT_EQ(a.readVariable(name).bytes, b.readVariable(name).bytes) << name;
}

/// Largest difference over the largest value, of f64 variables.
static double relativeDifference(const Job &a, const Job &b, const std::string &name) {
  LogicalTensor x = a.readVariable(name), y = b.readVariable(name);
  EXPECT_EQ(x.dtype, DType::F64);
  size_t elements = x.bytes.size() / sizeof(double);
  std::vector<double> p(elements), q(elements);
  std::memcpy(p.data(), x.bytes.data(), x.bytes.size());
  std::memcpy(q.data(), y.bytes.data(), y.bytes.size());
  double difference = 0, largest = 0;
  for (size_t i = 0; i < elements; ++i) {
    difference = std::max(difference, std::abs(p[i] - q[i]));
    largest = std::max(largest, std::abs(p[i]));
  }
  return largest > 0 ? difference / largest : difference;
}

class ResumeWithDType : public testing::TestWithParam<plan::DType> {};

TEST_P(ResumeWithDType, GivesTheBitsOfAnUnbrokenRun) {
  for (auto [dp, tp] : {std::pair(1, 1), std::pair(2, 2)}) {
    TemporaryDirectory directory;
    TinyModel model{.dp = dp, .tp = tp, .microBatches = 2, .dtype = GetParam()};
    Trainer unbroken(model), first(model), second(model);
    unbroken.train(7);
    first.train(4, directory.getPath());
    second.resume(directory.getPath());
    EXPECT_EQ(second.state.step, 4);
    EXPECT_EQ(second.counts.converted, 0);
    second.train(7);
    expectSameBits(unbroken.job, second.job);
    EXPECT_EQ(std::vector(unbroken.losses.begin() + 4, unbroken.losses.end()), second.losses);
    EXPECT_NE(unbroken.job.readVariable("table").bytes, first.job.readVariable("table").bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, ResumeWithDType, testing::Values(plan::F64, plan::F32, plan::BF16, plan::F16),
                         [](const auto &info) { return plan::DType_Name(info.param); });

/// Sums over ranks and micro-batches round differently: 7 steps on 64 tokens stay far below 1e-12 in f64.
TEST(Resume, ContinuesOnAnotherGrid) {
  TinyModel one{.microBatches = 4};
  Trainer unbroken(one), first(one);
  TemporaryDirectory directory;
  unbroken.train(7);
  first.train(4, directory.getPath());
  for (auto [dp, tp, micro] : {std::tuple(2, 1, 2), std::tuple(1, 2, 4), std::tuple(4, 4, 1)}) {
    Trainer second({.dp = dp, .tp = tp, .microBatches = micro});
    second.resume(directory.getPath());
    second.train(7);
    for (const char *name : {"table", "head", "table.m", "head.v"})
      EXPECT_LT(relativeDifference(unbroken.job, second.job, name), 1e-12) << name << " dp " << dp << " tp " << tp;
    second.job.verifyCopiesEqual();
  }
}

TEST(Resume, AnotherDTypeStartsFromTheMasterCopy) {
  TemporaryDirectory directory;
  Trainer narrow({.dtype = plan::BF16}), wide({.dtype = plan::F32}), again({.dtype = plan::BF16});
  narrow.train(3, directory / "bf16");
  wide.resume(directory / "bf16");
  EXPECT_EQ(wide.job.readVariable("table").bytes, narrow.job.readVariable("table.f32").bytes);
  EXPECT_EQ(wide.job.readVariable("table.m").bytes, narrow.job.readVariable("table.m").bytes);

  wide.train(5, directory / "f32");
  again.resume(directory / "f32");
  EXPECT_EQ(again.job.readVariable("table.f32").bytes, wide.job.readVariable("table").bytes);
  EXPECT_EQ(again.counts.converted, 2); // the two parameters, to bf16
  again.train(6);
  EXPECT_EQ(again.state.tokensSeen, 6 * 8);
}

TEST(Resume, RefusesAnotherModel) {
  TemporaryDirectory directory;
  Trainer trainer(TinyModel{});
  trainer.train(1, directory.getPath());
  Trainer wider({.width = 16});
  LogicalTensor before = wider.job.readVariable("table");
  std::string message = messageOf<Error>([&] { wider.resume(directory.getPath()); });
  EXPECT_NE(message.find("has shape [16, 8] in the file, [16, 16] in the plan (misfits: 6; tensors of the plan: 6)"),
            std::string::npos)
      << message;
  EXPECT_EQ(wider.job.readVariable("table").bytes, before.bytes); // nothing was changed
}

TEST(Resume, RefusesDamagedCheckpoints) {
  TemporaryDirectory directory;
  Trainer trainer(TinyModel{});
  EXPECT_NE(messageOf<Error>([&] { trainer.resume(directory / "none"); }).find("no such directory"), std::string::npos);
  EXPECT_NE(messageOf<Error>([&] { trainer.resume(directory.getPath()); }).find("holds neither"), std::string::npos);
  trainer.train(2, directory.getPath());
  std::string optimizer = "step-000002/optimizer.safetensors";
  directory.write(optimizer, directory.read(optimizer).substr(0, 200));
  EXPECT_NE(messageOf<Error>([&] { trainer.resume(directory.getPath()); }).find(optimizer), std::string::npos);
  std::filesystem::remove(directory / optimizer);
  EXPECT_NE(messageOf<Error>([&] { trainer.resume(directory.getPath()); }).find("No such file"), std::string::npos);
  directory.write("step-000002/checkpoint.json", "{\"format_version\": 9}");
  EXPECT_NE(messageOf<Error>([&] { trainer.resume(directory.getPath()); }).find("format version 9"), std::string::npos);
  directory.write("step-000002/checkpoint.json", "{\"format_version\": 1, \"step\": -1}");
  EXPECT_NE(messageOf<Error>([&] { trainer.resume(directory.getPath()); }).find("\"data_seed\""), std::string::npos);
  directory.write("latest", "../elsewhere");
  EXPECT_NE(messageOf<Error>([&] { trainer.resume(directory.getPath()); }).find("does not name a checkpoint"),
            std::string::npos);
}

TEST(Checkpoint, IsSavedEveryFewStepsAndAtTheEnd) {
  TemporaryDirectory directory;
  Trainer trainer(TinyModel{});
  trainer.train(5, directory.getPath(), 2);
  EXPECT_EQ(directory.read("latest"), "step-000005\n");
  for (const char *name : {"step-000002", "step-000004", "step-000005"})
    EXPECT_EQ(readCheckpointState(directory / name).step, std::stoi(std::string(name).substr(5)));
  EXPECT_EQ(directory.entries(), 4u); // nothing temporary is left
  TrainingState state = readCheckpointState(findCheckpoint(directory / "step-000004"));
  EXPECT_EQ(state.nextDraw, 4 * 2);
  EXPECT_EQ(state.tokensSeen, 4 * 8);
  EXPECT_EQ(state.dataSeed, 11u);
}

TEST(Checkpoint, IsReplacedWhole) {
  TemporaryDirectory directory;
  Trainer trainer(TinyModel{});
  trainer.train(1, directory.getPath());
  directory.write("step-000001/stray", "x");
  saveCheckpoint(trainer.job, trainer.state, directory.getPath());
  EXPECT_FALSE(std::filesystem::exists(directory / "step-000001/stray"));
  EXPECT_EQ(directory.entries(), 2u);
}

/// A process number that no process has: the largest one is above all that Linux gives.
static const std::string gone = std::to_string(INT32_MAX);

TEST(Checkpoint, WhatAKilledRunLeftIsRemoved) {
  TemporaryDirectory directory;
  Trainer trainer(TinyModel{});
  trainer.train(1, directory.getPath());
  std::string running = std::to_string(::getpid());
  std::filesystem::create_directory(directory / (".step-000002.tmp-" + gone));
  directory.write(".step-000002.tmp-" + gone + "/weights.safetensors.tmp-" + gone, "x");
  directory.write("latest.tmp-" + gone, "step-0");
  directory.write("latest.tmp-" + running, "another run's");
  directory.write("notes.tmp-" + gone, "not ours");
  removeLeftovers(directory.getPath());
  EXPECT_EQ(directory.read("latest.tmp-" + running), "another run's");
  EXPECT_EQ(directory.entries(), 4u); // step-000001, latest and these two
  EXPECT_EQ(directory.read("notes.tmp-" + gone), "not ours");
  removeLeftovers(directory / "none");
}

// Nobody need have waited for the killed run yet, and its number may be another process' by now.
TEST(Checkpoint, WhatAKilledRunLeftIsRemovedWhoeverHasItsNumber) {
  TemporaryDirectory directory;
  pid_t unwaited = ::fork();
  if (unwaited == 0)
    ::_exit(0);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(unwaited), &info, WEXITED | WNOWAIT), 0);
  directory.write("latest.tmp-" + std::to_string(unwaited), "step-0");
  std::string reused = "latest.tmp-" + std::to_string(::getpid());
  directory.write(reused, "step-0");
  std::filesystem::last_write_time(directory / reused,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 365));
  removeLeftovers(directory.getPath());
  ::waitpid(unwaited, nullptr, 0);
  EXPECT_EQ(directory.entries(), 0u);
}

// Where two directories cannot be exchanged, a run may be killed when the old one has gone and the new one has not
// come.
TEST(Checkpoint, OneThatWasAboutToBeReplacedComesBack) {
  TemporaryDirectory directory;
  Trainer trainer(TinyModel{}), again(TinyModel{});
  trainer.train(2, directory.getPath(), 1);
  std::filesystem::rename(directory / "step-000002", directory / (".step-000002.old-" + gone));
  std::filesystem::copy(directory / "step-000001", directory / (".step-000001.old-" + gone));
  removeLeftovers(directory.getPath());
  again.resume(directory.getPath());
  EXPECT_EQ(again.state.step, 2);
  for (const char *name : {"table", "head.m"})
    EXPECT_EQ(again.job.readVariable(name).bytes, trainer.job.readVariable(name).bytes) << name;
  EXPECT_EQ(directory.entries(), 3u);
}

TEST(TrainingLoop, StopsAtALossThatIsNoNumber) {
  TemporaryDirectory directory;
  Trainer trainer(TinyModel{});
  LogicalTensor table = trainer.job.readVariable("table");
  double infinity = INFINITY;
  std::memcpy(table.bytes.data(), &infinity, sizeof(infinity));
  for (size_t i = 0; i + 8 <= table.bytes.size(); i += 8)
    std::memcpy(table.bytes.data() + i, &infinity, sizeof(infinity));
  trainer.job.writeVariable("table", table);
  std::string message = messageOf<Error>([&] { trainer.train(3, directory.getPath()); });
  EXPECT_EQ(message.find("step 1: "), 0u) << message;
  EXPECT_NE(message.find("--allow-nonfinite"), std::string::npos) << message;
  EXPECT_EQ(directory.entries(), 0u);
}

/// Central differences with h = 1e-4 err by h^2/6 times the third derivative of the loss, which is below 1 for logits
/// of order 1: 1e-8 covers that and the rounding error 1e-16 / h.
TEST(WriteVariables, DividesGradientsIntoThoseOfTheMeanLoss) {
  TemporaryDirectory directory;
  Trainer trainer({.dp = 2, .tp = 2, .microBatches = 2});
  StepFeed feed(trainer.batches); // a learning rate of 0: the weights stay
  double tokens = trainer.job.runStep(feed).tokenCount;
  EXPECT_EQ(tokens, 2 * 2 * 2 * 4);
  writeVariables(trainer.job, gradientsOf(trainer.job), directory / "g", {}, tokens);
  SafetensorsReader reader(directory / "g");
  LogicalTensor gradient = reader.read(*reader.find("head")), head = trainer.job.readVariable("head");
  auto at = [](LogicalTensor &tensor, size_t i) -> double & {
    return reinterpret_cast<double *>(tensor.bytes.data())[i];
  };
  auto lossWith = [&](size_t i, double change) {
    LogicalTensor changed = head;
    at(changed, i) += change;
    trainer.job.writeVariable("head", changed);
    return trainer.job.runStep(feed).loss;
  };
  for (size_t i : {0, 13, 64, 127}) {
    double difference = (lossWith(i, 1e-4) - lossWith(i, -1e-4)) / 2e-4;
    EXPECT_NEAR(at(gradient, i), difference, 1e-8) << i;
  }
}
