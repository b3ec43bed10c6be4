//===- ExchangeSamples.h - the time of collectives between rank threads ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As the engine runs them: a thread a rank, tensors of f32 in place, one call after the
// other. In wall time, for it is waiting that takes the time.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_CALIBRATION_EXCHANGESAMPLES_H
#define TGPT_RUNTIME_CALIBRATION_EXCHANGESAMPLES_H

#include "runtime/calibration/Sample.h"

#include <cstdint>
#include <string>

namespace tgpt::runtime::calibration {

/// One of cost::exchangeNames() between `ranks` threads; `bytes` is the whole tensor, of a send the message. A message
/// goes between two threads and back; the time is that of one way.
Sample sampleExchange(const std::string &name, int64_t ranks, int64_t bytes, const SampleBudget &budget);

/// Waking `ranks` rank threads, which do nothing, and waiting until all have ended: what a step takes beside its
/// instructions.
Sample sampleEmptyStep(int64_t ranks, const SampleBudget &budget);

} // namespace tgpt::runtime::calibration

#endif // TGPT_RUNTIME_CALIBRATION_EXCHANGESAMPLES_H
