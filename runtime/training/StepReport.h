//===- runtime/training/StepReport.h - what is known of a finished step -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_TRAINING_STEPREPORT_H
#define TGPT_RUNTIME_TRAINING_STEPREPORT_H

#include <cstdint>

namespace tgpt::runtime {

struct StepReport {
  int64_t step = 0; // counts from 1
  double loss = 0;  // mean over the valid tokens of the step
  double gradNorm = 0;
  double learningRate = 0;
  int64_t tokensSeen = 0; // since the start of training, ignored labels included
  double stepSeconds = 0;
  double tokensPerSecond = 0;
  double flopsShare = 0;    // of the GEMM peak; 0 where unknown
  double lossScale = 0;     // of this step; 0 where the plan scales no loss
  int64_t skippedSteps = 0; // since the start, this one included
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRAINING_STEPREPORT_H
