//===- Batches.h - the tokens and labels of every micro-batch ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step of B samples, at most dp * microBatches * microBatchSamples, uses draws
// firstDraw .. firstDraw + B - 1 of the sample order. Draw firstDraw + g goes to
//
//   g = (dpIndex * microBatches + microBatch) * microBatchSamples + row
//
// so the samples of a step are the same set for every split of B. Rows from B on are
// filled up with zeros whose labels are all ignored.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_DATA_BATCHES_H
#define TGPT_RUNTIME_DATA_BATCHES_H

#include "runtime/data/SampleOrder.h"
#include "runtime/data/TokenSource.h"

#include <optional>

namespace tgpt::runtime {

/// How the samples of a step are dealt to the data-parallel ranks and micro-batches.
struct BatchShape {
  int64_t sequenceLength = 0;
  int64_t microBatchSamples = 0;
  int64_t microBatches = 0; // per data-parallel rank
  int64_t dataParallel = 1;
  int64_t globalBatch = 0; // samples of a step, where they are fewer than fit

  int64_t samplesPerStep() const {
    return globalBatch > 0 ? globalBatch : microBatchSamples * microBatches * dataParallel;
  }
  int64_t tokensPerStep() const { return samplesPerStep() * sequenceLength; }
};

class Batches {
public:
  /// The label of a position that counts nowhere.
  static constexpr int32_t ignoredLabel = -100;

  /// Labels equal to `ignoreToken` become ignoredLabel. `source` must outlive this.
  Batches(const TokenSource &source, BatchShape shape, uint64_t seed,
          std::optional<int32_t> ignoreToken = std::nullopt);

  const BatchShape &getShape() const { return shape; }
  int64_t sampleCount() const { return samples; }

  /// Fills the tokens, or the labels, [microBatchSamples, sequenceLength] of one micro-batch of one data-parallel rank,
  /// in the step whose first draw is `firstDraw`. Safe to call from many threads; allocates nothing.
  void fillTokens(int64_t firstDraw, int64_t dpIndex, int64_t microBatch, std::span<int32_t> tokens) const;
  void fillLabels(int64_t firstDraw, int64_t dpIndex, int64_t microBatch, std::span<int32_t> labels) const;

  /// g of the micro-batch's first row: its number among the samples of the step.
  int64_t firstSample(int64_t dpIndex, int64_t microBatch) const {
    return (dpIndex * shape.microBatches + microBatch) * shape.microBatchSamples;
  }

private:
  void copyRows(int64_t firstDraw, int64_t dpIndex, int64_t microBatch, int64_t shift, int32_t filler,
                std::span<int32_t> rows) const;

  const TokenSource &source;
  BatchShape shape;
  int64_t samples;
  SampleOrder order;
  std::optional<int32_t> ignoreToken;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_DATA_BATCHES_H
