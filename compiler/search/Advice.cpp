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

bool addRemedy(const Problem &changed, const std::string &change, const BestPlan &best, std::vector<Remedy> &remedies) {
  std::optional<Scored> plan = best(changed);
  if (plan)
    remedies.push_back({change, *plan});
  return plan.has_value();
}

void addFewerPins(const Problem &problem, const BestPlan &best, std::vector<Remedy> &remedies) {
  std::vector<const PinField *> pins = pinned(problem.pins);
  std::string all;
  for (const PinField *pin : pins) {
    Problem changed = problem;
    pin->release(changed.pins);
    all += (all.empty() ? "--" : " and --") + std::string(pin->name);
    addRemedy(changed, std::string("without --") + pin->name, best, remedies);
  }
  if (pins.size() < 2 || !remedies.empty())
    return;
  Problem changed = problem;
  changed.pins = {};
  addRemedy(changed, "without " + all, best, remedies);
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

/// Beyond this many GPUs there is not a layer and a head and a sequence for each, or no link.
int64_t mostUsefulGpus(const Problem &problem) {
  double most = problem.shape.heads * problem.shape.layers * static_cast<double>(problem.globalBatch);
  double linked = problem.machine.topology.mostRanks();
  return static_cast<int64_t>(std::min({most, static_cast<double>(mostGpus), linked > 0 ? linked : most}));
}

} // namespace

std::optional<Scored> bestByClosedForms(const Problem &problem) {
  SearchResult result = search(problem);
  return result.ranked.empty() ? std::nullopt : std::optional(result.ranked.front());
}

std::vector<Remedy> remediesOf(const Problem &problem, const BestPlan &best) {
  std::vector<Remedy> remedies;
  addFewerPins(problem, best, remedies);
  double linked = problem.machine.topology.mostRanks(); // 0: any number
  for (int64_t factor : {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}) {
    Problem changed = problem;
    changed.gpus = problem.gpus * factor;
    if (changed.gpus > mostGpus || (linked > 0 && static_cast<double>(changed.gpus) > linked))
      break;
    if (addRemedy(changed, "--gpus=" + std::to_string(changed.gpus), best, remedies))
      break;
  }
  return remedies;
}

std::optional<Scored> smallestOf(const Problem &problem) {
  Problem tiny = problem;
  tiny.memoryBytes = 0;
  tiny.communicatorBytes = nullptr;
  return search(tiny).closest;
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
  add("gpus", nearest(problem.gpus, mostUsefulGpus(problem), [&](int64_t gpus) {
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
