//===- PipelineTime.h - how long a pipeline takes, by schedule ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Closed forms for stages of unequal length: the first stage also embeds, the last also
// has the head. f, b (input gradients) and w (weight gradients) are one micro-batch's:
//
//   GPipe, 1F1B       sum over stages (f + b + w) + (m - 1) longest stage
//   interleaved, v    m longest + (p - 1) / v mean stage            (arXiv 2104.04473, section 2.2)
//                     with m < p: sum over stages + (m - 1) / v longest
//   zero bubble H1    m longest + (p - 1) (f + b - w)               (arXiv 2401.10241, section 2.3)
//   zero bubble H2    m longest + (p - 1) max(0, f + b - 2 w)
//
// Both zero-bubble schedules take at least (m + p - 1) (f + b) + w: the last micro-batch's
// way to the last stage and back. It rules where there are too few weight gradients to
// fill the bubble with.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_PIPELINETIME_H
#define TGPT_COST_PIPELINETIME_H

#include "cost/LayerTime.h"

namespace tgpt::cost {

/// The three kinds of stage, one micro-batch each.
struct StageSeconds {
  PassSeconds first, middle, last;
};

double pipelineSeconds(const StageSeconds &stages, const Execution &run);
/// A pipeline's share of idle time against `m longest stage`: (p - 1) / (v m + p - 1) for equal stages.
double bubbleFraction(const StageSeconds &stages, const Execution &run);

} // namespace tgpt::cost

#endif // TGPT_COST_PIPELINETIME_H
