//===- Planner.cpp - the best plan for a model and a cluster ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/planner/Planner.h"
#include "compiler/driver/ClusterOptions.h"
#include "compiler/planner/Problems.h"
#include "cost/cluster/ClusterFile.h"
#include <algorithm>
#include <chrono>
#include <cmath>

namespace tgpt {
namespace {

using search::Candidate;
using search::Scored;
using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// GPUs of the cluster, or as many as are asked for.
int64_t gpusOf(const PlannerRequest &request, const cost::Cluster &cluster) {
  double most = cluster.topology.mostRanks();
  constexpr int64_t mostGpus = 1 << 20;
  if (!request.gpus && most <= 0)
    throw PlannerError("--gpus is missing: '" + request.clusterPath + "' sets no number of them");
  int64_t gpus = request.gpus ? *request.gpus : static_cast<int64_t>(most);
  if (gpus < 1 || gpus > mostGpus)
    throw PlannerError("--gpus is " + std::to_string(gpus) + ", expected 1 to " + std::to_string(mostGpus));
  if (most > 0 && static_cast<double>(gpus) > most)
    throw PlannerError("--gpus is " + std::to_string(gpus) + ", but '" + request.clusterPath + "' has links for " +
                       std::to_string(static_cast<int64_t>(most)) +
                       "; the nearest legal value is --gpus=" + std::to_string(static_cast<int64_t>(most)));
  return gpus;
}

search::Problem problemOf(const PlannerReport &report) {
  const PlannerRequest &request = report.request;
  constexpr int64_t mostSamples = 1 << 30;
  if (request.globalBatch < 1 || request.globalBatch > mostSamples)
    throw PlannerError("--global-batch is " + std::to_string(request.globalBatch) + ", expected 1 to " +
                       std::to_string(mostSamples));
  if (request.dtype != "bf16" && request.dtype != "f16" && request.dtype != "f32")
    throw PlannerError("--dtype is '" + request.dtype + "', expected bf16, f16 or f32");
  search::Problem problem = tgpt::problemOf(report.model.shape, report.cluster, request.dtype);
  if (request.memoryGib) {
    if (!(*request.memoryGib > 0 && *request.memoryGib <= 1 << 30))
      throw PlannerError("--memory-gib is " + std::to_string(*request.memoryGib) +
                         ", expected a number above 0, of at most 1073741824");
    problem.memoryBytes = *request.memoryGib * 0x1p30;
    problem.communicatorBytes = nullptr; // as of tgpt-opt: what an arena may take
  }
  problem.gpus = gpusOf(request, report.cluster);
  problem.globalBatch = request.globalBatch;
  problem.pins = request.pins;
  return problem;
}

/// Why nothing is legal, and what would be.
[[noreturn]] void refuseProblem(const search::Problem &problem) {
  std::string text = "no plan of " + std::to_string(problem.gpus) + " GPUs takes a step of " +
                     std::to_string(problem.globalBatch) + " sequences";
  if (!pinned(problem.pins).empty())
    text += " with what is pinned";
  std::string reasons;
  search::SearchResult found = search::search(problem);
  for (std::size_t i = 0; i < search::refusalCount; ++i)
    if (found.refused[i] > 0)
      reasons += (reasons.empty() ? ": " : "; ") + std::string(search::refusalTexts[i]);
  std::string nearest;
  for (const std::string &value : nearestLegal(problem))
    nearest += (nearest.empty() ? "" : " or ") + value;
  throw PlannerError(text + reasons +
                     (nearest.empty() ? "; no single change near it would do" : "; nearest legal: " + nearest));
}

/// The flags that change a plan, as tgpt-opt notes them in it.
std::string headerOf(const PlannerReport &report, const Candidate &candidate) {
  std::string flags = flagsOf(candidate, report.request.dtype) + " --cluster=" + report.request.clusterPath;
  if (!report.request.memoryGib)
    return flags;
  char text[48];
  std::snprintf(text, sizeof text, " --memory-gib=%.10g", *report.request.memoryGib);
  return flags + text;
}

std::string commandOf(const PlannerReport &report, const Candidate &candidate) {
  std::string model = report.request.modelPath, before;
  if (std::size_t dot = model.rfind(".y"); dot != std::string::npos) {
    std::string written = model.substr(model.rfind('/') + 1);
    written = written.substr(0, written.rfind('.')) + ".mlir";
    before = "tgpt-import " + model + " -o " + written + " && ";
    model = written;
  }
  return before + "tgpt-opt " + headerOf(report, candidate) + " --memory-report=none " + model + " -o compiled.bin";
}

PlannedRow rowOf(const PlannerReport &report, const Scored &scored) {
  PlannedRow row;
  row.scored = scored;
  row.utilization = utilizationOf(report.problem, scored);
  row.breakdown = breakdownOf(report.problem, scored.candidate);
  row.command = commandOf(report, scored.candidate);
  return row;
}

int64_t arenaOf(const plan::Plan &plan) {
  int64_t most = 0;
  for (const plan::StageProgram &stage : plan.stages())
    most = std::max<int64_t>(most, stage.arena_bytes());
  return most;
}

class ExactPlans {
public:
  ExactPlans(PlannerReport &report, PlanCompiler &compiler, const SimulatePlan &simulate,
             const std::function<void(const std::string &, double)> &progress)
      : report(report), compiler(compiler), simulate(simulate), progress(progress) {}

