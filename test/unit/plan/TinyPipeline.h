//===- TinyPipeline.h - a two-stage plan with every transport ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A hand-written training step on (dp, pp = 2, tp), f64, global width 4:
//
//   stage 0  forward   x = input[dp, micro-batch];  y = x's tp part + w;  z = all_gather(y, tp);  send z
//            backward  receive dz;  g += dz's tp part
//            update    all_reduce g over dp;  w += g
//   stage 1  forward   receive z;  s = all_reduce(z, tp) = tp z
//            backward  loss_sum += sum of squares of s;  send s
//            update    all_reduce loss_sum over dp;  output loss
//   both     update    rank_count = all_reduce(1, dp x pp x tp);  output rank_count
//
// The schedule is 1f1b with two activation slots on stage 0. TinyModel computes
// the same numbers directly.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_PLAN_TINYPIPELINE_H
#define TGPT_TEST_UNIT_PLAN_TINYPIPELINE_H

#include "runtime/plan/plan.pb.h"

#include <array>
#include <cstdint>

namespace tgpt::test {

plan::Plan tinyPipeline(int64_t dp = 2, int64_t tp = 2, int64_t microBatches = 3);

/// Element `i` of the input that the tiny pipeline is fed.
inline double tinyInput(int64_t dpIndex, int64_t microBatch, int64_t i) {
  return static_cast<double>(10 * dpIndex + 3 * microBatch + i) / 8;
}

/// What the tiny pipeline computes.
struct TinyModel {
  int64_t dp, tp, microBatches;
  std::array<double, 4> w = {0.5, 0.5, 0.5, 0.5};

  /// One step; returns the loss.
  double step() {
    std::array<double, 4> gradient = {};
    double loss = 0;
    for (int64_t d = 0; d < dp; ++d)
      for (int64_t m = 0; m < microBatches; ++m)
        for (int64_t i = 0; i < 4; ++i) {
          double s = static_cast<double>(tp) * (tinyInput(d, m, i) + w[i]);
          loss += s * s;
          gradient[i] += s;
        }
    for (int64_t i = 0; i < 4; ++i)
      w[i] += gradient[i];
    return loss;
  }
};

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_PLAN_TINYPIPELINE_H
