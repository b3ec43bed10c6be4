//===- runtime/training/StepFeed.cpp - what the ranks ask for during a step -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/StepFeed.h"

#include "runtime/engine/Scalar.h"
#include "runtime/plan/Error.h"

using namespace tgpt::runtime;

/// The destination as the ids of one micro-batch.
static std::span<int32_t> idsOf(std::string_view input, const BatchShape &shape, const TensorView &destination) {
  int64_t expected = shape.microBatchSamples * shape.sequenceLength;
  if (destination.dtype != DType::I32 || destination.elements() != expected)
    throw Error("input '" + std::string(input) + "' is " + std::string(name(destination.dtype)) + " with " +
                std::to_string(destination.elements()) + " elements, expected i32 with " + std::to_string(expected) +
                " (a micro-batch of samples)");
  return {destination.as<int32_t>(), static_cast<size_t>(expected)};
}

/// The number of each row in its step.
static void fillSamples(const Batches &batches, int64_t dpIndex, int64_t microBatch, const TensorView &destination) {
  int64_t expected = batches.getShape().microBatchSamples;
  if (destination.dtype != DType::I32 || destination.elements() != expected)
    throw Error("input 'samples' is " + std::string(name(destination.dtype)) + " with " +
                std::to_string(destination.elements()) + " elements, expected i32 with " + std::to_string(expected) +
                " (the samples of a micro-batch)");
  int64_t first = batches.firstSample(dpIndex, microBatch);
  for (int64_t row = 0; row < expected; ++row)
    destination.as<int32_t>()[row] = static_cast<int32_t>(first + row);
}

void StepFeed::fill(std::string_view input, int64_t dpIndex, int64_t microBatch, TensorView destination) {
  if (input == "tokens")
    batches.fillTokens(firstDraw, dpIndex, microBatch, idsOf(input, batches.getShape(), destination));
  else if (input == "labels")
    batches.fillLabels(firstDraw, dpIndex, microBatch, idsOf(input, batches.getShape(), destination));
  else if (input == "samples")
    fillSamples(batches, dpIndex, microBatch, destination);
  else if (input == "learning_rate")
    storeElement(destination, learningRate);
  else if (input == "step")
    storeElement(destination, static_cast<double>(step));
  else
    throw Error("the plan asks for input '" + std::string(input) +
                "'; a training step knows tokens, labels, samples, learning_rate and step");
}
