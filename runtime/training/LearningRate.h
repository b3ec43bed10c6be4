//===- runtime/training/LearningRate.h - the learning rate of every step --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Steps count from 1. With warm-up w, decay end e, peak p and minimum m:
//
//   t <= w           p t / w
//   constant         p
//   cosine, t < e    m + (p - m) (1 + cos(pi (t - w) / (e - w))) / 2
//   cosine, t >= e   m
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_TRAINING_LEARNINGRATE_H
#define TGPT_RUNTIME_TRAINING_LEARNINGRATE_H

#include <cstdint>

namespace tgpt::runtime {

struct LearningRate {
  enum class Shape { Constant, Cosine };

  Shape shape = Shape::Constant;
  double peak = 1e-3;
  double minimum = 0;
  int64_t warmupSteps = 0;
  int64_t decaySteps = 0; // the step where a cosine reaches `minimum`

  double at(int64_t step) const;
  /// Throws Error naming the option that makes no sense.
  void validate() const;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRAINING_LEARNINGRATE_H
