//===- AlgorithmTimes.cpp - which algorithm a measurement chooses -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/AlgorithmTimes.h"

#include <algorithm>
#include <limits>
#include <vector>

using namespace tgpt::runtime;

std::optional<int> cuda::fastest(int count, int rounds, const std::function<std::optional<double>(int)> &seconds) {
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<double> least(count, never);
  std::vector<bool> canRun(count, true);
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < count; ++i) {
      std::optional<double> time = canRun[i] ? seconds(i) : std::nullopt;
      canRun[i] = time.has_value();
      least[i] = time ? std::min(least[i], *time) : never;
    }
  auto best = std::min_element(least.begin(), least.end());
  if (best == least.end() || *best == never)
    return std::nullopt;
  double limit = *best * 1.02;
  return int(std::find_if(least.begin(), least.end(), [&](double time) { return time <= limit; }) - least.begin());
}
