//===- StageSummary.h - a cut and its costs, for reports ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain numbers, no IR: what a report prints of a cut.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_STAGESUMMARY_H
#define TGPT_PASSES_PIPELINE_STAGESUMMARY_H

#include "passes/pipeline/StageCut.h"
#include <string>

namespace tgpt {

/// Everything that a report says about a cut.
struct StageSummary {
  std::string device;
  int64_t limitBytes = 0;       ///< 0: none
  int64_t leastNanoseconds = 0; ///< no cut has a slowest stage below, memory aside
  int64_t meanNanoseconds = 0, longestPartNanoseconds = 0;
  StageCut cut;
  std::vector<int64_t> slots; ///< of each virtual stage
  bool countsCollectives = false;

  int64_t stages() const { return static_cast<int64_t>(cut.ranks.size()); }
  int64_t chunks() const { return static_cast<int64_t>(cut.layers.size()) / stages(); }
};

/// A figure of a rank and what reports call it.
struct RankFigure {
  const char *name;
  int64_t &(*of)(RankCost &rank);
};
/// All figures of a rank, once: reports and the attribute have them in this order.
const std::vector<RankFigure> &rankFigures();

/// "8, 7" for the layers of the chunks of a stage; the same for slots.
std::string ofChunks(const std::vector<int64_t> &ofVirtualStages, int64_t stage, int64_t stages);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_STAGESUMMARY_H
