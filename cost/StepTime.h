//===- StepTime.h - seconds of one training step ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step is the pipeline over all micro-batches, what of the dp communication backward
// does not hide, and the optimizer. Identical layers are costed once, nothing is
// allocated: an evaluation takes a few microseconds.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_STEPTIME_H
#define TGPT_COST_STEPTIME_H

#include "cost/PipelineTime.h"

namespace tgpt::cost {

struct StepSeconds {
  double total = 0;
  double pipeline = 0;    ///< all micro-batches, with bubbles and exposed tp and pp communication
  double bubble = 0;      ///< share of the pipeline's time that a rank waits
  double exposedData = 0; ///< gradients and sharded states, beyond what is hidden
  double optimizer = 0;
  double overhead = 0;
  PassSeconds layer; ///< of one layer and micro-batch, sharded parameters included
};

StepSeconds stepSeconds(const Machine &machine, const ModelShape &shape, const Execution &run);

/// Model operations of the step, over what the ranks could do at the 16-bit peak in its time.
double modelFlopsUtilization(const Machine &machine, const ModelShape &shape, const Execution &run, double seconds);

} // namespace tgpt::cost

#endif // TGPT_COST_STEPTIME_H
