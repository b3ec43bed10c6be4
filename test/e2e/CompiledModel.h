//===- test/e2e/CompiledModel.h - a recipe, compiled by the tools -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_E2E_COMPILEDMODEL_H
#define TGPT_TEST_E2E_COMPILEDMODEL_H

#include "runtime/plan/plan.pb.h"

#include <filesystem>
#include <string>

namespace tgpt::runtime {

/// Runs tgpt-import, with `importFlags`, and tgpt-opt, with `flags`, on a recipe. Throws Error with what the tools
/// printed when one fails.
plan::Plan compileRecipe(const std::filesystem::path &recipe, const std::string &flags,
                         const std::string &importFlags = "");

} // namespace tgpt::runtime

#endif // TGPT_TEST_E2E_COMPILEDMODEL_H
