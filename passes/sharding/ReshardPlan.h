//===- ReshardPlan.h - the cheapest way from one layout to another ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_SHARDING_RESHARDPLAN_H
#define TGPT_PASSES_SHARDING_RESHARDPLAN_H

#include "dialects/dist/Dist.h"

namespace tgpt {

/// One collective on the way, and the layout after it.
struct ReshardStep {
  enum class Kind { AllReduce, ReduceScatter, AllGather, AllToAll, Slice };
  Kind kind;
  dist::LayoutAttr::Axes axes;
  int64_t dim = 0;    ///< the dim that is scattered, gathered, split or sliced
  int64_t concat = 0; ///< all_to_all: the dim that is gathered
  dist::LayoutAttr result;
};

/// The steps from `source` to `target` that move the fewest bytes a rank; of those,
/// the fewest steps. Both layouts say of which global shape (`of`); an axis that
/// `target` is partial over stays so. Failure when no axis sizes divide on any way.
llvm::FailureOr<llvm::SmallVector<ReshardStep>> planReshard(dist::LayoutAttr source, dist::LayoutAttr target,
                                                            dist::MeshOp mesh);

} // namespace tgpt

#endif // TGPT_PASSES_SHARDING_RESHARDPLAN_H
