//===- PageHoldings.h - which segments keep a page for each other -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_PAGEHOLDINGS_H
#define TGPT_RUNTIME_PLAN_PAGEHOLDINGS_H

#include "runtime/plan/plan.pb.h"

#include <vector>

namespace tgpt::runtime {

/// Of each segment the first one with which it shares a page of this kind (PAGES or LEAVES): those of a chunk, in the
/// order in which a micro-batch meets them, of which a later one reads there what an earlier one has written, and all
/// between them. A segment that shares with none has a page to itself. Operands need not be checked yet.
std::vector<int> pageHoldings(const plan::StageProgram &stage, plan::Region::Kind kind);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_PAGEHOLDINGS_H
