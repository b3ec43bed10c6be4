//===- Planner.cpp - the best plan for a model and a cluster ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/planner/Planner.h"
#include "compiler/planner/ExactPlans.h"
#include "compiler/planner/Problems.h"
#include "cost/cluster/ClusterFile.h"
#include <algorithm>
#include <cmath>

namespace tgpt {
namespace {

using search::Scored;

/// GPUs of the cluster, or as many as are asked for.
int64_t gpusOf(const PlannerRequest &request, const cost::Cluster &cluster) {
  using search::mostGpus;
  double most = cluster.topology.mostRanks();
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
      report.rows.push_back(rowOf(report.request, report.problem, scored));
  }
}

/// The next number of three digits: "0.0123", "81.3".
std::string roundedUp(double number) {
  double unit = std::pow(10.0, std::floor(std::log10(number)) - 2);
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", std::ceil(number / unit) * unit);
  return text;
}

/// Makes plans for one request, with a compiler and perhaps a simulator.
class Planner {
public:
  Planner(PlannerReport &report, PlanCompiler &compiler, const SimulatePlan &simulate, const PlannerProgress &progress)
      : report(report), request(report.request), compiler(compiler), simulate(simulate), progress(progress) {}

  void run() {
    ExactPlans exact(request, report.cluster, report.problem, compiler, simulate, progress);
    if (request.exact > 0) {
      exact.compileBest(report.found, request.exact);
      exact.refine();
      report.rows = std::move(exact.rows);
      report.refused = std::move(exact.refused);
    }
    if (report.rows.empty() && (request.exact > 0 || report.found.ranked.empty()))
      return advise();
    addOthers(report);
    if (static_cast<int64_t>(report.rows.size()) > request.top) // more were compiled than are asked for
      report.rows.erase(report.rows.begin() + request.top, report.rows.end());
    if (request.compare)
      addCompared();
  }

private:
  /// The best plan of a problem, compiled where plans are.
  std::optional<Scored> bestOf(const search::Problem &problem) {
    if (request.exact == 0)
      return search::bestByClosedForms(problem);
    ExactPlans exact(request, report.cluster, problem, compiler, simulate, progress);
    exact.compileBest(search::search(problem), 1);
    if (exact.rows.empty())
      return std::nullopt;
    const PlannedRow &row = exact.rows.front();
    return Scored{row.scored.candidate, row.seconds(), static_cast<double>(row.compiled->arenaBytes)};
  }

  /// What would make a plan fit; each change is tried as it will be when it is followed.
  void advise() {
    report.closest = closestOf();
    report.remedies = remediesOf(report.problem, [this](const search::Problem &changed) { return bestOf(changed); });
    if (std::optional<Scored> smallest = smallestOf(report.problem))
      addMoreMemory(*smallest);
  }

  /// The plan that lacks least; by closed forms all may fit, while the compiler refuses them.
  Scored closestOf() {
    Scored closest = report.found.closest ? *report.found.closest : *smallestOf(report.problem);
    if (!report.found.ranked.empty()) // which were refused
      closest = *smallestOf(report.problem);
    closest.seconds = evaluate(report.problem, closest.candidate).seconds;
    if (request.exact == 0)
      return closest;
    ExactPlans exact(request, report.cluster, report.problem, compiler, simulate, progress);
    if (std::optional<int64_t> bytes = exact.bytesWithoutLimit(closest.candidate))
      closest.bytes = static_cast<double>(*bytes);
    return closest;
  }

  /// How large an arena would do: as much as the smallest plan needs, by closed forms, which filter, and when it is
  /// compiled; a little more where the cut, which is chosen by estimates, asks for it.
  void addMoreMemory(Scored smallest) {
    PlannerRequest larger = request;
    ExactPlans exact(larger, report.cluster, report.problem, compiler, simulate, progress);
    double bytes = smallest.bytes;
    if (request.exact > 0)
      bytes = std::max(bytes, static_cast<double>(exact.bytesWithoutLimit(smallest.candidate).value_or(0)));
    for (double factor : {1.0, 1.02, 1.05, 1.1, 1.2}) {
      std::string flag = roundedUp(bytes * factor / 0x1p30);
      larger.memoryGib = std::stod(flag);
      if (request.exact > 0 && !exact.fits(smallest.candidate))
        continue;
      smallest.seconds = evaluate(report.problem, smallest.candidate).seconds;
      smallest.bytes = bytes;
      report.remedies.push_back({"--memory-gib=" + flag, smallest});
      return;
    }
  }

  /// The best plan with the choices of --compare; where none fits, the closest.
  void addCompared() {
    search::Problem problem = report.problem;
    problem.pins = *request.compare;
    if (!hasCandidate(problem))
      refuseProblem(problem);
    search::SearchResult found = search::search(problem);
    Scored scored = found.ranked.empty() ? *found.closest : found.ranked.front();
    scored.seconds = evaluate(problem, scored.candidate).seconds;
    report.compared = rowOf(request, problem, scored);
    report.comparedLimit = problem.arenaLimit(scored.candidate);
    if (request.exact == 0)
      return;
    ExactPlans exact(request, report.cluster, problem, compiler, simulate, progress);
    exact.compileBest(found, 1);
    exact.refine();
    if (!exact.rows.empty())
      report.compared = std::move(exact.rows.front());
    report.refused.insert(report.refused.end(), exact.refused.begin(), exact.refused.end());
  }

  PlannerReport &report;
  const PlannerRequest &request;
  PlanCompiler &compiler;
  const SimulatePlan &simulate;
  const PlannerProgress &progress;
};

} // namespace

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
  Planner(report, compiler, simulate, progress).run();
  return report;
}

} // namespace tgpt
