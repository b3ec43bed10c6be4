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

/// What of a step depends on tp, cp, sequence parallelism, micro-batch and operands alone: a search computes it once
/// for all candidates that have these in common.
struct PartSeconds {
  LayerParts layer;
  PassSeconds embedding, head;
};
PartSeconds partSeconds(const Machine &machine, const ModelShape &shape, const Execution &run);
/// The same step, from the parts of a run that agrees with this one in all that they depend on.
StepSeconds stepSeconds(const Machine &machine, const ModelShape &shape, const Execution &run,
                        const PartSeconds &parts);

/// Where the time of a step goes, on the mean rank. The parts add up to the total.
struct StepBreakdown {
  double products = 0, attention = 0, elementwise = 0;
  double ends = 0; ///< embedding, head and loss
  double recomputation = 0;
  double tensorCommunication = 0; ///< exposed, of the layers
  double stageCommunication = 0;  ///< exposed sends between stages
  double shardCommunication = 0;  ///< what ZeRO-3 adds to the layers
  double bubble = 0;              ///< waiting for other stages
  double dataCommunication = 0;   ///< exposed, once a step
  double optimizer = 0, overhead = 0;

  double exposedCommunication() const {
    return tensorCommunication + stageCommunication + shardCommunication + dataCommunication;
  }
  double total() const {
    return products + attention + elementwise + ends + recomputation + bubble + exposedCommunication() + optimizer +
           overhead;
  }
};
StepBreakdown breakdownOf(const Machine &machine, const ModelShape &shape, const Execution &run);

/// Model operations of the step, over what the ranks could do in its time at the 16-bit peak (of 32-bit operands: at
/// theirs).
double modelFlopsUtilization(const Machine &machine, const ModelShape &shape, const Execution &run, double seconds);

} // namespace tgpt::cost

#endif // TGPT_COST_STEPTIME_H
