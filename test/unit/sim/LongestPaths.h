//===- LongestPaths.h - when instructions end, by brute force ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For plans that start nothing, on a cluster where an operation takes a second, bytes
// nothing, and each message and collective its latency. Every instruction of every stage
// ends as late as what it waits for makes it; times are raised until none has to be. No
// queue of events and nothing of the simulation in it.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_SIM_LONGESTPATHS_H
#define TGPT_TEST_UNIT_SIM_LONGESTPATHS_H

#include "runtime/plan/plan.pb.h"

#include <map>
#include <tuple>
#include <vector>

namespace tgpt::test {

class LongestPaths {
public:
  LongestPaths(const plan::Plan &plan, double latencySeconds);

  double endOf(int stage, int entry, int instruction) const { return ends[numbers.at({stage, entry, instruction})]; }
  double end() const;
  size_t count() const { return nodes.size(); }

private:
  struct Node {
    const plan::Instruction *instruction;
    int stage;
    int before; ///< in its stage, or -1
    int place;  ///< which send or receive of its channel, or which collective of its group at its stage
  };

  double beginOf(int node) const;
  double groupSeconds(int group) const;

  const plan::Plan &plan;
  double latency;
  std::vector<Node> nodes;
  std::vector<double> ends;
  std::map<std::tuple<int, int, int>, int> numbers;
  std::vector<std::vector<int>> sends, receives;            ///< by channel
  std::vector<std::map<int, std::vector<int>>> collectives; ///< by group and stage
};

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_SIM_LONGESTPATHS_H
