//===- Ledger.h - what a model of a shape needs, by closed formulas ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas are those of cost/RankMemory.h; this says them to people.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_LEDGER_LEDGER_H
#define TGPT_COMPILER_LEDGER_LEDGER_H

#include "cost/RankMemory.h"
#include <string>

namespace tgpt {

/// Weights, gradients and optimizer states of one of `dp` ranks, a line for each stage of ZeRO.
std::string statesText(double parameters, double dp, const cost::StateBytes &states);

} // namespace tgpt

#endif // TGPT_COMPILER_LEDGER_LEDGER_H
