//===- Explanation.h - why a plan loses ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_SEARCH_EXPLANATION_H
#define TGPT_COMPILER_SEARCH_EXPLANATION_H

#include "compiler/search/Search.h"

namespace tgpt::search {

/// A part of a step's time.
struct TimePart {
  const char *key;  ///< "tensor_communication"
  const char *name; ///< "tensor-parallel communication"
  double seconds;
};
/// All of them; they add up to the step.
std::vector<TimePart> timePartsOf(const cost::StepBreakdown &breakdown);

/// What a plan pays against another.
struct Difference {
  double seconds, bytes;       ///< of the plan less those of the other
  std::vector<TimePart> parts; ///< the same, largest first
};
Difference differenceOf(const Problem &problem, const Scored &plan, const Scored &other);

/// "waiting for stages +420 ms, recomputation -110 ms": the parts that make most of a difference.
std::string mainPartsText(const Difference &difference);
/// "+310 ms", "-1.20 s".
std::string signedSecondsText(double seconds);
/// "+3.2 GiB".
std::string signedBytesText(double bytes);
/// "310 ms", "12.5 s".
std::string plainSecondsText(double seconds);
} // namespace tgpt::search

#endif // TGPT_COMPILER_SEARCH_EXPLANATION_H
