//===- test/e2e/Comparison.h - what training left behind, compared -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trains a plan and keeps loss, gradient norm and every variable after each step, to
// be compared with those of another plan of the same model and global batch. Gradients
// are those of the loss itself: a loss scale is divided out.
//
// Errors are relative: the plans add up the same numbers in another order. A sum of n
// terms in f64 differs by at most n 1.1e-16 of the sum of magnitudes; n is below 1e5
// in these tests and the models are shallow, so 1e-10 is far above rounding and far
// below any mistake. They are relative to the largest element of the tensor, but not
// below a floor: 1e-3 of the largest gradient of the model for gradients (what is zero
// in exact arithmetic, such as the gradient of GPT-2's key bias, is rounding noise of
// larger terms), its square for second moments, and the learning rate for parameters,
// since AdamW moves an element by up to that.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_E2E_COMPARISON_H
#define TGPT_TEST_E2E_COMPARISON_H

#include "runtime/engine/Job.h"
#include "test/e2e/TokenPattern.h"
#include "test/e2e/Values.h"

#include <map>
#include <string>
#include <vector>

namespace tgpt::runtime {

/// What one step left behind.
struct Snapshot {
  struct Tensor {
    plan::Variable::Role role;
    Values values;
  };
  double loss = 0, gradNorm = 0, tokenCount = 0;
  std::map<std::string, Tensor> variables;
};

struct TrainingSettings {
  int steps = 2;
  double learningRate = 1e-2;
  IgnoredLabels ignored = IgnoredLabels::Uneven;
  double watchdogSeconds = 60;
  DeviceOptions device = {}; // by default ranks compute on the host
};

/// Trains the plan from its first weights; a snapshot a step. Throws Error where
/// copies of a weight differ or a rank touches more bytes than planned.
std::vector<Snapshot> train(const plan::Plan &plan, const TrainingSettings &settings);

/// One quantity of one step, compared.
struct Difference {
  std::string quantity; ///< "loss", "grad_norm", "token_count", or a role: "GRADIENT"
  std::string name;     ///< of the variable; empty for metrics
  int step = 0;         ///< from 1
  double error = 0;     ///< relative; infinite where a variable is missing or of another size

  std::string text() const;
};

/// Every quantity of every step.
std::vector<Difference> compare(const std::vector<Snapshot> &actual, const std::vector<Snapshot> &expected,
                                double learningRate);

/// Remembers the worst error of each quantity and where it was.
class WorstErrors {
public:
  void note(const std::vector<Difference> &differences, const std::string &where);
  /// One line a quantity.
  std::string text() const;

private:
  struct Entry {
    double error = -1;
    std::string where;
  };
  std::map<std::string, Entry> worst;
};

} // namespace tgpt::runtime

#endif // TGPT_TEST_E2E_COMPARISON_H
