//===- test/unit/training/MetricsFileTest.cpp - lines that read back to the same numbers ------------------------*- C++
//-*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/MetricsFile.h"

#include "runtime/plan/Error.h"
#include "test/unit/files/TemporaryDirectory.h"

#include <nlohmann/json.hpp>
#include <sstream>

using namespace tgpt::runtime;

static std::vector<nlohmann::json> linesOf(const std::string &text) {
  std::vector<nlohmann::json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST(MetricsFile, ALineAStepReadsBackExactly) {
  TemporaryDirectory directory;
  StepReport report{.step = 3,
                    .loss = 1.0 / 3,
                    .gradNorm = 0.1,
                    .learningRate = 1e-4,
                    .tokensSeen = 4096,
                    .stepSeconds = 0.25,
                    .tokensPerSecond = 16384,
                    .flopsShare = 0.5};
  MetricsFile metrics(directory / "m.jsonl", 1);
  metrics.write(report);
  report.step = 4, report.loss = NAN;
  metrics.write(report);
  auto lines = linesOf(directory.read("m.jsonl"));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["step"], 3);
  EXPECT_EQ(lines[0]["loss"].get<double>(), 1.0 / 3);
  EXPECT_EQ(lines[0]["grad_norm"].get<double>(), 0.1);
  EXPECT_EQ(lines[0]["lr"].get<double>(), 1e-4);
  EXPECT_EQ(lines[0]["tokens"], 4096);
  EXPECT_EQ(lines[0]["tokens_per_second"], 16384.0);
  EXPECT_EQ(lines[0]["step_seconds"], 0.25);
  EXPECT_EQ(lines[0]["flops_share"], 0.5);
  EXPECT_TRUE(lines[1]["loss"].is_null());
  EXPECT_FALSE(lines[0].contains("loss_scale"));
}

TEST(MetricsFile, SaysWhereEveryRankWasWhenTheRunFailed) {
  TemporaryDirectory directory;
  std::vector<RankPosition> positions(3);
  for (int64_t rank : {0, 1, 2}) {
    positions[rank] = {.rank = rank,
                       .state = RankPosition::State::Waiting,
                       .entry = 2,
                       .entries = 8,
                       .segment = "forward",
                       .microBatch = 1,
                       .instruction = 3,
                       .opcode = "all_gather",
                       .location = "model.mlir:7:3 linear",
                       .waitsOn = "group 0 (tp)",
                       .missing = {2}};
  }
  positions[2].state = RankPosition::State::Working;
  positions[2].waitsOn.clear(), positions[2].missing.clear();
  {
    MetricsFile metrics(directory / "m.jsonl", 1);
    metrics.write({.step = 1});
    metrics.write(JobFailure(JobFailure::Kind::Stuck, "no rank has advanced", positions, true), 2);
  }
  auto lines = linesOf(directory.read("m.jsonl"));
  ASSERT_EQ(lines.size(), 4u);
  const char *failure = R"({"failed_step": 2, "failure": "stuck", "error": "no rank has advanced"})";
  const char *waiting = R"json({"failed_step": 2, "ranks": [0, 1], "communication": false, "state": "waiting",
    "stage": 0, "entry": 2, "entries": 8, "segment": "forward", "micro_batch": 1, "instruction": 3,
    "opcode": "all_gather", "location": "model.mlir:7:3 linear", "waits_on": "group 0 (tp)", "missing": [2]})json";
  EXPECT_EQ(lines[1], nlohmann::json::parse(failure));
  EXPECT_EQ(lines[2], nlohmann::json::parse(waiting));
  EXPECT_EQ(lines[3]["state"], "working");
  EXPECT_FALSE(lines[3].contains("waits_on"));
  MetricsFile resumed(directory / "m.jsonl", 2);
  EXPECT_EQ(linesOf(directory.read("m.jsonl")).size(), 1u) << "a run that resumes drops them";
}

TEST(MetricsFile, HasTheLossScaleWhereThereIsOne) {
  TemporaryDirectory directory;
  MetricsFile metrics(directory / "m.jsonl", 1);
  metrics.write({.step = 1, .gradNorm = INFINITY, .lossScale = 65536, .skippedSteps = 2});
  auto lines = linesOf(directory.read("m.jsonl"));
  EXPECT_TRUE(lines[0]["grad_norm"].is_null());
  EXPECT_EQ(lines[0]["loss_scale"], 65536.0);
  EXPECT_EQ(lines[0]["skipped_steps"], 2);
}

TEST(MetricsFile, AResumedRunKeepsEarlierStepsOnly) {
  TemporaryDirectory directory;
  {
    MetricsFile metrics(directory / "m.jsonl", 1);
    for (int64_t step = 1; step <= 5; ++step)
      metrics.write({.step = step});
  }
  MetricsFile resumed(directory / "m.jsonl", 4);
  resumed.write({.step = 4});
  auto lines = linesOf(directory.read("m.jsonl"));
  ASSERT_EQ(lines.size(), 4u);
  for (size_t i = 0; i < lines.size(); ++i)
    EXPECT_EQ(lines[i]["step"], i + 1);
}

TEST(MetricsFile, AFreshRunStartsAnew) {
  TemporaryDirectory directory;
  MetricsFile metrics(directory.write("m.jsonl", "old\n"), 1);
  metrics.write({.step = 1});
  EXPECT_EQ(linesOf(directory.read("m.jsonl")).size(), 1u);
}

TEST(MetricsFile, RefusesAPathItCannotWrite) {
  EXPECT_NE(messageOf<Error>([] { MetricsFile metrics("/nonexistent/m.jsonl", 1); }).find("/nonexistent/m.jsonl"),
            std::string::npos);
}
