//===- Refinement.h - choices that closed forms can't tell apart ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The size of gradient buckets and how far ahead ZeRO-3 gathers decide what runs beside
// what, which the closed forms hardly see; a compiled plan and its simulated step do. So the
// search leaves them as they are by default, and the best few plans are compiled with each.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_SEARCH_REFINEMENT_H
#define TGPT_COMPILER_SEARCH_REFINEMENT_H

#include "compiler/search/Problem.h"
#include <vector>

namespace tgpt::search {

/// The same plan with other buckets, or with parameters gathered later or earlier; without those that can make no
/// difference (buckets that still hold one layer) and without what is pinned. In the order of the memory they need.
std::vector<Candidate> refinementsOf(const Problem &problem, const Candidate &candidate);

/// The same plan with less memory, for one that does not fit: parameters gathered as late as possible. Nothing where
/// there is none.
std::optional<Candidate> smallerOf(const Problem &problem, const Candidate &candidate);

} // namespace tgpt::search

#endif // TGPT_COMPILER_SEARCH_REFINEMENT_H
