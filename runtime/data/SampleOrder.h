//===- SampleOrder.h - in which order samples are trained on ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A source of T tokens holds N = (T - 1) / S samples of S tokens; sample i starts
// at token i * S, and its labels are the tokens one further. Training draws
// samples 0, 1, 2, ... of an endless row: draw n is sample P_e(n mod N) with
// e = n / N, where P_e is the pseudo-random permutation of epoch e.
//
// P_e is a Feistel network on the smallest even number of bits that holds N,
// applied again while the result is N or more ("cycle walking", Black and
// Rogaway 2002). So it needs no memory, any draw is found in constant time, and
// a run can resume anywhere. It knows nothing of ranks or micro-batches.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_DATA_SAMPLEORDER_H
#define TGPT_RUNTIME_DATA_SAMPLEORDER_H

#include <cstdint>

namespace tgpt::runtime {

class SampleOrder {
public:
  /// `samples` must be positive.
  SampleOrder(uint64_t seed, int64_t samples);

  /// Index of the sample that draw `draw` (from 0) yields.
  int64_t sampleOf(int64_t draw) const;
  int64_t epochOf(int64_t draw) const { return draw / samples; }

private:
  uint64_t permuteOnce(uint64_t index, uint64_t epochKey) const;

  uint64_t seed;
  int64_t samples;
  int halfBits;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_DATA_SAMPLEORDER_H
