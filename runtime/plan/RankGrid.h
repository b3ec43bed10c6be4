//===- RankGrid.h - rank numbers and mesh coordinates -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks are numbered row-major over the mesh axes, the last axis fastest. A mesh
// without "pp" has one stage.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_PLAN_RANKGRID_H
#define TGPT_RUNTIME_PLAN_RANKGRID_H

#include "runtime/plan/plan.pb.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tgpt::runtime {

/// The axes that a mesh may have: data parallel, pipeline stages, tensor parallel; the
/// ranks of a tp index that share its KV heads; and, where data-parallel ranks are split in
/// two, the groups that hold the same, of which the ranks along "dp" share it out.
inline constexpr std::array<std::string_view, 5> meshAxisNames = {"dp_replica", "dp", "pp", "tp", "tp_inner"};
/// Those over which samples are dealt out.
inline constexpr std::array<std::string_view, 2> dataAxes = {"dp_replica", "dp"};

inline bool isMeshAxisName(std::string_view name) {
  return std::find(meshAxisNames.begin(), meshAxisNames.end(), name) != meshAxisNames.end();
}

/// A rank's position on each mesh axis, in mesh order.
using RankCoordinates = std::vector<int64_t>;

/// A valid mesh (see CheckPlan), with the arithmetic of its ranks.
class RankGrid {
public:
  explicit RankGrid(const plan::Mesh &mesh);

  int64_t ranks() const { return rankCount; }
  /// Size of an axis; 1 for an axis the mesh does not have.
  int64_t axisSize(std::string_view axis) const;
  int64_t stages() const { return axisSize("pp"); }
  /// Ranks with samples of their own, and which of them `rank` is.
  int64_t dataParallelRanks() const { return sizeOf(dataAxes); }
  int64_t dataParallelIndex(int64_t rank) const { return indexAlong(rank, dataAxes); }

  RankCoordinates coordinates(int64_t rank) const;
  int64_t rankAt(const RankCoordinates &coordinates) const;
  /// Position of `rank` on an axis; 0 for an axis the mesh does not have.
  int64_t coordinate(int64_t rank, std::string_view axis) const;
  int64_t stageOf(int64_t rank) const { return coordinate(rank, "pp"); }
  /// The rank of another stage with the same other coordinates.
  int64_t sameButStage(int64_t rank, int64_t stage) const;

  /// Row-major index of `rank` over `axes` as listed, the last one fastest.
  template <typename Axes> int64_t indexAlong(int64_t rank, const Axes &axes) const {
    int64_t index = 0;
    for (const auto &axis : axes)
      index = index * axisSize(axis) + coordinate(rank, axis);
    return index;
  }
  template <typename Axes> int64_t sizeOf(const Axes &axes) const {
    int64_t size = 1;
    for (const auto &axis : axes)
      size *= axisSize(axis);
    return size;
  }

  /// The group of `rank`: ranks that differ from it only in the group's axes
  /// (and are of the group's stages), in the order of their member index.
  std::vector<int64_t> groupMembers(const plan::Group &group, int64_t rank) const;

  /// "rank 3 (dp 0, pp 1, tp 1)".
  std::string describe(int64_t rank) const;

private:
  int axisPosition(std::string_view axis) const;

  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  int64_t rankCount = 1;
};

/// Number of members of a group: the product of its axes, "pp" counting as its
/// listed stages where there are any.
int64_t groupSize(const RankGrid &grid, const plan::Group &group);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_PLAN_RANKGRID_H
