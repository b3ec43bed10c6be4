//===- SearchCuts.cpp - the best of all cuts into chunks ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/SearchCuts.h"
#include "passes/pipeline/CutJudgement.h"
#include "passes/pipeline/PartialCut.h"
#include <algorithm>

using namespace tgpt;

/// Few are up to so many cuts; with more the search ends after so many runs.
static constexpr int64_t mostOfFewCuts = 1 << 16, mostRunsTried = 1 << 17;

/// Of some layers into some runs, up to one more than are few.
static int64_t countCuts(int64_t layers, int64_t runs) {
  int64_t shorter = std::min(layers, runs - 1), longer = std::max(layers, runs - 1);
  __int128 count = 1;
  for (int64_t i = 1; i <= shorter && count <= mostOfFewCuts; ++i)
    count = count * (longer + i) / i;
  return static_cast<int64_t>(std::min<__int128>(count, mostOfFewCuts + 1));
}

namespace {

class CutSearch {
public:
  CutSearch(const StageProblem &problem, std::vector<int64_t> start)
      : problem(problem), cut(problem), best(std::move(start)), judgement(judgeCut(problem, best)),
        areFew(countCuts(problem.layers(), problem.virtualStages()) <= mostOfFewCuts) {}

  /// One that fits, and the best of these; else, of few, the one that comes closest.
  SearchedCut run(bool isSettled) {
    bool isProven = areFew || !(isSettled || isAsGoodAsCanBe()) ? visit(0) : true;
    if (areFew && judgement.mostBytesAbove > 0) {
      mostAbove = unboundedCost;
      visit(0);
    }
    return {best, isProven};
  }

private:
  bool isAsGoodAsCanBe() const {
    return judgement.mostBytesAbove == 0 && judgement.greatestNanoseconds <= problem.lowerBoundNanoseconds();
  }
  bool visit(int64_t above);
  bool tryRun(int64_t endLayer, int64_t above, bool &isTooSlow);
  void compare();

  /// What a cut may have above the limit, and how long its slowest rank may take where it has as much as the best one.
  int64_t mostAboveNow() const { return std::min(mostAbove, judgement.mostBytesAbove); }
  int64_t mostNanoseconds(int64_t above) const {
    if (above < judgement.mostBytesAbove)
      return unboundedCost;
    return judgement.greatestNanoseconds - (areFew ? 0 : 1);
  }
  int64_t mostBytes() const {
    int64_t above = mostAboveNow();
    return problem.limitBytes == 0 || above > unboundedCost - problem.limitBytes ? unboundedCost
                                                                                 : problem.limitBytes + above;
  }

  const StageProblem &problem;
  PartialCut cut;
  std::vector<int64_t> best;
  CutJudgement judgement; ///< of the best
  bool areFew;
  int64_t mostAbove = 0; ///< the limit: fuller ones are not looked at
  int64_t runsTried = 0;
};

} // namespace

// Of equal cuts the one with fewer layers on the first stages.
void CutSearch::compare() {
  std::vector<int64_t> layers = cut.layers();
  CutJudgement found = judgeCut(problem, layers);
  if (judgement.isBetterThan(found) || (!found.isBetterThan(judgement) && best <= layers))
    return;
  best = std::move(layers);
  judgement = found;
}

/// False where there were too many of them. `above`: the most that a rank has above the limit by now.
bool CutSearch::tryRun(int64_t endLayer, int64_t above, bool &isTooSlow) {
  if (++runsTried > mostRunsTried && !areFew)
    return false;
  cut.push(endLayer);
  int64_t aboveNow = problem.limitBytes == 0 ? 0 : std::max(above, cut.bytes() - problem.limitBytes);
  isTooSlow = judgement.mostBytesAbove == 0 && cut.nanoseconds() > mostNanoseconds(0);
  bool goesOn = true;
  if (aboveNow <= mostAboveNow() && cut.nanoseconds() <= mostNanoseconds(aboveNow)) {
    if (cut.runs() == problem.virtualStages())
      compare();
    else if (cut.hasRoom(mostNanoseconds(aboveNow), mostBytes()))
      goesOn = visit(aboveNow);
  }
  cut.pop();
  return goesOn;
}

/// Gives the next virtual stage a run, about as long as that of the best cut first.
bool CutSearch::visit(int64_t above) {
  int64_t first = cut.endLayer(), last = problem.layers();
  bool isTooSlow = false;
  if (cut.runs() == problem.virtualStages() - 1)
    return tryRun(last, above, isTooSlow);
  int64_t middle = std::min(first + best[cut.runs()], last);
  for (int64_t shorter = middle, longer = middle + 1; shorter >= first || longer <= last; --shorter, ++longer) {
    bool isShorterTooSlow = false;
    if (shorter >= first && !tryRun(shorter, above, isShorterTooSlow))
      return false;
    if (longer <= last && !tryRun(longer, above, isTooSlow))
      return false;
    if (isTooSlow)
      longer = last; // and so are all that are longer still
  }
  return true;
}

SearchedCut tgpt::searchCuts(const StageProblem &problem, std::vector<int64_t> start, bool isSettled) {
  return CutSearch(problem, std::move(start)).run(isSettled);
}
