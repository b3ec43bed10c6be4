//===- test/unit/training/TrainingRunTest.cpp - whole runs through files --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/TrainingRun.h"

#include "runtime/checkpoint/SafetensorsReader.h"
#include "runtime/data/TextPacking.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/PlanFile.h"
#include "test/unit/files/TemporaryDirectory.h"
#include "test/unit/training/TinyModel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

using namespace tgpt;
using namespace tgpt::runtime;
using tgpt::test::TinyModel;

namespace {
/// A folder with a plan for bytes and a packed text.
struct TrainingRunTest : testing::Test {
  TrainingRunTest() {
    std::string text;
    while (text.size() < 2000)
      text += "the quick brown fox jumps over the lazy dog. ";
    packTexts({directory.write("corpus.txt", text)}, directory / "corpus.bin");
    savePlan(model.plan(), directory / "plan.bin");
    options.plan = directory / "plan.bin";
    options.data = directory / "corpus.bin";
    options.steps = 6;
    options.learningRate.peak = 0.1;
    options.measurePeak = false;
  }

  std::string run() {
    std::ostringstream out;
    runTraining(options, {.out = out});
    return out.str();
  }
  std::string refusal() {
    return messageOf<Error>([&] { run(); });
  }

  TemporaryDirectory directory;
  TinyModel model{.dp = 2, .tp = 2, .microBatches = 2, .vocabulary = 256};
  TrainingOptions options;
};
} // namespace

#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

static std::vector<double> valuesOf(const SafetensorsReader &reader, const char *name) {
  LogicalTensor tensor = reader.read(*reader.find(name));
  std::vector<double> values(tensor.bytes.size() / sizeof(double));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

TEST_F(TrainingRunTest, TrainsAndReports) {
  options.metrics = directory / "m.jsonl";
  options.profile = true;
  std::string out = run();
  EXPECT_SAYS(out, "tiny: 4.10k parameters, f64, 4 ranks (dp=2 pp=1 tp=2), 8 samples of 4 tokens");
  EXPECT_SAYS(out, "step 6/6  loss ");
  EXPECT_SAYS(out, "rank 3 (dp 1, pp 0, tp 1)");
  EXPECT_SAYS(out, "communication");
  EXPECT_EQ(out.find("DIFFERS"), std::string::npos) << out;
  std::string metrics = directory.read("m.jsonl");
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 6);
}

TEST_F(TrainingRunTest, ResumesWithTheSameMetrics) {
  options.metrics = directory / "unbroken.jsonl";
  run();
  options.metrics = directory / "broken.jsonl";
  options.save = directory / "saved";
  options.saveEvery = 2;
  options.steps = 4;
  run();
  options.resume = directory / "saved";
  options.steps = 6;
  EXPECT_SAYS(run(), "resumed " + (directory / "saved/step-000004").string() + ": step 4, 128 tokens seen");
  auto lossesOf = [&](const char *name) {
    std::istringstream in(directory.read(name));
    std::vector<std::string> losses;
    for (std::string line; std::getline(in, line);)
      losses.push_back(line.substr(0, line.find("\"tokens_per_second\"")));
    return losses;
  };
  EXPECT_EQ(lossesOf("broken.jsonl"), lossesOf("unbroken.jsonl"));
}

TEST_F(TrainingRunTest, DumpsWhatAFreshRunCanStartFrom) {
  options.steps = 0;
  options.data.clear();
  options.dumpVariables = directory / "start.safetensors";
  run();
  SafetensorsReader start(directory / "start.safetensors");
  EXPECT_EQ(start.getHeader().tensors.size(), 8u); // value, grad, m, v of two weights
  EXPECT_EQ(start.find("loss_sum"), nullptr);

  options.data = directory / "corpus.bin";
  options.steps = 2;
  options.save = directory / "saved";
  run();
  options.steps = 0;
  options.save.clear();
  options.initFrom = directory / "saved/step-000002/weights.safetensors";
  run();
  SafetensorsReader again(directory / "start.safetensors");
  SafetensorsReader weights(options.initFrom);
  EXPECT_EQ(valuesOf(again, "table"), valuesOf(weights, "table"));
  EXPECT_NE(valuesOf(again, "table"), valuesOf(start, "table"));
}

