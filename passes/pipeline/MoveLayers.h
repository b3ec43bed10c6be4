//===- MoveLayers.h - better cuts, one layer at a time ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Good cuts into several chunks a stage: descent from good starts.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_MOVELAYERS_H
#define TGPT_PASSES_PIPELINE_MOVELAYERS_H

#include "passes/pipeline/StageProblem.h"

namespace tgpt {

/// The best of what the starts (layers of each virtual stage) become when layers are moved
/// between virtual stages, one at a time, while that makes the cut better: first fewer bytes
/// above the limit, then a faster slowest rank, fewer virtual stages without layers, more
/// even ranks, more even virtual stages.
std::vector<int64_t> moveLayers(const StageProblem &problem, const std::vector<std::vector<int64_t>> &starts);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_MOVELAYERS_H
