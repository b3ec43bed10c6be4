//===- ExactPlans.cpp - the best few plans, compiled and simulated ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/planner/ExactPlans.h"
#include "compiler/driver/ClusterOptions.h"
#include "compiler/search/Refinement.h"
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

namespace tgpt {

using search::Candidate;
using search::Scored;

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The flags that change a plan, as tgpt-opt notes them in it.
std::string headerOf(const PlannerRequest &request, const Candidate &candidate) {
  std::string flags = flagsOf(candidate, request.dtype) + " --cluster=" + request.clusterPath;
  if (!request.memoryGib)
    return flags;
  char number[32];
  return flags +
         " --memory-gib=" + std::string(number, std::to_chars(number, number + sizeof number, *request.memoryGib).ptr);
}

std::string commandOf(const PlannerRequest &request, const Candidate &candidate) {
  std::string model = request.modelPath, before;
  if (std::size_t dot = model.rfind(".y"); dot != std::string::npos) {
    std::string written = model.substr(model.rfind('/') + 1);
    written = written.substr(0, written.rfind('.')) + ".mlir";
    before = "tgpt-import " + model + " -o " + written + " && ";
    model = written;
  }
  return before + "tgpt-opt " + headerOf(request, candidate) + " --memory-report=none " + model + " -o compiled.bin";
}

int64_t arenaOf(const plan::Plan &plan) {
  int64_t most = 0;
  for (const plan::StageProgram &stage : plan.stages())
    most = std::max<int64_t>(most, stage.arena_bytes());
  return most;
}

} // namespace

CompileOptions optionsOf(const PlannerRequest &request, const cost::Cluster &cluster, const Candidate &candidate) {
  CompileOptions base;
  base.dtype = request.dtype;
  CompileOptions options = compileOptionsOf(candidate, base);
  applyCluster(options, cluster);
  if (request.memoryGib)
    options.memoryLimitBytes = std::llround(*request.memoryGib * 0x1p30);
  return options;
}

PlannedRow rowOf(const PlannerRequest &request, const search::Problem &problem, const Scored &scored) {
  PlannedRow row;
  row.scored = scored;
  row.utilization = utilizationOf(problem, scored);
  row.breakdown = breakdownOf(problem, scored.candidate);
  row.command = commandOf(request, scored.candidate);
  return row;
}

void ExactPlans::tell(const std::string &what, std::size_t done) const {
  if (progress)
    progress(what, static_cast<double>(done) / static_cast<double>(std::max<int64_t>(request.exact, 1)));
}