/// A text of one sentence is learned in a few steps: a uniform guess among 256 bytes costs log(256) = 5.55.
TEST_F(TrainingRunTest, Learns) {
  options.steps = 60;
  options.metrics = directory / "m.jsonl";
  run();
  std::string metrics = directory.read("m.jsonl");
  auto lossAt = [&](size_t position) { return std::stod(metrics.substr(metrics.find("\"loss\":", position) + 7)); };
  EXPECT_GT(lossAt(0), 5.0);
  EXPECT_LT(lossAt(metrics.rfind("{\"step\"")), 2.5);
}

/// Their norm is the reported one, which is measured before clipping.
TEST_F(TrainingRunTest, DumpsTheGradientsOfTheLastStep) {
  options.steps = 1;
  options.dumpGradients = directory / "g.safetensors";
  options.metrics = directory / "m.jsonl";
  run();
  double squares = 0;
  for (const char *name : {"head", "table"})
    for (double g : valuesOf(SafetensorsReader(options.dumpGradients), name))
      squares += g * g;
  std::string line = directory.read("m.jsonl");
  double norm = std::stod(line.substr(line.find("\"grad_norm\":") + 12));
  EXPECT_NEAR(std::sqrt(squares), norm, 1e-12 * norm);
  EXPECT_GT(norm, 0);
}

TEST_F(TrainingRunTest, PlanInfoTrainsNothing) {
  options.planInfo = true;
  options.data.clear();
  std::string out = run();
  EXPECT_SAYS(out, "mesh:        dp=2 pp=1 tp=2 (4 ranks)");
  EXPECT_SAYS(out, "stage 0: ");
  EXPECT_SAYS(out, "optimizer");
  EXPECT_EQ(out.find("loss"), std::string::npos);
}

TEST_F(TrainingRunTest, SyntheticDataNeedsNoFile) {
  options.data.clear();
  options.syntheticSeed = 4;
  options.kernels = KernelChoice::Reference;
  EXPECT_SAYS(run(), "synthetic data");
}

TEST_F(TrainingRunTest, StopsWhenAskedAndSaves) {
  options.save = directory / "saved";
  std::ostringstream out;
  int steps = 0;
  runTraining(options, {.out = out, .stopRequested = [&] { return ++steps == 3; }});
  EXPECT_EQ(directory.read("saved/latest"), "step-000003\n");
  EXPECT_SAYS(out.str(), "interrupted after step 3 of " + std::to_string(options.steps) + "\n");
}

TEST_F(TrainingRunTest, RefusesBadInput) {
  options.data = directory / "none.bin";
  EXPECT_SAYS(refusal(), "none.bin': No such file");
  options.data = directory.write("short.bin", "abcd");
  EXPECT_SAYS(refusal(), "one sample needs 5 tokens");
  options.data = directory.write("text.txt", "text as it is!");
  EXPECT_SAYS(refusal(), "token 0 has id 25972, but the model's vocabulary is 256");
  options.data = directory / "corpus.bin";
  options.plan = directory / "corpus.bin";
  EXPECT_SAYS(refusal(), "corpus.bin");
  options.plan = directory / "none.bin";
  EXPECT_SAYS(refusal(), "none.bin");
}

TEST_F(TrainingRunTest, RefusesToMixRuns) {
  options.save = directory / "saved";
  run();
  EXPECT_SAYS(refusal(), "holds the checkpoints of another run: continue it with --resume=");
  options.resume = options.save;
  EXPECT_SAYS(refusal(), "is at step 6 already; --steps counts from the start of training: give 7 or more, not 6");
  options.resume.clear();
  options.save = directory / "corpus.txt";
  EXPECT_SAYS(refusal(), "cannot save to");
}
