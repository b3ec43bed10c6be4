//===- MeshGroup.h - the ranks that a mesh's axes bring together ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_MESHGROUP_H
#define TGPT_COST_MESHGROUP_H

#include "cost/Topology.h"
#include <span>

namespace tgpt::cost {

/// An axis of a mesh whose ranks are numbered row-major, the last axis fastest.
struct MeshAxis {
  double size = 1;
  bool isInGroup = false; ///< ranks of a group differ in it
};

/// The groups over some axes. Axes that are not neighbours in the mesh give groups whose ranks are not evenly apart:
/// the mean distance stands for it.
Group groupOver(std::span<const MeshAxis> axes);

} // namespace tgpt::cost

#endif // TGPT_COST_MESHGROUP_H
