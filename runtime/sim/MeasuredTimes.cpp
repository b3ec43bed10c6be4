//===- MeasuredTimes.cpp - times of instructions from measured rates ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/MeasuredTimes.h"

#include "runtime/kernels/api/CallSize.h"
#include "runtime/kernels/api/Registry.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/PlanText.h"
#include "runtime/sim/PlannedCall.h"

#include <algorithm>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::sim;
using plan::Instruction;

MeasuredTimes::MeasuredTimes(const cost::Cluster &cluster, int64_t ranks) : cluster(cluster), ranks(ranks) {
  if (!cluster.measured)
    return;
  std::vector<std::string> known;
  for (std::string_view name : kernelNames())
    known.emplace_back(name);
  for (const auto &[name, rates] : cluster.measured->kernels) {
    std::string kernel = name.ends_with(inChunks) ? name.substr(0, name.size() - inChunks.size()) : name;
    if (std::find(known.begin(), known.end(), kernel) == known.end()) {
      std::string nearest = nearestName(kernel, known);
      throw Error("cluster '" + cluster.name + "' has rates for '" + name + "', which is no kernel" +
                  (nearest.empty() ? "" : "; the nearest one is '" + nearest + "'"));
    }
  }
}

std::optional<double> MeasuredTimes::ofKernel(const plan::StageProgram &stage, const Instruction &instruction) const {
  if (!cluster.measured || instruction.kind() != Instruction::KERNEL)
    return std::nullopt;
  PlannedCall planned(stage, instruction);
  KernelCall call = planned.call();
  cost::CallSize size = callSize(instruction.opcode(), call);
  std::optional<double> seconds =
      cluster.measured->kernelSeconds(rateName(instruction.opcode(), call), rateDtype(call), size);
  return seconds ? seconds : cluster.measured->kernelSeconds(instruction.opcode(), rateDtype(call), size);
}

std::optional<double> MeasuredTimes::ofCollective(const Instruction &instruction, const cost::Group &group,
                                                  double tensorBytes) const {
  static constexpr const char *names[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"};
  if (!cluster.measured || group.ranks < 2)
    return std::nullopt;
  std::optional<double> seconds =
      cluster.measured->exchangeSeconds(names[instruction.kind() - Instruction::ALL_REDUCE], group.ranks, tensorBytes);
  // Where ranks are more than cores, the measured ones shared them as well: alone each would be faster by as much.
  if (seconds && cluster.coresPerNode > 0)
    *seconds *= std::min(1.0, cluster.coresPerNode / group.ranks);
  return seconds;
}

std::optional<double> MeasuredTimes::ofMessage(double bytes, bool isWoken) const {
  if (!cluster.measured)
    return std::nullopt;
  // Measured is one way: two copies and the waking.
  std::optional<double> nothing = cluster.measured->exchangeSeconds("send", 2, 0);
  std::optional<double> both = cluster.measured->exchangeSeconds("send", 2, bytes);
  if (!both)
    return std::nullopt;
  return (*both - *nothing) / 2 + (isWoken ? *nothing : 0);
}
