//===- PlanFacts.h - what the ledger asks of a plan ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_LEDGER_PLANFACTS_H
#define TGPT_COMPILER_LEDGER_PLANFACTS_H

#include "cost/Execution.h"
#include "runtime/plan/plan.pb.h"
#include <string>
#include <vector>

namespace tgpt {

/// Degrees, schedule and modes that a plan was compiled for.
cost::Execution executionOf(const plan::Plan &plan);

/// The value of --name among the options of a plan; `otherwise` where it was not given.
std::string optionOf(const plan::Plan &plan, const std::string &name, const std::string &otherwise);

/// The variables of one role that a rank of a stage holds.
struct StateFacts {
  double elements = 0;          ///< held, padding included
  double elementBytes = 0;      ///< of one
  double vocabularyPadding = 0; ///< elements outside of the logical tensors
  double bucketPadding = 0;     ///< elements between and behind the members of buckets that are cut
  double furtherBytes = 0;      ///< of further sums of the same gradients (canonical reduction)
};
StateFacts stateFactsOf(const plan::Plan &plan, const plan::StageProgram &stage, plan::Variable::Role role);

/// Bytes of the scalars of a role.
double scalarBytesOf(const plan::StageProgram &stage, plan::Variable::Role role);

/// For each model chunk of a stage, the layers of which its forward reads a parameter.
std::vector<double> layersOfChunks(const plan::StageProgram &stage);

} // namespace tgpt

#endif // TGPT_COMPILER_LEDGER_PLANFACTS_H
