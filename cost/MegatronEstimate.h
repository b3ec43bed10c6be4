//===- MegatronEstimate.h - the figure that Megatron-LM prints before a run ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What --log-memory-to-tensorboard and tools/report_theoretical_memory.py of Megatron-LM
// estimate for the first stage: the figure most users compare with. It is here to be
// explained, and nothing else is computed from it (RankMemory.h has our formulas).
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_MEGATRONESTIMATE_H
#define TGPT_COST_MEGATRONESTIMATE_H

#include "cost/Execution.h"
#include "cost/ModelShape.h"

namespace tgpt::cost {

struct MegatronEstimate {
  double parameters = 0; ///< of the rank that it takes for the fullest
  double bytesPerParameter = 0;
  double activationBytes = 0;
  bool isOfSequenceParallel = false; ///< by the formula for sequence parallelism with selective recomputation

  double stateBytes() const { return parameters * bytesPerParameter; }
  double totalBytes() const { return stateBytes() + activationBytes; }
};

MegatronEstimate megatronEstimate(const ModelShape &shape, const Execution &run);

} // namespace tgpt::cost

#endif // TGPT_COST_MEGATRONESTIMATE_H
