//===- RecipeError.h - what is wrong with a recipe -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thrown where a recipe is read, field by field or as a whole.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_FRONTEND_RECIPEERROR_H
#define TGPT_COMPILER_FRONTEND_RECIPEERROR_H

#include <stdexcept>

namespace tgpt {

/// "file:line: what; accepted: ...; nearest legal value: ...".
struct RecipeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

} // namespace tgpt

#endif // TGPT_COMPILER_FRONTEND_RECIPEERROR_H
