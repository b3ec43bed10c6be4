//===- tools/tgpt-plan/LedgerFlags.h - the options of tgpt-plan ledger ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TOOLS_TGPT_PLAN_LEDGERFLAGS_H
#define TGPT_TOOLS_TGPT_PLAN_LEDGERFLAGS_H

#include "compiler/ledger/Ledger.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace tgpt {

/// As given. What is not given follows from the recipe, or else from the other sizes.
struct LedgerFlags {
  std::string model, plan, format = "text";
  std::optional<double> parameters;
  std::optional<double> layers, hidden, heads, kvHeads, headDim, ffn, vocabulary, sequence;
  std::optional<std::string> family;
  std::optional<bool> tied;
  std::optional<double> microBatches, kvBatch, kvTokens;
  double dp = 1, pp = 1, vpp = 1, tp = 1, zero = 0, zeroGroup = 0, microBatch = 1;
  std::string schedule = "1f1b", recompute = "none", attention = "fused", kvType = "bf16", gradients = "16";
  bool sequenceParallel = false, dropout = false, qkNorm = false;
};

/// Adds the options; parsing fills `flags`, which must outlive it.
void addLedgerOptions(CLI::App &command, LedgerFlags &flags);

/// The degrees of a plan are its own. Throws std::runtime_error: the first option that was parsed beside it in vain.
void refuseDegreesBesidePlan(const CLI::App &command);

/// What they ask for. Throws std::runtime_error: the flag, its value, and the nearest legal one.
LedgerRequest ledgerRequestOf(const LedgerFlags &flags);

} // namespace tgpt

#endif // TGPT_TOOLS_TGPT_PLAN_LEDGERFLAGS_H
