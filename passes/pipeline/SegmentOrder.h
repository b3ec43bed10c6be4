//===- SegmentOrder.h - the ops of a segment, to be reordered ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op comes after those that make its operands. Uses of a variable (read, write,
// accumulate), or of one in the same bucket, keep their order where one of them changes
// it, and whoever uses what was read counts as reading, so that no reordering makes a copy
// necessary. All_reduces over "pp" keep their order, which must be the same on all stages.
// So do, within a stream, the started collectives that fetch and those that do not; and
// the latter stay behind all fetches before them. An op with unknown effects stays where
// it is among all others.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_SEGMENTORDER_H
#define TGPT_PASSES_PIPELINE_SEGMENTORDER_H

#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace tgpt {

/// True for a collective whose operand was there before the segment: a parameter, a
/// gradient, a kept activation. It could start at once.
bool isFetch(mlir::Operation *collective);

class SegmentOrder {
public:
  /// Buckets by the variables that lie in them.
  using Buckets = llvm::StringMap<llvm::StringRef>;

  /// The buckets of a module.
  static Buckets bucketsOf(mlir::ModuleOp module);

  /// Of the block's ops but its terminator.
  SegmentOrder(mlir::Block &block, const Buckets &buckets);

  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }
  int64_t positionOf(mlir::Operation *op) const { return llvm::find(ops, op) - ops.begin(); }
  bool dependsOn(mlir::Operation *later, mlir::Operation *earlier) const {
    auto found = predecessors.find(later);
    return found != predecessors.end() && found->second.contains(earlier);
  }
  /// Whether `op` must come behind one of `earlier`, directly.
  bool dependsOnAny(mlir::Operation *op, const llvm::DenseSet<mlir::Operation *> &earlier) const {
    auto found = predecessors.find(op);
    return found != predecessors.end() &&
           llvm::any_of(found->second, [&](mlir::Operation *before) { return earlier.contains(before); });
  }

  /// Moves `op`, and before it what it needs, ahead of the other ops at or behind
  /// position `first`; what comes before one of the needed dist.waits stays too.
  void advance(mlir::Operation *op, int64_t first);
  /// Moves `op` behind up to `most` ops that do not depend on it.
  void postpone(mlir::Operation *op, int64_t most);
  /// Gives the block this order.
  void apply();

private:
  using Predecessors = llvm::SmallDenseSet<mlir::Operation *, 8>;
  struct Uses {
    mlir::Operation *lastChange = nullptr;
    llvm::SmallVector<mlir::Operation *> readers; ///< since then
  };
  void addEffects(mlir::Operation *op, Predecessors &before);
  void addStart(mlir::Operation *collective, Predecessors &before);
  void addRead(llvm::StringRef variable, mlir::Operation *op, Predecessors &before);
  void addChange(llvm::StringRef variable, mlir::Operation *op, Predecessors &before);
  void addReadsThrough(mlir::Value value, mlir::Operation *op, Predecessors &before);

  llvm::StringRef storageOf(llvm::StringRef variable) const {
    auto bucket = buckets.find(variable);
    return bucket == buckets.end() ? variable : bucket->second;
  }

  mlir::Block &block;
  const Buckets &buckets;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, Predecessors> predecessors;
  llvm::StringMap<Uses> uses; ///< by variable, and by what else keeps its order
};

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_SEGMENTORDER_H
