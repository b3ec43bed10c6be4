//===- Batches.cpp - the tokens and labels of every micro-batch -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/Batches.h"

#include <algorithm>

using namespace tgpt::runtime;

static int64_t checkedSampleCount(const TokenSource &source, int64_t sequenceLength) {
  requireOneSample(source, sequenceLength);
  return (source.tokenCount() - 1) / sequenceLength;
}

Batches::Batches(const TokenSource &source, BatchShape shape, uint64_t seed, std::optional<int32_t> ignoreToken)
    : source(source), shape(shape), samples(checkedSampleCount(source, shape.sequenceLength)), order(seed, samples),
      ignoreToken(ignoreToken) {}

void Batches::copyRows(int64_t firstDraw, int64_t dpIndex, int64_t microBatch, int64_t shift, int32_t filler,
                       std::span<int32_t> rows) const {
  int64_t length = shape.sequenceLength, first = firstSample(dpIndex, microBatch);
  for (int64_t row = 0; row < shape.microBatchSamples; ++row) {
    std::span<int32_t> to = rows.subspan(row * length, length);
    if (first + row < shape.samplesPerStep())
      source.read(order.sampleOf(firstDraw + first + row) * length + shift, to);
    else
      std::fill(to.begin(), to.end(), filler);
  }
}

void Batches::fillTokens(int64_t firstDraw, int64_t dpIndex, int64_t microBatch, std::span<int32_t> tokens) const {
  copyRows(firstDraw, dpIndex, microBatch, 0, /*filler=*/0, tokens);
}

void Batches::fillLabels(int64_t firstDraw, int64_t dpIndex, int64_t microBatch, std::span<int32_t> labels) const {
  copyRows(firstDraw, dpIndex, microBatch, 1, ignoredLabel, labels);
  if (ignoreToken)
    std::replace(labels.begin(), labels.end(), *ignoreToken, ignoredLabel);
}
