//===- ExactPlans.h - the best few plans, compiled and simulated ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a search found, in its order, is compiled until enough plans fit. Where none of the
// fastest does, those that need least memory are tried. Then each plan is compiled again with
// what closed forms can't tell apart (search/Refinement.h), and the fastest is kept.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_PLANNER_EXACTPLANS_H
#define TGPT_COMPILER_PLANNER_EXACTPLANS_H

#include "compiler/planner/Planner.h"

namespace tgpt {

using PlannerProgress = std::function<void(const std::string &, double)>;

/// A plan by closed forms, as a row of the table.
PlannedRow rowOf(const PlannerRequest &request, const search::Problem &problem, const search::Scored &scored);

class ExactPlans {
public:
  /// The parts live as long as this. `simulate` and `progress` may be empty.
  ExactPlans(const PlannerRequest &request, const cost::Cluster &cluster, const search::Problem &problem,
             PlanCompiler &compiler, const SimulatePlan &simulate, const PlannerProgress &progress)
      : request(request), cluster(cluster), problem(problem), compiler(compiler), simulate(simulate),
        progress(progress) {}

  /// Compiles one plan of a grid until `count` are, or too many are refused.
  void compileBest(const search::SearchResult &found, int64_t count);
  /// Keeps of each row the fastest of its refinements; the fastest row comes first.
  void refine();
  /// The bytes of a candidate's fullest arena, whatever the limit; nothing where it does not compile.
  std::optional<int64_t> bytesWithoutLimit(const search::Candidate &candidate);
  /// Whether a candidate compiles.
  bool fits(const search::Candidate &candidate);

  std::vector<PlannedRow> rows;
  std::vector<RefusedRow> refused;

private:
  bool isSettled(const search::Scored &next) const;
  bool hasEnough(const search::Scored &next, int64_t count) const;
  bool isTried(const search::Candidate &candidate) const;
  bool hasGrid(const search::Candidate &candidate) const;
  void compileFastest(const search::SearchResult &found, int64_t count);
  void compileSmallest(const search::SearchResult &found);
  bool addRow(const search::Scored &scored);
  void refine(PlannedRow &row);
  std::optional<CompiledPlan> compile(const search::Candidate &candidate, std::string &reason);
  void tell(const std::string &what, std::size_t done) const;

  const PlannerRequest &request;
  const cost::Cluster &cluster;
  const search::Problem &problem;
  PlanCompiler &compiler;
  const SimulatePlan &simulate;
  const PlannerProgress &progress;
};

} // namespace tgpt

#endif // TGPT_COMPILER_PLANNER_EXACTPLANS_H
