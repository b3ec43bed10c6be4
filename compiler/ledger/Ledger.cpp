//===- Ledger.cpp - what a model of a shape needs, by closed formulas ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/ledger/Ledger.h"
#include "compiler/report/TextTable.h"
#include <cstdio>

using namespace tgpt;

static std::string gigabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GB", bytes / 1e9);
  return text;
}

std::string tgpt::statesText(double parameters, double dp, const cost::StateBytes &states) {
  std::vector<std::vector<std::string>> rows = {{"zero", "parameters", "gradients", "optimizer", "together"}};
  for (int stage = 0; stage <= 3; ++stage) {
    cost::RankMemory memory = cost::shardedStates(parameters, stage, dp, states);
    rows.push_back({std::to_string(stage), gigabytes(memory.parameterBytes), gigabytes(memory.gradientBytes),
                    gigabytes(memory.optimizerBytes), gigabytes(memory.stateBytes())});
  }
  return alignedTable(rows);
}
