//===- Search.cpp - the best plans of all that there are ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/search/Search.h"
#include <algorithm>
#include <chrono>

namespace tgpt::search {
namespace {

bool crossesNodes(const Problem &problem, const Candidate &candidate) {
  cost::Execution run = problem.executionOf(candidate);
  double onNode = problem.machine.topology.ranksPerNode;
  return run.tp > 1 && onNode > 0 && run.tp * run.strideOf(tensorAxis) > onNode;
}

/// The plans of one grid that no other beats in both time and memory.
class Front {
public:
  void offer(const Scored &scored) {
    for (const Scored &other : plans)
      if (!scored.isBetterThan(other) && other.bytes <= scored.bytes)
        return;
    std::erase_if(plans,
                  [&](const Scored &other) { return scored.isBetterThan(other) && scored.bytes <= other.bytes; });
    plans.push_back(scored);
  }

  std::vector<Scored> plans;
};

/// Where the compiler cuts: it balances times, and head and loss take their part of the last stage's.
void setCut(const Problem &problem, cost::Execution &run, const cost::PartSeconds &parts) {
  double layer = cost::layerSeconds(parts.layer, run, problem.machine.software).total();
  run.lastChunkLayers = cost::lastChunkLayers(problem.shape, run, parts.head.total() / layer);
}

/// The candidates of one grid, those with most in common next to each other.
class GridSearch {
public:
  GridSearch(const Problem &problem, const Grid &grid, SearchResult &result)
      : problem(problem), grid(grid), result(result) {
    candidate.tp = grid.tp;
    candidate.pp = grid.pp;
    candidate.dp = grid.dp;
    candidate.bucketMib = problem.pins.bucketMib.value_or(candidate.bucketMib);
    candidate.prefetch = problem.pins.prefetch.value_or(candidate.prefetch);
  }

  void run() {
    for (bool sp : grid.sp) {
      candidate.sp = sp;
      limits.clear();
      for (const DataChoice &data : grid.data) {
        choose(data);
        limits.push_back(problem.arenaLimit(candidate));
      }
      for (int64_t samples : grid.samples) {
        candidate.microBatchSamples = samples;
        candidate.microBatches = problem.globalBatch / grid.dp / samples;
        parts.clear();
        for (const PipelineChoice &pipeline : grid.pipelines)
          visit(pipeline);
      }
    }
    result.ranked.insert(result.ranked.end(), front.plans.begin(), front.plans.end());
  }

private:
  void visit(const PipelineChoice &pipeline) {
    candidate.schedule = pipeline.schedule;
    candidate.vpp = pipeline.vpp;
    if (std::optional<Refusal> refusal = refusalOf(problem, candidate)) {
      result.refused[static_cast<std::size_t>(*refusal)] +=
          static_cast<int64_t>(grid.recompute.size() * grid.data.size() * grid.orders.size());
      return;
    }
    held = heldBy(candidate, static_cast<int64_t>(problem.shape.layers));
    for (cost::Recompute mode : grid.recompute) {
      candidate.recompute = mode;
      for (std::size_t i = 0; i < grid.data.size(); ++i) {
        choose(grid.data[i]);
        visitOrders(limits[i]);
      }
    }
  }

  void choose(const DataChoice &data) {
    candidate.zero = data.zero;
    candidate.zeroGroup = data.group;
    candidate.overlap = data.overlap;
  }

  /// Memory does not depend on where the ranks are.
  void visitOrders(double limit) {
    candidate.order = grid.orders.front();
    cost::Execution inMemory = problem.executionOf(candidate);
    inMemory.held = held;
    setCut(problem, inMemory, partsOf(problem.machineOf(candidate), inMemory));
    double bytes = cost::fullestRank(problem.shape, inMemory, problem.states).totalBytes();
    if (bytes > limit) {
      result.refused[static_cast<std::size_t>(Refusal::Memory)] += static_cast<int64_t>(grid.orders.size());
      if (!result.closest || bytes - limit < result.missingBytes) {
        result.closest = {candidate, 0, bytes};
        result.missingBytes = bytes - limit;
      }
      return;
    }
    for (const RankOrder &order : grid.orders) {
      candidate.order = order;
      cost::Execution run = problem.executionOf(candidate);
      const cost::Machine &machine = problem.machineOf(candidate);
      double seconds = cost::stepSeconds(machine, problem.shape, run, partsOf(machine, run)).total;
      ++result.evaluated;
      offer({candidate, seconds, bytes});
    }
  }

