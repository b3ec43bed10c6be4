//===- TinyInputs.h - feeds the tiny pipeline -------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_ENGINE_TINYINPUTS_H
#define TGPT_TEST_UNIT_ENGINE_TINYINPUTS_H

#include "runtime/engine/Job.h"
#include "runtime/engine/Scalar.h"
#include "runtime/plan/Error.h"
#include "test/unit/plan/TinyPipeline.h"

#include <functional>
#include <string>

namespace tgpt::test {

class TinyInputs : public runtime::StepInputs {
public:
  void fill(std::string_view, int64_t dpIndex, int64_t microBatch, runtime::TensorView destination) override {
    for (int64_t i = 0; i < destination.elements(); ++i)
      runtime::storeElement(destination, tinyInput(dpIndex, microBatch, i), i);
  }
};

/// Fails on one dp index and micro-batch.
class FailingInputs final : public TinyInputs {
public:
  explicit FailingInputs(std::string message) : message(std::move(message)) {}

  void fill(std::string_view input, int64_t dpIndex, int64_t microBatch, runtime::TensorView destination) override {
    if (dpIndex == 1 && microBatch == 2)
      throw runtime::Error(message);
    TinyInputs::fill(input, dpIndex, microBatch, destination);
  }

private:
  std::string message;
};

/// What `body` throws as Error, or "no error".
inline std::string errorOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const runtime::Error &error) {
    return error.what();
  }
  return "no error";
}

inline runtime::JobOptions referenceOptions() {
  runtime::JobOptions options;
  options.kernels = runtime::referenceKernels();
  return options;
}

/// A logical f64 tensor as numbers.
inline std::vector<double> numbersOf(const runtime::LogicalTensor &tensor) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < tensor.view().elements(); ++i)
    numbers.push_back(runtime::loadElement(tensor.view(), i));
  return numbers;
}

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_ENGINE_TINYINPUTS_H
