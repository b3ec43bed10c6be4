//===- PartSeconds.h - how long a part of the model takes a rank ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and collectives of one micro-batch. Without --overlap collectives are waited for
// where they start. With it the sums of the backward run beside the gradients of weights,
// and what ZeRO moves over dp beside the layer next to it: only what is longer shows.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_PARTSECONDS_H
#define TGPT_PASSES_PIPELINE_PARTSECONDS_H

#include <algorithm>

namespace tgpt {

struct PartSeconds {
  double forward = 0, backward = 0;                       ///< of kernels
  double weightGradients = 0;                             ///< of the backward
  double forwardCollectives = 0, backwardCollectives = 0; ///< of the program
  double gather = 0, scatter = 0;                         ///< of sharded parameters, and of their gradients

  /// What shows of the collectives.
  double exposedForward(bool overlaps) const { return forwardCollectives + beyond(gather, overlaps ? forward : 0); }
  double exposedBackward(bool overlaps) const {
    return beyond(backwardCollectives, overlaps ? weightGradients : 0) +
           beyond(gather + scatter, overlaps ? backward : 0);
  }

private:
  static double beyond(double seconds, double hidden) { return std::max(0.0, seconds - hidden); }
};

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_PARTSECONDS_H
