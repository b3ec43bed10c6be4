//===- test/e2e/StepBits.h - all that a step leaves, to the bit --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_E2E_STEPBITS_H
#define TGPT_TEST_E2E_STEPBITS_H

#include "runtime/plan/plan.pb.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tgpt::test {

/// Loss, norm and the bytes of parameters, moments and gradients after a step.
struct StepBits {
  double loss = 0, gradNorm = 0, tokenCount = 0;
  std::map<std::string, std::vector<std::byte>> variables;
};

/// Trains so many steps.
std::vector<StepBits> train(const plan::Plan &plan, int64_t steps = 3);

/// No tolerance. `got` may have fewer steps.
void expectSameBits(const std::vector<StepBits> &got, const std::vector<StepBits> &expected);

} // namespace tgpt::test

#endif // TGPT_TEST_E2E_STEPBITS_H
