//===- Passes.h - the passes of the zero phase ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_ZERO_PASSES_H
#define TGPT_PASSES_ZERO_PASSES_H

#include "mlir/Pass/Pass.h"
#include "passes/PassStatistic.h"

namespace tgpt {
#define GEN_PASS_DECL
#include "passes/zero/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/zero/Passes.h.inc"
} // namespace tgpt

#endif // TGPT_PASSES_ZERO_PASSES_H
