//===- EqualLayers.h - cuts of layers that all cost the same ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which layers a virtual stage has does not matter then, only how many. So a rank's bytes
// follow from the numbers of layers of its own chunks: those that fit are listed for each
// rank, and dynamic programming over the ranks finds how many layers each should have.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_EQUALLAYERS_H
#define TGPT_PASSES_PIPELINE_EQUALLAYERS_H

#include "passes/pipeline/StageProblem.h"
#include <optional>

namespace tgpt {

/// The layers of each virtual stage in the best cut of a problem with a limit and several chunks, by time, virtual
/// stages without layers and evenness; empty where no cut fits. None where layers differ, share something, or can be
/// dealt out in too many ways.
std::optional<std::vector<int64_t>> cutEqualLayers(const StageProblem &problem);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_EQUALLAYERS_H
