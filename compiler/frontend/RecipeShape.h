//===- RecipeShape.h - a recipe as the cost model sees it -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_FRONTEND_RECIPESHAPE_H
#define TGPT_COMPILER_FRONTEND_RECIPESHAPE_H

#include "compiler/frontend/ModelRecipe.h"
#include "cost/ModelShape.h"

namespace tgpt {

cost::ModelShape shapeOf(const ModelRecipe &recipe);

} // namespace tgpt

#endif // TGPT_COMPILER_FRONTEND_RECIPESHAPE_H
