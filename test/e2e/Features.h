//===- Features.h - what a configuration has that a sweep should have met ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_E2E_FEATURES_H
#define TGPT_TEST_E2E_FEATURES_H

#include "test/e2e/Configuration.h"

#include <string>
#include <utility>
#include <vector>

namespace tgpt {

/// All features there are, each once, and whether the configuration has them.
std::vector<std::pair<std::string, bool>> featuresOf(const Configuration &configuration);

} // namespace tgpt

#endif // TGPT_TEST_E2E_FEATURES_H
