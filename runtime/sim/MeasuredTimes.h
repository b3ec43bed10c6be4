//===- MeasuredTimes.h - times of instructions from measured rates ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cluster file of `tgpt-run --calibrate` has a rate for each kernel and collective;
// what it has none for follows from the device and the links, as everywhere else.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_SIM_MEASUREDTIMES_H
#define TGPT_RUNTIME_SIM_MEASUREDTIMES_H

#include "cost/cluster/Cluster.h"
#include "runtime/plan/plan.pb.h"

#include <optional>

namespace tgpt::runtime::sim {

class MeasuredTimes {
public:
  /// Throws Error where the file has a rate for what is no kernel.
  MeasuredTimes(const cost::Cluster &cluster, int64_t ranks);

  std::optional<double> ofKernel(const plan::StageProgram &stage, const plan::Instruction &instruction) const;
  /// `tensorBytes` is the whole tensor.
  std::optional<double> ofCollective(const plan::Instruction &instruction, const cost::Group &group,
                                     double tensorBytes) const;
  /// Of one end of a channel, which copies the message once; `isWoken`: the other end waits for it.
  std::optional<double> ofMessage(double bytes, bool isWoken) const;

private:
  const cost::Cluster &cluster;
  int64_t ranks;
};

} // namespace tgpt::runtime::sim

#endif // TGPT_RUNTIME_SIM_MEASUREDTIMES_H
