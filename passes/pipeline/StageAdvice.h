//===- StageAdvice.h - what would make a model fit ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the error that no cut fits: by how much, and which options would do.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_STAGEADVICE_H
#define TGPT_PASSES_PIPELINE_STAGEADVICE_H

#include "passes/pipeline/StageCut.h"
#include <functional>
#include <string>

namespace tgpt {

/// Problems like the one at hand, under one other option.
struct OtherProblems {
  int64_t zero = 0;                                   ///< as it is
  std::function<StageProblem(int64_t zero)> withZero; ///< none where there is no one to share with
  std::function<MicroBatchesInFlight(int64_t stages)> inFlight;
};

/// What the closest cut lacks: "stage 3 needs 12.5 GiB, 2.5 GiB (2684354560 bytes) more than the limit".
std::string misfitText(const StageProblem &problem, const StageCut &closest);

/// Options that make the model fit the limit, each alone, by the same costs: more stages, ZeRO,
/// recomputation (estimated: of a layer its input is kept), and the limit that would do.
std::string adviceText(const StageProblem &problem, const StageCut &closest, const OtherProblems &others);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_STAGEADVICE_H
