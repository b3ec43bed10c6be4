//===- test/unit/data/BatchesTest.cpp - every grid trains on the same samples --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Batches.h"

#include "runtime/data/SyntheticTokens.h"
#include "runtime/plan/Error.h"
#include "test/unit/files/TemporaryDirectory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

using namespace tgpt::runtime;

namespace {
/// Token i is i, so that a sample names its place.
struct CountingTokens : TokenSource {
  explicit CountingTokens(int64_t count) : count(count) {}
  int64_t tokenCount() const override { return count; }
  void read(int64_t position, std::span<int32_t> tokens) const override {
    ASSERT_LE(position + static_cast<int64_t>(tokens.size()), count);
    std::iota(tokens.begin(), tokens.end(), position);
  }
  std::string description() const override { return "counting tokens"; }
  int64_t count;
};
} // namespace

/// First token of each sample of a step, in the order of global sample numbers.
static std::vector<int32_t> samplesOfStep(const Batches &batches, int64_t firstDraw) {
  const BatchShape &shape = batches.getShape();
  std::vector<int32_t> tokens(shape.microBatchSamples * shape.sequenceLength), first;
  for (int64_t dp = 0; dp < shape.dataParallel; ++dp)
    for (int64_t micro = 0; micro < shape.microBatches; ++micro) {
      batches.fillTokens(firstDraw, dp, micro, tokens);
      for (int64_t row = 0; row < shape.microBatchSamples; ++row)
        first.push_back(tokens[row * shape.sequenceLength]);
    }
  return first;
}

TEST(Batches, LabelsAreTheNextTokens) {
  CountingTokens source(41);
  Batches batches(source, {.sequenceLength = 8, .microBatchSamples = 5, .microBatches = 1}, 0);
  EXPECT_EQ(batches.sampleCount(), 5);
  std::vector<int32_t> tokens(40), labels(40);
  batches.fillTokens(0, 0, 0, tokens);
  batches.fillLabels(0, 0, 0, labels);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(labels[i], tokens[i] + 1);
    EXPECT_EQ(tokens[i] % 8, i % 8);
  }
}

TEST(Batches, TheSamplesOfAStepDoNotDependOnTheGrid) {
  CountingTokens source(1000);
  Batches plain(source, {.sequenceLength = 4, .microBatchSamples = 24, .microBatches = 1}, 9);
  std::vector<int32_t> expected = samplesOfStep(plain, 48);
  for (int64_t dp : {1, 2, 3, 4})
    for (int64_t micro : {1, 2, 3}) {
      int64_t rows = 24 / (dp * micro);
      if (rows * dp * micro != 24)
        continue;
      Batches split(source, {.sequenceLength = 4, .microBatchSamples = rows, .microBatches = micro, .dataParallel = dp},
                    9);
      EXPECT_EQ(samplesOfStep(split, 48), expected) << "dp " << dp << ", micro-batches " << micro;
    }
}

TEST(Batches, FirstSamplesNumberTheSamplesOfAStep) {
  CountingTokens source(1000);
  Batches batches(source, {.sequenceLength = 4, .microBatchSamples = 3, .microBatches = 2, .dataParallel = 4}, 9);
  int64_t next = 0;
  for (int64_t dp = 0; dp < 4; ++dp)
    for (int64_t micro = 0; micro < 2; ++micro, next += 3)
      EXPECT_EQ(batches.firstSample(dp, micro), next);
}

// 5, 7 or 10 samples, dealt to whatever holds them: the same samples, and the rest counts nowhere.
TEST(Batches, AnUnevenBatchIsFilledUp) {
  CountingTokens source(1000);
  for (int64_t batch : {5, 7, 10})
    for (int64_t dp : {1, 2, 3, 4})
      for (int64_t rows : {1, 2, 3}) {
        int64_t micro = (batch - 1) / (dp * rows) + 1;
        Batches whole(source, {.sequenceLength = 4, .microBatchSamples = batch, .microBatches = 1}, 9);
        Batches split(source,
                      {.sequenceLength = 4,
                       .microBatchSamples = rows,
                       .microBatches = micro,
                       .dataParallel = dp,
                       .globalBatch = batch},
                      9);
        EXPECT_EQ(split.getShape().samplesPerStep(), batch);
        EXPECT_EQ(split.getShape().tokensPerStep(), 4 * batch);
        std::vector<int32_t> found = samplesOfStep(split, 33);
        std::vector<int32_t> rest(found.begin() + batch, found.end());
        found.resize(batch);
        EXPECT_EQ(found, samplesOfStep(whole, 33));
        EXPECT_EQ(rest, std::vector<int32_t>(dp * micro * rows - batch, 0));
        std::vector<int32_t> labels(4 * rows);
        split.fillLabels(33, dp - 1, micro - 1, labels);
        for (int64_t row = 0; row < rows; ++row) {
          bool isFilled = split.firstSample(dp - 1, micro - 1) + row >= batch;
          for (int64_t i = 0; i < 4; ++i)
            EXPECT_EQ(labels[4 * row + i] == Batches::ignoredLabel, isFilled);
        }
      }
}

TEST(Batches, AnEpochVisitsEachSampleOnce) {
  CountingTokens source(4 * 30 + 1);
  Batches batches(source, {.sequenceLength = 4, .microBatchSamples = 3, .microBatches = 2}, 1);
  std::map<int32_t, int> visits;
  for (int64_t step = 0; step < 5; ++step)
    for (int32_t first : samplesOfStep(batches, step * 6))
      ++visits[first];
  EXPECT_EQ(visits.size(), 30u);
  EXPECT_TRUE(std::all_of(visits.begin(), visits.end(), [](auto &visit) { return visit.second == 1; }));
}

TEST(Batches, IgnoredTokensBecomeNegativeLabels) {
  CountingTokens source(9);
  Batches batches(source, {.sequenceLength = 8, .microBatchSamples = 1, .microBatches = 1}, 0, 3);
  std::vector<int32_t> tokens(8), labels(8);
  batches.fillTokens(0, 0, 0, tokens);
  batches.fillLabels(0, 0, 0, labels);
  EXPECT_EQ(tokens, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(labels, (std::vector<int32_t>{1, 2, -100, 4, 5, 6, 7, 8}));
}

TEST(Batches, RefusesASourceShorterThanOneSample) {
  CountingTokens source(8);
  std::string message = messageOf<Error>([&] { Batches batches(source, {.sequenceLength = 8}, 0); });
  EXPECT_NE(message.find("one sample needs 9 tokens"), std::string::npos) << message;
}

TEST(SyntheticTokens, AreReproducibleAndCoverTheVocabulary) {
  SyntheticTokens source(5, 16, 4096);
  std::vector<int32_t> all(4096), part(10);
  source.read(0, all);
  source.read(100, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + 100));
  std::map<int32_t, int> histogram;
  for (int32_t token : all)
    ++histogram[token];
  EXPECT_EQ(histogram.size(), 16u);
  // Mean 256, standard deviation 15.5: eight of them have a probability below 1e-14.
  for (auto [token, count] : histogram)
    EXPECT_NEAR(count, 256, 8 * 15.5) << token;
}
