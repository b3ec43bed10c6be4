//===- Passes.h - the passes that trade computing for memory ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_RECOMPUTE_PASSES_H
#define TGPT_PASSES_RECOMPUTE_PASSES_H

#include "mlir/Pass/Pass.h"
#include "passes/PassStatistic.h"

namespace tgpt {

/// What tgpt-choose-recompute decides to compute again in the backward.
enum class RecomputeMode {
  None,      ///< nothing
  Selective, ///< what is cheap for the bytes it frees, and attention
  Full,      ///< all of a layer: only its input is kept
};

#define GEN_PASS_DECL
#include "passes/recompute/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/recompute/Passes.h.inc"
} // namespace tgpt

#endif // TGPT_PASSES_RECOMPUTE_PASSES_H
