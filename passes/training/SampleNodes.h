//===- SampleNodes.h - accumulators of samples that are no node -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the samples of a rank are no power of two they are a list of nodes of the tree of
// additions (cost/SumNodes.h), which the accumulator and its carries hold when @update begins:
//
//   accumulate %dw (3 samples of each of 2 ranks) -> three sums of a sample, each accumulated
//   read @w.gradient                              -> join_nodes (read @w.gradient), (read @w.gradient.carry.0)
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_TRAINING_SAMPLENODES_H
#define TGPT_PASSES_TRAINING_SAMPLENODES_H

#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace tgpt {

/// The samples of a step, and who adds them up first.
struct SampleRange {
  int64_t samples = 1; ///< of a micro-batch of a rank
  int64_t microBatches = 1, dp = 1;

  /// Parts of a micro-batch, each a power of two samples of a rank; the only micro-batch of one rank is not cut.
  int64_t partsOfMicroBatch() const;
  int64_t addendsOfRank() const { return microBatches * partsOfMicroBatch(); }
  /// Whether the samples of each rank are one node of the tree over all; parts of one rank could be added likewise,
  /// but are few enough to be summed at the end.
  bool isNode() const;
};

/// A further state beside `state`, of its type.
StateOp declareStateLike(StateOp state, const llvm::Twine &name);

/// @begin sets the state to zero.
void clearState(mlir::func::FuncOp begin, StateOp state);

/// Writes the accumulators of a step in which no rank's samples are one node.
class SampleNodes {
public:
  SampleNodes(const SampleRange &range, mlir::func::FuncOp begin, mlir::func::FuncOp microBatch,
              mlir::func::FuncOp update)
      : range(range), begin(begin), microBatch(microBatch), update(update) {}

  /// Fails, with an error, where something is accumulated that is no sum over samples.
  llvm::LogicalResult accumulateAll(mlir::SymbolTable &symbols);

  int64_t countCarries() const { return carryCount; }

private:
  mlir::Value numbersOfSamples();
  llvm::LogicalResult accumulate(AccumulateOp accumulate, StateOp state, mlir::Value numbers);
  void joinWhereRead(StateOp state, llvm::ArrayRef<mlir::Attribute> carries);
  llvm::LogicalResult cutIntoParts(AccumulateOp accumulate);
  mlir::Operation *sumOfPart(mlir::Operation *sum, int64_t part);

  SampleRange range;
  mlir::func::FuncOp begin, microBatch, update;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *>> partsOf;
  llvm::SmallVector<mlir::Operation *> cutSums;
  int64_t carryCount = 0;
};

} // namespace tgpt

#endif // TGPT_PASSES_TRAINING_SAMPLENODES_H
