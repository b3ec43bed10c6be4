//===- BucketFamilies.h - the buckets that belong together ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_ZERO_BUCKETFAMILIES_H
#define TGPT_PASSES_ZERO_BUCKETFAMILIES_H

#include "dialects/dist/FlatTensor.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tgpt {

/// The axis over which data-parallel ranks share out what each of them would hold.
inline constexpr llvm::StringLiteral pieceAxis = "dp";
inline mlir::ArrayAttr pieceAxes(mlir::Builder &builder) {
  return builder.getStrArrayAttr({pieceAxis});
}

/// A bucket of parameters and the bucket of their gradients.
struct BucketFamily {
  BucketOp parameters, gradients;
  mlir::SmallVector<BucketOp> moreGradients;   ///< of further uses, each added up by itself
  mlir::SmallVector<mlir::StringAttr> members; ///< names of the parameters

  /// Of the first use and of the others.
  mlir::SmallVector<BucketOp> allGradients() {
    mlir::SmallVector<BucketOp> all = {gradients};
    all.append(moreGradients.begin(), moreGradients.end());
    return all;
  }

  /// "zero.layers.0.decayed", the common part of the names.
  std::string name();
  int64_t lastDim();
  mlir::RankedTensorType parameterType() { return mlir::cast<mlir::RankedTensorType>(parameters.getType()); }
  mlir::RankedTensorType gradientType() { return mlir::cast<mlir::RankedTensorType>(gradients.getType()); }
};

/// What the passes after zero-form-buckets need; failure, reported, without it.
struct BucketedProgram {
  dist::MeshOp mesh;
  mlir::func::FuncOp begin, microBatch, update;
  int64_t addends = 1; ///< addendsOfRank
  /// By the name of a bucket of gradients: those of the further nodes of a rank's sum.
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<BucketOp>> nodes;
  llvm::SmallVector<BucketFamily> families;

  static mlir::FailureOr<BucketedProgram> of(mlir::ModuleOp module);
};

/// The flat type cut into pieces over "dp", no longer partial over it.
mlir::RankedTensorType pieceTypeOf(mlir::RankedTensorType flat, dist::MeshOp mesh);

/// The addends of a rank in each sum over samples, without factors of 2; 1 where they are one node of the tree.
int64_t addendsOfRank(mlir::func::FuncOp microBatch);

/// The buckets of further nodes, by the name of the bucket of gradients whose members they belong to.
llvm::DenseMap<mlir::StringAttr, mlir::SmallVector<BucketOp>> findBucketsOfNodes(mlir::ModuleOp module);

/// What a rank holds of the sum of a bucket's gradients: a partial sum, or a list of nodes of it.
mlir::Value readPartialSum(mlir::OpBuilder &builder, BucketOp gradients, llvm::ArrayRef<BucketOp> nodes,
                           int64_t addends);

/// Where a phase uses symbols: reads, writes and additions by the symbol they name.
struct SymbolUses {
  explicit SymbolUses(mlir::func::FuncOp function);

  llvm::SmallVector<ReadOp> readsOf(mlir::StringAttr symbol) const { return reads.lookup(symbol); }
  llvm::SmallVector<WriteOp> writesOf(mlir::StringAttr symbol) const { return writes.lookup(symbol); }
  llvm::SmallVector<AccumulateOp> accumulationsOf(mlir::StringAttr symbol) const {
    return accumulations.lookup(symbol);
  }

private:
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<ReadOp>> reads;
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<WriteOp>> writes;
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<AccumulateOp>> accumulations;
};

/// Erases the ops of `function` whose results nobody uses, but for those that change a
/// state or are marks.
void eraseUnused(mlir::func::FuncOp function);

} // namespace tgpt

#endif // TGPT_PASSES_ZERO_BUCKETFAMILIES_H
