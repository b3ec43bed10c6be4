//===- OptimizerSharding.h - the update of pieces in place of parameters ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ShardOptimizer.cpp finds the update and writes that of the pieces, NormOfPieces.cpp what the clipping needs of their
// gradients.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_ZERO_OPTIMIZERSHARDING_H
#define TGPT_PASSES_ZERO_OPTIMIZERSHARDING_H

#include "passes/zero/BucketFamilies.h"
#include "llvm/ADT/MapVector.h"

namespace tgpt {

/// How the update moves one parameter.
struct ParameterUpdate {
  AdamWOp adamw;
  mlir::StringAttr moment1, moment2;
  mlir::StringAttr master; ///< null where AdamW moves the parameter itself
};

/// A bucket while its update is written.
struct BucketUpdate {
  BucketFamily family;
  AdamWOp pattern; ///< of its first parameter, for the constants
  BucketOp moment1, moment2, master;
  mlir::Value gradient; ///< this rank's piece
};

/// Rewrites the update of a program in buckets.
class OptimizerSharding {
public:
  OptimizerSharding(mlir::ModuleOp module, BucketedProgram program) : module(module), program(std::move(program)) {}

  mlir::LogicalResult run();
  int64_t countBuckets() const { return buckets.size(); }
  int64_t countReplaced() const { return updates.size(); }

private:
  mlir::LogicalResult findUpdates();
  mlir::LogicalResult addBucket(BucketFamily family);
  BucketOp declareStates(mlir::OpBuilder &builder, BucketFamily &family, llvm::StringRef suffix,
                         llvm::ArrayRef<mlir::Attribute> members);
  mlir::FailureOr<ClipScaleOp> findClip();
  mlir::Value reduce(mlir::OpBuilder &builder, BucketFamily &family, BucketOp gradients);
  mlir::Value pieceOfWholeSum(mlir::OpBuilder &builder, mlir::Value partial, int64_t dim);
  mlir::Value sumOfUses(mlir::OpBuilder &builder, BucketFamily &family, mlir::Value whole);
  mlir::Value squaresOf(mlir::OpBuilder &builder, BucketUpdate &bucket);
  mlir::LogicalResult gatherForNorm(BucketUpdate &bucket);
  void takeNormOfPieces(ClipScaleOp clip);
  mlir::Value sumOfSquares(mlir::OpBuilder &builder, mlir::Location loc);
  void moveBucket(mlir::OpBuilder &builder, BucketUpdate &bucket, mlir::Value scale);
  void eraseOldUpdates();

  mlir::ModuleOp module;
  BucketedProgram program;
  bool isCanonical = addsCanonically(module);                 ///< sums are trees
  llvm::MapVector<mlir::StringAttr, ParameterUpdate> updates; ///< by parameter
  llvm::SmallVector<BucketUpdate> buckets;
};

/// What a value is read from, alone or as the first node of a sum; null where it is computed.
mlir::StringAttr symbolRead(mlir::Value value);

} // namespace tgpt

#endif // TGPT_PASSES_ZERO_OPTIMIZERSHARDING_H
