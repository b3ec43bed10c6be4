//===- SlowStageCut.h - cuts into stages, listed and costed one by one ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_PASSES_SLOWSTAGECUT_H
#define TGPT_TEST_UNIT_PASSES_SLOWSTAGECUT_H

#include "passes/pipeline/StageCut.h"
#include <cstdint>
#include <functional>
#include <vector>

namespace tgpt::test {

/// Every way to cut the layers, without layers on some stages too.
void eachCut(int64_t layers, int64_t stages, const std::function<void(const std::vector<int64_t> &)> &visit);

/// The cost of a rank, part by part and item by item.
RankCost slowCost(const StageProblem &problem, const std::vector<int64_t> &cut, int64_t rank);

struct Judged {
  std::vector<int64_t> cut;
  int64_t time = 0, bytes = 0, empty = 0, above = 0;
  __int128 squares = 0;
  int64_t layerSquares = 0;
};

Judged judge(const StageProblem &problem, const std::vector<int64_t> &cut);

/// The best of all cuts that fit; of those that come closest (by the greatest bytes) where none fits.
Judged bestOfAll(const StageProblem &problem);

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_PASSES_SLOWSTAGECUT_H
