//===- Channels.cpp - how many messages must find room between stages ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/schedule/Channels.h"
#include "passes/pipeline/schedule/Simulation.h"
#include <algorithm>
#include <map>

using namespace tgpt;

/// Most messages that are sent and not taken, `sent` and `taken` in order: what is taken at
/// the moment of a send makes room for it.
static int64_t mostWaiting(const std::vector<double> &sent, const std::vector<double> &taken) {
  int64_t most = 1;
  size_t done = 0;
  for (size_t i = 0; i < sent.size(); ++i) {
    while (done < std::min(i, taken.size()) && taken[done] <= sent[i])
      ++done;
    most = std::max(most, static_cast<int64_t>(i - done) + 1);
  }
  return most;
}

std::vector<int64_t> tgpt::channelDepths(const PipelineShape &shape, const std::vector<StageSchedule> &schedules,
                                         const std::vector<Transfer> &transfers) {
  Timeline timeline = simulate(shape, schedules, unitTimes(shape, schedules));
  std::map<std::pair<WorkKind, int64_t>, std::vector<double>> begins; // in order of the micro-batches
  for (int64_t stage = 0; stage < shape.stages; ++stage)
    for (const TimedEntry &timed : timeline.stages[stage])
      begins[{timed.entry.kind, shape.virtualStage(stage, timed.entry.chunk)}].push_back(timed.begin);
  std::map<Transfer, int64_t> known;
  std::vector<int64_t> depths;
  for (const Transfer &transfer : transfers) {
    auto [found, isNew] = known.try_emplace(transfer, 1);
    if (isNew)
      found->second = mostWaiting(begins[{transfer.kind, transfer.from}], begins[{transfer.kind, transfer.to}]);
    depths.push_back(found->second);
  }
  return depths;
}
