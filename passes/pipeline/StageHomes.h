//===- StageHomes.h - which stages a parameter or state lives on ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_STAGEHOMES_H
#define TGPT_PASSES_PIPELINE_STAGEHOMES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tgpt {

/// A set of pipeline stages: one bit a stage.
using StageSet = llvm::SmallBitVector;

inline bool isSubset(const StageSet &part, const StageSet &whole) {
  return !part.test(whole);
}

/// The parameter or state that `op` writes or adds to, or null.
mlir::StringAttr changedSymbol(mlir::Operation *op);
/// The parameter or state that `op` reads, writes or adds to, or null.
mlir::StringAttr usedSymbol(mlir::Operation *op);

/// The stages on which each parameter and state lives. A parameter and its
/// states live together, on every stage whose micro-batch reads or adds to one of
/// them; the lowest of these is the owner. What no micro-batch touches lives on
/// stage 0, or on the last stage if it is a metric. The scalars of the loss scaling live
/// on all stages, which adjust them alike.
class StageHomes {
public:
  explicit StageHomes(int64_t stageCount) : stageCount(stageCount) {}

  /// Notes that the micro-batch of `stage` reads, writes or adds to `symbol`.
  void addUse(mlir::StringAttr symbol, int64_t stage);
  /// Gives every parameter, state and bucket of `module` its stages; failure where the
  /// members of a bucket live on different ones.
  mlir::LogicalResult settle(mlir::ModuleOp module);

  /// The stages of `symbol`; after `settle` never empty for a declared symbol.
  StageSet of(mlir::StringAttr symbol) const;
  /// Both sum what the stages of their home add; the true value is the sum over
  /// these stages.
  bool isGradient(mlir::StringAttr symbol) const { return gradients.contains(symbol); }
  bool isMetric(mlir::StringAttr symbol) const { return metrics.contains(symbol); }
  int64_t getStageCount() const { return stageCount; }
  /// Parameters that live on more than one stage.
  int64_t countTiedParameters() const { return tiedParameters; }

private:
  void shareWithMembers(mlir::ModuleOp module);
  mlir::LogicalResult settleBuckets(mlir::ModuleOp module);

  int64_t stageCount;
  int64_t tiedParameters = 0;
  llvm::DenseMap<mlir::StringAttr, StageSet> homes;
  llvm::DenseSet<mlir::StringAttr> gradients, metrics;
};

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_STAGEHOMES_H
