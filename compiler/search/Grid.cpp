//===- Grid.cpp - the candidates of one grid of ranks ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/search/Grid.h"
#include <algorithm>

namespace tgpt::search {

const std::array<const char *, refusalCount> refusalTexts = {"tp does not divide the heads",
                                                             "tp and the KV heads do not divide each other",
                                                             "tp does not divide the MLP's width",
                                                             "under sp tp does not divide the sequence",
                                                             "more stages than layers",
                                                             "dp does not divide the batch",
                                                             "schedules of more than 4194304 entries",
                                                             "too much memory"};
const std::array<const char *, refusalCount> refusalNames = {"heads",  "kv-heads", "ffn",     "sequence",
                                                             "layers", "batch",    "entries", "memory"};

static bool divides(int64_t divisor, double number) {
  return static_cast<int64_t>(number) % divisor == 0;
}

std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> below, above;
  for (int64_t divisor = 1; divisor * divisor <= number; ++divisor)
    if (number % divisor == 0) {
      below.push_back(divisor);
      if (divisor * divisor != number)
        above.push_back(number / divisor);
    }
  below.insert(below.end(), above.rbegin(), above.rend());
  return below;
}

static std::optional<Refusal> refusalOfTp(const cost::ModelShape &shape, int64_t tp) {
  if (!divides(tp, shape.heads))
    return Refusal::Heads;
  int64_t kvHeads = static_cast<int64_t>(shape.kvHeads);
  if (kvHeads % tp != 0 && tp % kvHeads != 0)
    return Refusal::KvHeads;
  if (!divides(tp, shape.ffnHidden))
    return Refusal::Ffn;
  return std::nullopt;
}

std::optional<Refusal> refusalOf(const Problem &problem, int64_t tp, int64_t pp, int64_t dp) {
  if (std::optional<Refusal> refusal = refusalOfTp(problem.shape, tp))
    return refusal;
  if (static_cast<double>(pp) > problem.shape.layers)
    return Refusal::Layers;
  if (problem.globalBatch % dp != 0)
    return Refusal::Batch;
  return std::nullopt;
}

std::optional<Refusal> refusalOf(const Problem &problem, const Candidate &candidate) {
  constexpr int64_t mostMicroBatches = 65536, mostEntries = 1 << 22; // of dist-schedule
  if (candidate.sp && !divides(candidate.tp, problem.shape.sequence))
    return Refusal::Sequence;
  int64_t stages = candidate.pp * candidate.vpp;
  if (candidate.microBatches > mostMicroBatches || 3 * stages * candidate.microBatches > mostEntries)
    return Refusal::Entries;
  return std::nullopt;
}

template <typename T> static void keepPinned(std::vector<T> &choices, const std::optional<T> &pin) {
  if (pin)
    std::erase_if(choices, [&](const T &choice) { return !(choice == *pin); });
}

static std::vector<PipelineChoice> pipelinesOf(const Problem &problem, int64_t pp) {
  std::vector<PipelineChoice> choices = {{PipelineOrder::OneF1B, 1}};
  if (pp > 1) {
    choices.push_back({PipelineOrder::ZeroBubble, 1});
    choices.push_back({PipelineOrder::GPipe, 1});
    int64_t layers = static_cast<int64_t>(problem.shape.layers);
    for (int64_t vpp = 2; vpp * pp <= layers; ++vpp)
      if ((layers + 2) % (vpp * pp) <= 2)
        choices.push_back({PipelineOrder::OneF1B, vpp});
  }
  const Pins &pins = problem.pins;
  std::erase_if(choices, [&](const PipelineChoice &choice) {
    return (pins.schedule && choice.schedule != *pins.schedule && pp > 1) || (pins.vpp && choice.vpp != *pins.vpp);
  });
  return choices;
}

/// dp ranks that share out within a node, under any of the orders: groups of more than one and less than all.
static std::vector<int64_t> groupsOf(const Problem &problem, const Grid &grid) {
  std::vector<int64_t> groups = {0};
  for (const RankOrder &order : grid.orders) {
    Candidate candidate;
    candidate.tp = grid.tp;
    candidate.pp = grid.pp;
    candidate.dp = grid.dp;
    candidate.order = order;
    double onNode = problem.machine.topology.ranksPerNode / problem.executionOf(candidate).strideOf(dataAxis);
    int64_t group = static_cast<int64_t>(onNode);
    bool isGroup = static_cast<double>(group) == onNode && group > 1 && group < grid.dp && grid.dp % group == 0;
    if (isGroup && std::find(groups.begin(), groups.end(), group) == groups.end())
      groups.push_back(group);
  }
  if (const std::optional<int64_t> &pin = problem.pins.zeroGroup)
    groups =
        *pin == 0 || (*pin > 1 && *pin <= grid.dp && grid.dp % *pin == 0) ? std::vector{*pin} : std::vector<int64_t>();
  return groups;
}