  /// The parts of a layer, once for all candidates that have them in common.
  const cost::PartSeconds &partsOf(const cost::Machine &machine, const cost::Execution &run) {
    for (const KnownParts &known : parts)
      if (known.overlap == candidate.overlap && known.stride == run.strideOf(tensorAxis))
        return known.seconds;
    parts.push_back({candidate.overlap, run.strideOf(tensorAxis), cost::partSeconds(machine, problem.shape, run)});
    return parts.back().seconds;
  }

  void offer(const Scored &scored) {
    front.offer(scored);
    for (std::size_t i = 0; i < alternatives.size(); ++i)
      if (!result.best[i] || scored.isBetterThan(*result.best[i]))
        if (alternatives[i].holds(problem, candidate))
          result.best[i] = scored;
  }

  struct KnownParts {
    bool overlap;
    double stride;
    cost::PartSeconds seconds;
  };

  const Problem &problem;
  const Grid &grid;
  SearchResult &result;
  Candidate candidate;
  cost::HeldMicroBatches held;
  std::vector<KnownParts> parts;
  std::vector<double> limits; ///< of the arena, by choice of ZeRO
  Front front;
};

} // namespace

const std::array<Alternative, 6> alternatives = {{
    {"tp inside a node", [](const Problem &problem, const Candidate &c) { return !crossesNodes(problem, c); }},
    {"tp of more than a node",
     [](const Problem &problem, const Candidate &c) {
       double onNode = problem.machine.topology.ranksPerNode;
       return onNode > 0 && static_cast<double>(c.tp) > onNode;
     }},
    {"without tensor parallelism", [](const Problem &, const Candidate &c) { return c.tp == 1; }},
    {"without pipeline stages", [](const Problem &, const Candidate &c) { return c.pp == 1; }},
    {"ZeRO-3 alone", [](const Problem &, const Candidate &c) { return c.zero == 3 && c.tp == 1 && c.pp == 1; }},
    {"without recomputation", [](const Problem &, const Candidate &c) { return c.recompute == cost::Recompute::None; }},
}};

cost::Execution cutExecutionOf(const Problem &problem, const Candidate &candidate) {
  cost::Execution run = problem.executionOf(candidate);
  run.held = heldBy(candidate, static_cast<int64_t>(problem.shape.layers));
  setCut(problem, run, cost::partSeconds(problem.machineOf(candidate), problem.shape, run));
  return run;
}

cost::RankMemory memoryOf(const Problem &problem, const Candidate &candidate) {
  return cost::fullestRank(problem.shape, cutExecutionOf(problem, candidate), problem.states);
}

Scored evaluate(const Problem &problem, const Candidate &candidate) {
  double seconds = cost::stepSeconds(problem.machineOf(candidate), problem.shape, problem.executionOf(candidate)).total;
  return {candidate, seconds, memoryOf(problem, candidate).totalBytes()};
}

cost::StepBreakdown breakdownOf(const Problem &problem, const Candidate &candidate) {
  return cost::breakdownOf(problem.machineOf(candidate), problem.shape, problem.executionOf(candidate));
}

double utilizationOf(const Problem &problem, const Scored &scored) {
  return cost::modelFlopsUtilization(problem.machine, problem.shape, problem.executionOf(scored.candidate),
                                     scored.seconds);
}

SearchResult search(const Problem &problem, const std::function<void(double)> &progress) {
  auto begin = std::chrono::steady_clock::now();
  SearchResult result;
  result.best.resize(alternatives.size());
  std::vector<Grid> grids = gridsOf(problem);
  for (std::size_t i = 0; i < grids.size(); ++i) {
    const Grid &grid = grids[i];
    result.candidates += grid.count();
    if (std::optional<Refusal> refusal = refusalOf(problem, grid.tp, grid.pp, grid.dp))
      result.refused[static_cast<std::size_t>(*refusal)] += grid.count();
    else
      GridSearch(problem, grid, result).run();
    if (progress)
      progress(static_cast<double>(i + 1) / static_cast<double>(grids.size()));
  }
  std::stable_sort(result.ranked.begin(), result.ranked.end(),
                   [](const Scored &a, const Scored &b) { return a.isBetterThan(b); });
  result.searchSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

std::vector<Scored> SearchResult::bestOfGrids() const {
  std::vector<Scored> best;
  for (const Scored &scored : ranked) {
    auto isSameGrid = [&](const Scored &other) {
      return other.candidate.tp == scored.candidate.tp && other.candidate.pp == scored.candidate.pp;
    };
    if (std::none_of(best.begin(), best.end(), isSameGrid))
      best.push_back(scored);
  }
  return best;
}

} // namespace tgpt::search
