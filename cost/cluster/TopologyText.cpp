//===- TopologyText.cpp - the links of a cluster in one line ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/cluster/TopologyText.h"
#include "cost/DeviceText.h"
#include "cost/SplitText.h"
#include "cost/cluster/ClusterFields.h"
#include <cmath>

namespace tgpt::cost {
namespace {

/// Sets a figure of a level, 0 standing for one that is not given; whether it may be that.
bool set(const ClusterField<Level> &field, double value, Level &level) {
  if (auto flag = std::get_if<bool Level::*>(&field.member)) {
    level.**flag = value != 0;
    return value == 0 || value == 1;
  }
  level.*std::get<double Level::*>(field.member) = value;
  return isWithin(field.range, value) || (field.isOptional && value == 0);
}

std::string readLevel(const std::string &text, double below, Level &level) {
  std::vector<std::string> figures = split(text, ',');
  if (figures.size() != levelFields().size())
    return "a level has " + std::to_string(levelFields().size()) + " figures, but '" + text + "' " +
           std::to_string(figures.size());
  for (size_t i = 0; i < figures.size(); ++i) {
    const ClusterField<Level> &field = levelFields()[i];
    std::optional<double> value = parseNumber(figures[i]);
    if (!value || !set(field, *value, level))
      return std::string(field.key) + " is '" + figures[i] + "', expected " + wordsOf(field.range);
  }
  if (level.ranks > 0 && (level.ranks <= below || std::fmod(level.ranks, below) != 0))
    return "a level joins " + exact(level.ranks) + " ranks, expected a multiple of the " + exact(below) + " below";
  return "";
}

} // namespace

std::string topologyText(const Topology &topology) {
  std::string text = exact(topology.ranksPerNode);
  for (int index = 0; index < topology.levelCount; ++index) {
    char separator = ';';
    for (const ClusterField<Level> &field : levelFields()) {
      auto flag = std::get_if<bool Level::*>(&field.member);
      const Level &level = topology.levels[index];
      text += separator + exact(flag ? level.**flag : level.*std::get<double Level::*>(field.member));
      separator = ',';
    }
  }
  return text;
}

std::optional<Topology> parseTopology(const std::string &text, std::string &error) {
  std::vector<std::string> parts = split(text, ';');
  std::optional<double> ranks = parseNumber(parts.front());
  size_t count = parts.size() - 1;
  if (!ranks || !(*ranks == 0 || isWithin(FigureRange::Count, *ranks)) || count < 1 || count > Topology::mostLevels) {
    error = "expected ranks of a node and 1 to " + std::to_string(Topology::mostLevels) + " levels, separated by ';'";
    return std::nullopt;
  }
  Topology topology;
  topology.ranksPerNode = *ranks;
  for (size_t index = 0; index < count; ++index) {
    Level &level = topology.levels[index];
    error = readLevel(parts[index + 1], topology.ranksBelow(static_cast<int>(index)), level);
    if (error.empty() && level.ranks == 0 && index + 1 < count)
      error = "only the last level joins any number of ranks";
    if (!error.empty())
      return std::nullopt;
  }
  topology.levelCount = static_cast<int>(count);
  return topology;
}

} // namespace tgpt::cost
