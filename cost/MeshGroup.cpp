//===- MeshGroup.cpp - the ranks that a mesh's axes bring together ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/MeshGroup.h"
#include <cmath>

using namespace tgpt::cost;

Group tgpt::cost::groupOver(std::span<const MeshAxis> axes) {
  Group group;
  double stride = 1, last = 0;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (axis->isInGroup) {
      group.ranks *= axis->size;
      last += (axis->size - 1) * stride;
    }
    stride *= axis->size;
  }
  group.world = stride;
  if (group.ranks > 1)
    group.stride = std::floor(last / (group.ranks - 1));
  return group;
}