  /// Compiles plans in the order of the search, one a grid, until so many are compiled or too many are refused.
  void run() {
    int64_t attempts = 0, most = 4 * report.request.exact;
    for (const Scored &scored : report.found.ranked) {
      int64_t done = static_cast<int64_t>(report.rows.size());
      if (attempts >= most || (done >= report.request.exact && isSettled(scored)))
        break;
      if (hasGrid(scored.candidate))
        continue;
      ++attempts;
      if (progress)
        progress("compiling " + shortText(scored.candidate),
                 static_cast<double>(done) / static_cast<double>(report.request.exact));
      compile(scored);
    }
    std::stable_sort(report.rows.begin(), report.rows.end(),
                     [](const PlannedRow &a, const PlannedRow &b) { return a.seconds() < b.seconds(); });
  }

  std::optional<CompiledPlan> compile(const Candidate &candidate, std::string &reason) {
    Clock::time_point begin = Clock::now();
    std::optional<plan::Plan> plan =
        compiler.compile(optionsOf(report, candidate), headerOf(report, candidate), reason);
    if (!plan)
      return std::nullopt;
    CompiledPlan compiled;
    compiled.compileSeconds = secondsSince(begin);
    compiled.plan = std::move(*plan);
    compiled.arenaBytes = arenaOf(compiled.plan);
    begin = Clock::now();
    if (simulate)
      compiled.simulated = simulate(compiled.plan);
    compiled.simulationSeconds = secondsSince(begin);
    return compiled;
  }

private:
  /// Whether a plan of the next rank is no faster than one that is simulated, as far as the closed form is to be
  /// trusted.
  bool isSettled(const Scored &next) const {
    constexpr double trust = 1.15;
    return std::any_of(report.rows.begin(), report.rows.end(),
                       [&](const PlannedRow &row) { return row.seconds() <= trust * next.seconds; });
  }

  bool hasGrid(const Candidate &candidate) const {
    return std::any_of(report.rows.begin(), report.rows.end(), [&](const PlannedRow &row) {
      return row.scored.candidate.tp == candidate.tp && row.scored.candidate.pp == candidate.pp;
    });
  }

  void compile(const Scored &scored) {
    std::string reason;
    std::optional<CompiledPlan> compiled = compile(scored.candidate, reason);
    if (!compiled) {
      report.refused.push_back({scored, reason});
      return;
    }
    PlannedRow row = rowOf(report, scored);
    row.compiled = std::move(compiled);
    report.rows.push_back(std::move(row));
  }

  PlannerReport &report;
  PlanCompiler &compiler;
  const SimulatePlan &simulate;
  const std::function<void(const std::string &, double)> &progress;
};

/// Grids that were not compiled, by closed forms, until the table is full.
void addOthers(PlannerReport &report) {
  for (const Scored &scored : report.found.bestOfGrids()) {
    if (static_cast<int64_t>(report.rows.size()) >= report.request.top)
      return;
    auto isSameGrid = [&](const auto &row) {
      return row.scored.candidate.tp == scored.candidate.tp && row.scored.candidate.pp == scored.candidate.pp;
    };
    auto isRefused = [&](const RefusedRow &row) { return row.scored.candidate == scored.candidate; };
    if (std::none_of(report.rows.begin(), report.rows.end(), isSameGrid) &&
        std::none_of(report.refused.begin(), report.refused.end(), isRefused))
      report.rows.push_back(rowOf(report, scored));
  }
}

/// The best plan with the choices of --compare; where none fits, the closest.
void addCompared(PlannerReport &report, ExactPlans &exact) {
  search::Problem problem = report.problem;
  problem.pins = *report.request.compare;
  if (!hasCandidate(problem))
    refuseProblem(problem);
  search::SearchResult found = search::search(problem);
  Scored scored = found.ranked.empty() ? *found.closest : found.ranked.front();
  scored.seconds = evaluate(problem, scored.candidate).seconds;
  report.compared = rowOf(report, scored);
  report.comparedLimit = report.problem.arenaLimit(scored.candidate);
  constexpr std::size_t most = 6;
  for (std::size_t i = 0; i < std::min(most, found.ranked.size()) && report.request.exact > 0; ++i) {
    std::string reason;
    std::optional<CompiledPlan> compiled = exact.compile(found.ranked[i].candidate, reason);
    if (!compiled) {
      report.refused.push_back({found.ranked[i], reason});
      continue;
    }
    report.compared = rowOf(report, found.ranked[i]);
    report.compared->compiled = std::move(compiled);
    return;
  }
}

} // namespace

CompileOptions optionsOf(const PlannerReport &report, const Candidate &candidate) {
  CompileOptions base;
  base.dtype = report.request.dtype;
  CompileOptions options = compileOptionsOf(candidate, base);
  applyCluster(options, report.cluster);
  if (report.request.memoryGib)
    options.memoryLimitBytes = std::llround(*report.request.memoryGib * 0x1p30);
  return options;
}

PlannerReport makePlans(const PlannerRequest &request, const SimulatePlan &simulate,
                        const std::function<void(const std::string &, double)> &progress) {
  PlannerReport report;
  report.request = request;
  report.cluster = cost::readClusterFile(request.clusterPath);
  PlanCompiler compiler(request.modelPath);
  report.model = compiler.facts();
  report.problem = problemOf(report);
  if (!hasCandidate(report.problem))
    refuseProblem(report.problem);
  auto searching = [&](double share) { progress("searching", share); };
  report.found = search::search(report.problem, progress ? searching : std::function<void(double)>());
  if (report.found.ranked.empty()) {
    report.remedies = remediesOf(report.problem);
    return report;
  }
  ExactPlans exact(report, compiler, simulate, progress);
  exact.run();
  addOthers(report);
  if (request.compare)
    addCompared(report, exact);
  return report;
}

} // namespace tgpt
