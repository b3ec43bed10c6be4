//===- DealAxes.cpp - the axes of a dim among its factors ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shards of a dim are contiguous, and so are those of its outermost factor: the first
// axes cut that factor until single entries are left, the next ones the next factor.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"

using namespace mlir;
using namespace tgpt;
using namespace tgpt::dist;

DealtAxes tgpt::dist::dealAxes(const ShardingRule &rule, StringRef dim, ArrayRef<StringRef> axes, MeshOp mesh) {
  DealtAxes result;
  result.ofFactor.resize(dim.size());
  // 0 where the size is not known: every number divides it, and nothing is ever left over.
  auto entriesOf = [&](size_t factor) -> int64_t {
    const ShardingRule::Size *size = mesh ? rule.sizeOf(dim[factor]) : nullptr;
    return size ? size->entries : 0;
  };
  int64_t left = entriesOf(0);
  for (StringRef axis : axes) {
    int64_t shards = mesh ? mesh.sizeOf(axis) : 1;
    while (left == 1 && shards > 1 && result.next + 1 < dim.size())
      left = entriesOf(++result.next);
    if (left % shards != 0)
      return result;
    result.ofFactor[result.next].push_back(axis);
    left /= shards;
    ++result.dealt;
  }
  return result;
}
