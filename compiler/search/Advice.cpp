//===- Advice.cpp - what would make a plan possible ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/search/Advice.h"
#include <algorithm>

namespace tgpt::search {
namespace {

void addRemedy(const Problem &changed, const std::string &change, std::vector<Remedy> &remedies) {
  SearchResult result = search(changed);
  if (!result.ranked.empty())
    remedies.push_back({change, result.ranked.front()});
}

bool hasCandidate(const Problem &problem, const Grid &grid) {
  if (refusalOf(problem, grid.tp, grid.pp, grid.dp))
    return false;
  Candidate candidate;
  candidate.tp = grid.tp;
  candidate.pp = grid.pp;
  candidate.dp = grid.dp;
  for (bool sp : grid.sp)
    for (int64_t samples : grid.samples)
      for (const PipelineChoice &pipeline : grid.pipelines) {
        candidate.sp = sp;
        candidate.microBatchSamples = samples;
        candidate.microBatches = problem.globalBatch / grid.dp / samples;
        candidate.vpp = pipeline.vpp;
        if (!refusalOf(problem, candidate))
          return true;
      }
  return false;
}

/// The number next to `wanted`, of at most `most`, with which `isLegal`; 0 where there is none near.
template <typename IsLegal> int64_t nearest(int64_t wanted, int64_t most, const IsLegal &isLegal) {
  constexpr int64_t farthest = 65536;
  int64_t from = std::min(wanted, most + 1);
  for (int64_t distance = 1; distance <= farthest; ++distance) {
    if (from - distance >= 1 && isLegal(from - distance))
      return from - distance;
    if (from + distance <= most && isLegal(from + distance))
      return from + distance;
  }
  return 0;
}

/// Beyond this many GPUs there is not a layer and a head and a sequence for each.
int64_t mostGpus(const Problem &problem) {
  double most = problem.shape.heads * problem.shape.layers * static_cast<double>(problem.globalBatch);
  return static_cast<int64_t>(std::min(most, 0x1p20));
}

} // namespace

std::vector<Remedy> remediesOf(const Problem &problem) {
  std::vector<Remedy> remedies;
  for (const PinField *pin : pinned(problem.pins)) {
    Problem changed = problem;
    pin->release(changed.pins);
    addRemedy(changed, std::string("without --") + pin->name, remedies);
  }
  for (int64_t factor : {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}) {
    Problem changed = problem;
    changed.gpus = problem.gpus * factor;
    std::size_t before = remedies.size();
    addRemedy(changed, "--gpus=" + std::to_string(changed.gpus), remedies);
    if (remedies.size() > before)
      break;
  }
  return remedies;
}

bool hasCandidate(const Problem &problem) {
  const Pins &pins = problem.pins;
  int64_t layers = static_cast<int64_t>(problem.shape.layers);
  for (int64_t tp : divisorsOf(static_cast<int64_t>(problem.shape.heads)))
    for (int64_t pp = 1; pp <= layers && problem.gpus % tp == 0; ++pp) {
      int64_t dp = problem.gpus / tp / pp;
      bool isAsked = (!pins.tp || *pins.tp == tp) && (!pins.pp || *pins.pp == pp) && (!pins.dp || *pins.dp == dp);
      if (isAsked && tp * pp * dp == problem.gpus && problem.globalBatch % dp == 0 &&
          hasCandidate(problem, gridOf(problem, tp, pp, dp)))
        return true;
    }
  return false;
}

std::vector<std::string> nearestLegal(const Problem &problem) {
  std::vector<std::string> values;
  auto add = [&](const std::string &name, int64_t value) {
    if (value > 0)
      values.push_back("--" + name + "=" + std::to_string(value));
  };
  Problem changed = problem;
  add("gpus", nearest(problem.gpus, mostGpus(problem), [&](int64_t gpus) {
        changed.gpus = gpus;
        return hasCandidate(changed);
      }));
  changed = problem;
  add("global-batch", nearest(problem.globalBatch, 1 << 30, [&](int64_t batch) {
        changed.globalBatch = batch;
        return hasCandidate(changed);
      }));
  for (auto pin : {&Pins::tp, &Pins::pp, &Pins::vpp, &Pins::dp, &Pins::microBatchSamples, &Pins::microBatches}) {
    if (!(problem.pins.*pin))
      continue;
    changed = problem;
    const char *name = pin == &Pins::tp                  ? "tp"
                       : pin == &Pins::pp                ? "pp"
                       : pin == &Pins::vpp               ? "vpp"
                       : pin == &Pins::dp                ? "dp"
                       : pin == &Pins::microBatchSamples ? "micro-batch-samples"
                                                         : "micro-batches";
    add(name, nearest(*(problem.pins.*pin), 1 << 20, [&](int64_t value) {
          changed.pins.*pin = value;
          return hasCandidate(changed);
        }));
  }
  return values;
}

} // namespace tgpt::search
