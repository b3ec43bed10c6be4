//===- Planner.h - the best plan for a model and a cluster ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search ranks every candidate by closed forms; the best few are compiled, and timed by
// whoever can simulate a plan. What the compiler refuses is no row of the table, but listed.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_PLANNER_PLANNER_H
#define TGPT_COMPILER_PLANNER_PLANNER_H

#include "compiler/planner/PlanCompiler.h"
#include "compiler/search/Advice.h"
#include "compiler/search/Explanation.h"
#include "cost/cluster/Cluster.h"
#include <functional>

namespace tgpt {

struct PlannerRequest {
  std::string modelPath, clusterPath;
  std::string dtype = "bf16";  ///< bf16, f16 or f32
  std::optional<int64_t> gpus; ///< else as many as the cluster has
  int64_t globalBatch = 0;
  std::optional<double> memoryGib; ///< that an arena may take, else what the device has
  search::Pins pins;
  std::optional<search::Pins> compare; ///< choices to put beside the winner
  int64_t top = 8;                     ///< rows of the table
  int64_t exact = 3;                   ///< plans to compile
};

/// What is wrong with a request: what, the number, the nearest legal one.
struct PlannerError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A step as a simulator of plans tells it.
struct SimulatedTimes {
  double seconds = 0, utilization = 0, bubble = 0; ///< bubble: idle over busy time
  double exposedSeconds = 0;                       ///< communication that the mean rank waits for
};
using SimulatePlan = std::function<SimulatedTimes(const plan::Plan &)>;

/// A plan that was compiled.
struct CompiledPlan {
  plan::Plan plan;
  int64_t arenaBytes = 0; ///< of the fullest rank
  double compileSeconds = 0, simulationSeconds = 0;
  std::optional<SimulatedTimes> simulated;
};

/// A plan that was compiled to see whether it is faster than another.
struct TriedPlan {
  search::Candidate candidate;
  int64_t bytes = 0;   ///< of the fullest rank's arena
  double seconds = 0;  ///< of its simulated step
  std::string refusal; ///< why there is none
};

struct PlannedRow {
  search::Scored scored;
  double utilization = 0;
  cost::StepBreakdown breakdown;
  std::string command; ///< of tgpt-opt
  std::optional<CompiledPlan> compiled;
  std::vector<TriedPlan> tried; ///< it and its refinements, of which it is the fastest; empty: it has none

  /// As exactly as it is known.
  double seconds() const { return compiled && compiled->simulated ? compiled->simulated->seconds : scored.seconds; }
};

/// A plan that the closed forms let pass and the compiler did not.
struct RefusedRow {
  search::Scored scored;
  std::string reason;
};

struct PlannerReport {
  PlannerRequest request;
  ModelFacts model;
  cost::Cluster cluster;
  search::Problem problem;
  search::SearchResult found;
  std::vector<PlannedRow> rows; ///< the winner first; compiled ones before the others. Empty: nothing fits
  std::vector<RefusedRow> refused;
  std::optional<PlannedRow> compared; ///< what --compare asked for; may not fit
  std::optional<double> comparedLimit;
  // Where nothing fits:
  std::optional<search::Scored> closest; ///< in bytes of its plan, where plans are compiled
  std::vector<search::Remedy> remedies;  ///< each was tried, by a compiled plan where plans are
};

/// `simulate` may be empty. `progress` hears what is being done, and how much of it is. Throws PlannerError, and what
/// reading the files throws.
PlannerReport makePlans(const PlannerRequest &request, const SimulatePlan &simulate,
                        const std::function<void(const std::string &, double)> &progress);

/// The options under which tgpt-opt compiles a candidate for a cluster.
CompileOptions optionsOf(const PlannerRequest &request, const cost::Cluster &cluster,
                         const search::Candidate &candidate);

} // namespace tgpt

#endif // TGPT_COMPILER_PLANNER_PLANNER_H
