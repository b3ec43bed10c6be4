//===- test/e2e/IntegerModel.h - a step whose every number is an integer -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An embedding and residual blocks of a column- and a row-parallel linear; the loss is
// half the sum of squares of what comes out, so its gradient is that itself, and a step
// adds the gradient to the weight:
//
//   x = table[tokens];  x += down up x (each layer);  loss_sum = |x|^2;  dx = x
//
// With small integers as weights every sum of the step is one of integers, and exact in
// f32 in any order while the magnitudes of its terms add up to less than 2^24. The
// class has the program as IR and, computed with 64-bit integers, its result.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_E2E_INTEGERMODEL_H
#define TGPT_TEST_E2E_INTEGERMODEL_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tgpt {

/// Row-major.
struct IntegerMatrix {
  int64_t rows = 0, columns = 0;
  std::vector<int64_t> values;

  int64_t &at(int64_t row, int64_t column) { return values[row * columns + column]; }
  int64_t at(int64_t row, int64_t column) const { return values[row * columns + column]; }
};

class IntegerModel {
public:
  static constexpr int64_t vocabulary = 8, width = 4, ffn = 8, sequence = 4, layers = 2;

  IntegerModel();

  /// One training step on `samples` samples a micro-batch, all dp ranks together, as it
  /// is before sharding.
  static std::string program(int64_t samples);

  const std::map<std::string, IntegerMatrix> &getWeights() const { return weights; }

  /// Runs the step on these tokens; weights are replaced.
  void step(const std::vector<int32_t> &tokens);

  // Of the last step.
  std::map<std::string, IntegerMatrix> gradients;
  int64_t lossSum = 0;
  int64_t gradientSquares = 0;
  int64_t largestSum = 0; ///< of the magnitudes of the terms of a sum

private:
  IntegerMatrix product(const IntegerMatrix &a, bool isTransposedA, const IntegerMatrix &b, bool isTransposedB);
  IntegerMatrix sum(const IntegerMatrix &a, const IntegerMatrix &b);
  int64_t squares(const IntegerMatrix &a);
  void note(int64_t magnitude) { largestSum = magnitude > largestSum ? magnitude : largestSum; }

  std::map<std::string, IntegerMatrix> weights;
};

} // namespace tgpt

#endif // TGPT_TEST_E2E_INTEGERMODEL_H
