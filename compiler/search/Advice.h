//===- Advice.h - what would make a plan possible ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For a search that finds nothing: either nothing is legal, and some number is to blame, or
// what is legal does not fit, and one change would do.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_SEARCH_ADVICE_H
#define TGPT_COMPILER_SEARCH_ADVICE_H

#include "compiler/search/Search.h"

namespace tgpt::search {

/// One change, and the best plan that it would allow.
struct Remedy {
  std::string change; ///< "--gpus=128"
  Scored plan;
};

/// The best plan of a problem, or nothing: whoever compiles plans knows better than the closed forms.
using BestPlan = std::function<std::optional<Scored>(const Problem &)>;
std::optional<Scored> bestByClosedForms(const Problem &problem);

/// Changes that make the problem have a plan that fits, each alone: a pin less (all of them, where no single one is to
/// blame), more GPUs up to 64 times as many, as far as the machine has links for them.
std::vector<Remedy> remediesOf(const Problem &problem, const BestPlan &best = bestByClosedForms);

/// Of what is legal, the candidate that needs least memory by closed forms.
std::optional<Scored> smallestOf(const Problem &problem);

/// Whether anything is legal, memory aside.
bool hasCandidate(const Problem &problem);

/// What the nearest legal values are where nothing is: "--gpus=48", "--global-batch=96", "--tp=4"; each alone.
std::vector<std::string> nearestLegal(const Problem &problem);

} // namespace tgpt::search

#endif // TGPT_COMPILER_SEARCH_ADVICE_H
