//===- PlanComparison.h - the formulas beside the plan, line by line ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formula and lines add up to the bytes of the plan. Each line follows from a fact of the
// plan or from a formula of its own, not from what is missing; only what embedding, head and
// loss keep is a rest, and of activations alone.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_LEDGER_PLANCOMPARISON_H
#define TGPT_COMPILER_LEDGER_PLANCOMPARISON_H

#include "compiler/ledger/Ledger.h"
#include "compiler/report/MemoryReport.h"
#include <string>
#include <vector>

namespace tgpt {

struct DifferenceLine {
  std::string reason;
  double bytes = 0;
};

struct ComparedPart {
  std::string name; ///< "parameters"
  double formulaBytes = 0, planBytes = 0;
  std::vector<DifferenceLine> lines;

  /// Adds a line, unless it is nothing.
  void because(const std::string &reason, double bytes);
  double unexplainedBytes() const;
};

struct ComparedStage {
  int64_t stage = 0;
  std::vector<ComparedPart> parts;

  double formulaBytes() const;
  double planBytes() const;
};

/// The request with the run of the plan in place of its own. Throws std::runtime_error where the plan is of another
/// model.
LedgerRequest requestOfPlan(const LedgerRequest &request, const plan::Plan &plan);

/// `request` is of the plan's run.
std::vector<ComparedStage> comparisonOf(const LedgerRequest &request, const MemoryReport &report);

/// For people; stages that differ in nothing share their lines.
std::string comparisonText(const std::vector<ComparedStage> &stages);

} // namespace tgpt

#endif // TGPT_COMPILER_LEDGER_PLANCOMPARISON_H