std::optional<CompiledPlan> ExactPlans::compile(const Candidate &candidate, std::string &reason) {
  Clock::time_point begin = Clock::now();
  std::optional<plan::Plan> plan =
      compiler.compile(optionsOf(request, cluster, candidate), headerOf(request, candidate), reason);
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

std::optional<int64_t> ExactPlans::bytesWithoutLimit(const Candidate &candidate) {
  CompileOptions options = optionsOf(request, cluster, candidate);
  options.memoryLimitBytes = 0;
  std::string reason;
  std::optional<plan::Plan> plan = compiler.compile(options, "", reason);
  return plan ? std::optional(arenaOf(*plan)) : std::nullopt;
}

bool ExactPlans::fits(const Candidate &candidate) {
  std::string reason;
  return compiler.compile(optionsOf(request, cluster, candidate), "", reason).has_value();
}

/// Whether a plan of the next rank is no faster than one that is simulated, as far as the closed form is to be trusted.
bool ExactPlans::isSettled(const Scored &next) const {
  constexpr double trust = 1.15;
  return std::any_of(rows.begin(), rows.end(),
                     [&](const PlannedRow &row) { return row.seconds() <= trust * next.seconds; });
}

bool ExactPlans::hasGrid(const Candidate &candidate) const {
  return std::any_of(rows.begin(), rows.end(), [&](const PlannedRow &row) {
    return row.scored.candidate.tp == candidate.tp && row.scored.candidate.pp == candidate.pp;
  });
}

bool ExactPlans::isTried(const Candidate &candidate) const {
  return std::any_of(refused.begin(), refused.end(),
                     [&](const RefusedRow &row) { return row.scored.candidate == candidate; });
}

/// Compiles a plan; where it does not fit, the same with less memory.
bool ExactPlans::addRow(const Scored &scored) {
  tell("compiling " + shortText(scored.candidate), rows.size());
  std::string reason;
  if (std::optional<CompiledPlan> compiled = compile(scored.candidate, reason)) {
    rows.push_back(rowOf(request, problem, scored));
    rows.back().compiled = std::move(compiled);
    return true;
  }
  refused.push_back({scored, reason});
  std::optional<Candidate> smaller = smallerOf(problem, scored.candidate);
  return smaller && addRow(evaluate(problem, *smaller));
}

/// Whether there are as many rows as asked for that no other candidate is ahead of. One that was compiled in place of a
/// plan that did not fit may be slower than the next by far.
bool ExactPlans::hasEnough(const Scored &next, int64_t count) const {
  auto isAhead = [&](const PlannedRow &row) { return row.scored.seconds <= next.seconds; };
  return std::count_if(rows.begin(), rows.end(), isAhead) >= count && isSettled(next);
}

void ExactPlans::compileFastest(const search::SearchResult &found, int64_t count) {
  int64_t attempts = 0, most = 4 * request.exact;
  for (const Scored &scored : found.ranked) {
    if (attempts >= most || hasEnough(scored, count))
      return;
    if (hasGrid(scored.candidate))
      continue;
    ++attempts;
    addRow(scored);
  }
}

void ExactPlans::compileSmallest(const search::SearchResult &found) {
  std::vector<Scored> bySize = found.ranked;
  std::stable_sort(bySize.begin(), bySize.end(), [](const Scored &a, const Scored &b) { return a.bytes < b.bytes; });
  constexpr double trust = 0.85;
  if (bySize.empty() && found.closest && problem.arenaLimit(found.closest->candidate) > trust * found.closest->bytes)
    bySize = {evaluate(problem, found.closest->candidate)}; // closed forms may be wrong by that little
  int64_t attempts = 0, most = request.exact;
  for (const Scored &scored : bySize) {
    if (isTried(scored.candidate))
      continue;
    if (attempts++ >= most || addRow(scored))
      return;
  }
}

void ExactPlans::compileBest(const search::SearchResult &found, int64_t count) {
  compileFastest(found, count);
  if (rows.empty())
    compileSmallest(found);
}

void ExactPlans::refine(PlannedRow &row) {
  constexpr double leastGain = 1e-3;
  if (!row.compiled || !row.compiled->simulated)
    return;
  std::vector<TriedPlan> tried = {
      {row.scored.candidate, row.compiled->arenaBytes, row.compiled->simulated->seconds, ""}};
  for (const Candidate &other : refinementsOf(problem, row.scored.candidate)) { // the least memory first
    if (isTried(other))
      break;
    tell("refining " + shortText(other), rows.size());
    TriedPlan attempt{other, 0, 0, ""};
    std::optional<CompiledPlan> compiled = compile(other, attempt.refusal);
    if (compiled) {
      attempt.bytes = compiled->arenaBytes;
      attempt.seconds = compiled->simulated->seconds;
    }
    tried.push_back(attempt);
    if (!compiled)
      break;
    if (compiled->simulated->seconds > row.seconds() * (1 - leastGain)) // it would take its memory for nothing
      continue;
    row = rowOf(request, problem, evaluate(problem, other));
    row.compiled = std::move(compiled);
  }
  if (tried.size() > 1)
    row.tried = std::move(tried);
}

void ExactPlans::refine() {
  for (PlannedRow &row : rows)
    refine(row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const PlannedRow &a, const PlannedRow &b) { return a.seconds() < b.seconds(); });
}

} // namespace tgpt
