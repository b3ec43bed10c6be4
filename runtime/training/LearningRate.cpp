//===- runtime/training/LearningRate.cpp - the learning rate of every step ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/LearningRate.h"

#include "runtime/plan/Error.h"

#include <cmath>
#include <numbers>
#include <string>

using namespace tgpt::runtime;

double LearningRate::at(int64_t step) const {
  if (step <= warmupSteps)
    return peak * static_cast<double>(step) / static_cast<double>(warmupSteps);
  if (shape == Shape::Constant)
    return peak;
  if (step >= decaySteps)
    return minimum;
  double progress = static_cast<double>(step - warmupSteps) / static_cast<double>(decaySteps - warmupSteps);
  return minimum + (peak - minimum) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

void LearningRate::validate() const {
  if (!std::isfinite(peak) || peak < 0)
    throw Error("--lr is " + std::to_string(peak) + ", expected a number of 0 or more");
  if (!std::isfinite(minimum) || minimum < 0 || minimum > peak)
    throw Error("--min-lr is " + std::to_string(minimum) + ", expected a number from 0 to --lr (" +
                std::to_string(peak) + ")");
  if (warmupSteps < 0)
    throw Error("--warmup-steps is " + std::to_string(warmupSteps) + ", expected 0 or more");
  if (shape == Shape::Cosine && decaySteps < warmupSteps)
    throw Error("the cosine ends at step " + std::to_string(decaySteps) + ", before the warm-up does (" +
                std::to_string(warmupSteps) + "): raise --decay-steps or --steps, or lower --warmup-steps");
}
