//===- LongestPaths.cpp - when instructions end, by brute force ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LongestPaths.h"

#include <algorithm>
#include <stdexcept>

using namespace tgpt;
using namespace tgpt::test;
using plan::Instruction;

static bool isCollective(const Instruction &instruction) {
  return instruction.kind() >= Instruction::ALL_REDUCE && instruction.kind() <= Instruction::ALL_TO_ALL;
}

LongestPaths::LongestPaths(const plan::Plan &plan, double latencySeconds)
    : plan(plan), latency(latencySeconds), sends(plan.channels_size()), receives(plan.channels_size()),
      collectives(plan.groups_size()) {
  for (int s = 0; s < plan.stages_size(); ++s) {
    int before = -1;
    for (int e = 0; e < plan.stages(s).schedule_size(); ++e) {
      const plan::Segment &segment = plan.stages(s).segments(static_cast<int>(plan.stages(s).schedule(e).segment()));
      for (int i = 0; i < segment.instructions_size(); ++i) {
        const Instruction &instruction = segment.instructions(i);
        if (instruction.event() != 0)
          throw std::logic_error("started collectives have no longest path");
        int number = static_cast<int>(nodes.size()), place = 0;
        auto append = [&](std::vector<int> &list) {
          place = static_cast<int>(list.size());
          list.push_back(number);
        };
        if (instruction.kind() == Instruction::SEND)
          append(sends[instruction.channel()]);
        if (instruction.kind() == Instruction::RECV)
          append(receives[instruction.channel()]);
        if (isCollective(instruction))
          append(collectives[instruction.group()][s]);
        numbers[{s, e, i}] = number;
        nodes.push_back({&instruction, s, before, place});
        before = number;
      }
    }
  }
  ends.assign(nodes.size(), 0);
  for (bool isRaised = true; isRaised;) {
    isRaised = false;
    for (int n = 0; n < static_cast<int>(nodes.size()); ++n) {
      double end = beginOf(n);
      isRaised |= end > ends[n];
      ends[n] = std::max(ends[n], end);
    }
  }
}

/// A group of one rank has nothing to do.
double LongestPaths::groupSeconds(int group) const {
  int64_t size = 1;
  for (const std::string &axis : plan.groups(group).axes())
    for (const plan::MeshAxis &candidate : plan.mesh().axes())
      if (candidate.name() == axis)
        size *=
            axis == "pp" && plan.groups(group).stages_size() > 0 ? plan.groups(group).stages_size() : candidate.size();
  return size > 1 ? latency : 0;
}

/// When a node ends, by what is known so far.
double LongestPaths::beginOf(int number) const {
  const Node &node = nodes[number];
  auto arrival = [this](int n) { return nodes[n].before < 0 ? 0 : ends[nodes[n].before]; };
  double begin = arrival(number);
  const Instruction &instruction = *node.instruction;
  auto channel = static_cast<int>(instruction.channel());
  bool isMessage = instruction.kind() == Instruction::SEND || instruction.kind() == Instruction::RECV;
  if (isMessage && plan.channels(channel).depth() == 0)
    return std::max(arrival(sends[channel][node.place]), arrival(receives[channel][node.place])) + latency;
  if (instruction.kind() == Instruction::SEND) {
    int freed = node.place - static_cast<int>(plan.channels(channel).depth());
    if (freed >= 0)
      begin = std::max(begin, ends[receives[channel][freed]]);
    return begin + (plan.channels(channel).from_stage() == plan.channels(channel).to_stage() ? 0 : latency);
  }
  if (instruction.kind() == Instruction::RECV)
    return std::max(begin, ends[sends[channel][node.place]]);
  if (!isCollective(instruction))
    return begin + static_cast<double>(instruction.cost().flops());
  auto group = static_cast<int>(instruction.group());
  const auto &axes = plan.groups(group).axes();
  if (std::find(axes.begin(), axes.end(), "pp") != axes.end())
    for (const auto &[stage, list] : collectives[group])
      begin = std::max(begin, arrival(list[node.place]));
  return begin + groupSeconds(group);
}

double LongestPaths::end() const {
  return *std::max_element(ends.begin(), ends.end());
}
