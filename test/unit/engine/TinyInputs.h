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
#include "test/unit/plan/TinyPipeline.h"

namespace tgpt::test {

class TinyInputs : public runtime::StepInputs {
public:
  void fill(std::string_view, int64_t dpIndex, int64_t microBatch, runtime::TensorView destination) override {
    for (int64_t i = 0; i < destination.elements(); ++i)
      runtime::storeElement(destination, tinyInput(dpIndex, microBatch, i), i);
  }
};

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
