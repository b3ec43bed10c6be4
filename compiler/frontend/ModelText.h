//===- ModelText.h - writes model.mlir -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model as text rather than as built IR: the file is meant to be read and
// edited, so values are named by meaning, types by what they hold, and a header
// says what the model is. Diagnostics and costs then name lines of this file.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_FRONTEND_MODELTEXT_H
#define TGPT_COMPILER_FRONTEND_MODELTEXT_H

#include "compiler/frontend/ModelRecipe.h"

#include <string>

namespace tgpt {

/// The model file of a recipe: dialect tgpt, f32, batch `?`, one block in a tgpt.repeat.
std::string modelText(const ModelRecipe &recipe);

} // namespace tgpt

#endif // TGPT_COMPILER_FRONTEND_MODELTEXT_H
