//===- RankGrid.cpp - rank numbers and mesh coordinates ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Row-major arithmetic over the mesh axes; see RankGrid.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/RankGrid.h"

#include <algorithm>

using namespace tgpt;
using namespace tgpt::runtime;

RankGrid::RankGrid(const plan::Mesh &mesh) {
  for (const plan::MeshAxis &axis : mesh.axes()) {
    names.push_back(axis.name());
    sizes.push_back(axis.size());
    rankCount *= axis.size();
  }
}

int RankGrid::axisPosition(std::string_view axis) const {
  auto found = std::find(names.begin(), names.end(), axis);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

int64_t RankGrid::axisSize(std::string_view axis) const {
  int position = axisPosition(axis);
  return position < 0 ? 1 : sizes[position];
}

RankCoordinates RankGrid::coordinates(int64_t rank) const {
  RankCoordinates result(sizes.size());
  for (size_t axis = sizes.size(); axis-- > 0; rank /= sizes[axis])
    result[axis] = rank % sizes[axis];
  return result;
}

int64_t RankGrid::rankAt(const RankCoordinates &coordinates) const {
  int64_t rank = 0;
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    rank = rank * sizes[axis] + coordinates[axis];
  return rank;
}

int64_t RankGrid::coordinate(int64_t rank, std::string_view axis) const {
  int position = axisPosition(axis);
  return position < 0 ? 0 : coordinates(rank)[position];
}

int64_t RankGrid::sameButStage(int64_t rank, int64_t stage) const {
  int position = axisPosition("pp");
  if (position < 0)
    return rank;
  RankCoordinates there = coordinates(rank);
  there[position] = stage;
  return rankAt(there);
}

std::vector<int64_t> RankGrid::groupMembers(const plan::Group &group, int64_t rank) const {
  std::vector<RankCoordinates> members = {coordinates(rank)};
  for (const std::string &axis : group.axes()) {
    int position = axisPosition(axis);
    std::vector<int64_t> places(group.stages().begin(), group.stages().end());
    if (axis != "pp" || places.empty()) {
      places.resize(sizes[position]);
      for (int64_t i = 0; i < sizes[position]; ++i)
        places[i] = i;
    }
    std::vector<RankCoordinates> extended;
    for (const RankCoordinates &member : members)
      for (int64_t place : places) {
        extended.push_back(member);
        extended.back()[position] = place;
      }
    members = std::move(extended);
  }
  std::vector<int64_t> ranks;
  for (const RankCoordinates &member : members)
    ranks.push_back(rankAt(member));
  return ranks;
}

std::string RankGrid::describe(int64_t rank) const {
  RankCoordinates here = coordinates(rank);
  std::string text = "rank " + std::to_string(rank);
  for (size_t axis = 0; axis < here.size(); ++axis)
    text += (axis == 0 ? " (" : ", ") + names[axis] + " " + std::to_string(here[axis]);
  return here.empty() ? text : text + ")";
}

int64_t tgpt::runtime::groupSize(const RankGrid &grid, const plan::Group &group) {
  int64_t size = 1;
  for (const std::string &axis : group.axes())
    size *= axis == "pp" && group.stages_size() > 0 ? group.stages_size() : grid.axisSize(axis);
  return size;
}