static std::vector<DataChoice> dataOf(const Problem &problem, const Grid &grid) {
  const Pins &pins = problem.pins;
  std::vector<DataChoice> choices = {{0, 0, true}};
  if (grid.dp > 1)
    for (int64_t group : groupsOf(problem, grid))
      for (int zero : {1, 2, 3})
        choices.push_back({zero, group, true});
  std::vector<DataChoice> all;
  for (DataChoice choice : choices) {
    if (grid.dp > 1 && pins.zero && choice.zero != *pins.zero)
      continue;
    if (choice.zero > 0 && pins.zeroGroup && choice.group != *pins.zeroGroup)
      continue;
    if (pins.overlap || choice.zero == 3)
      for (bool overlap : {true, false})
        if (!pins.overlap || overlap == *pins.overlap)
          all.push_back({choice.zero, choice.group, overlap});
    if (!pins.overlap && choice.zero != 3)
      all.push_back(choice);
  }
  return all;
}

/// Numberings that differ on this grid: an axis of one rank may be anywhere.
static std::vector<RankOrder> ordersOf(const Problem &problem, int64_t tp, int64_t pp, int64_t dp) {
  std::vector<RankOrder> orders;
  std::vector<std::array<double, 3>> seen;
  for (const NamedRankOrder &named : rankOrders) {
    if (problem.pins.order && !(named.order == *problem.pins.order))
      continue;
    Candidate candidate;
    candidate.tp = tp;
    candidate.pp = pp;
    candidate.dp = dp;
    candidate.order = named.order;
    cost::Execution run = problem.executionOf(candidate);
    std::array<double, 3> strides = {tp > 1 ? run.strideOf(tensorAxis) : 0, dp > 1 ? run.strideOf(dataAxis) : 0,
                                     pp > 1 ? run.stageDistance() : 0};
    if (std::find(seen.begin(), seen.end(), strides) == seen.end()) {
      seen.push_back(strides);
      orders.push_back(named.order);
    }
  }
  return orders;
}

static std::vector<int64_t> samplesOf(const Problem &problem, int64_t dp) {
  const Pins &pins = problem.pins;
  if (problem.globalBatch % dp != 0)
    return {1};
  int64_t ofRank = problem.globalBatch / dp;
  std::vector<int64_t> samples = divisorsOf(ofRank);
  std::erase_if(samples, [&](int64_t size) { return pins.microBatches && ofRank / size != *pins.microBatches; });
  keepPinned(samples, pins.microBatchSamples);
  return samples;
}

Grid gridOf(const Problem &problem, int64_t tp, int64_t pp, int64_t dp) {
  Grid grid{tp, pp, dp, {false}, {}, {}, {}, {}, {}};
  if (tp > 1)
    grid.sp = {true, false};
  keepPinned(grid.sp, tp > 1 ? problem.pins.sp : std::optional<bool>());
  grid.recompute.assign(recomputeModes.begin(), recomputeModes.end());
  keepPinned(grid.recompute, problem.pins.recompute);
  grid.orders = ordersOf(problem, tp, pp, dp);
  grid.pipelines = pipelinesOf(problem, pp);
  grid.data = dataOf(problem, grid);
  grid.samples = samplesOf(problem, dp);
  return grid;
}

std::vector<Grid> gridsOf(const Problem &problem) {
  const Pins &pins = problem.pins;
  std::vector<Grid> grids;
  for (int64_t tp : divisorsOf(problem.gpus))
    for (int64_t pp : divisorsOf(problem.gpus / tp)) {
      int64_t dp = problem.gpus / tp / pp;
      if ((pins.tp && *pins.tp != tp) || (pins.pp && *pins.pp != pp) || (pins.dp && *pins.dp != dp))
        continue;
      Grid grid = gridOf(problem, tp, pp, dp);
      if (grid.count() > 0)
        grids.push_back(std::move(grid));
    }
  return grids;
}

} // namespace tgpt::search
