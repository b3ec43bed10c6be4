//===- GlobalShape.cpp - the whole of which a tensor is a shard ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"

using namespace mlir;
using namespace tgpt::dist;

SmallVector<int64_t> tgpt::globalShapeOf(RankedTensorType type) {
  LayoutAttr layout = layoutOf(type);
  return llvm::to_vector(layout && layout.isLocal() ? layout.getGlobal().asArrayRef() : type.getShape());
}

std::optional<unsigned> tgpt::shardedDimOf(RankedTensorType type) {
  LayoutAttr layout = layoutOf(type);
  for (int64_t dim = 0; layout && dim < layout.getRank(); ++dim)
    if (!layout.axesOf(dim).empty())
      return static_cast<unsigned>(dim);
  return std::nullopt;
}
