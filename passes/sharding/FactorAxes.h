//===- FactorAxes.h - which mesh axes shard which factor of an op ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_SHARDING_FACTORAXES_H
#define TGPT_PASSES_SHARDING_FACTORAXES_H

#include "dialects/dist/Dist.h"
#include "dialects/interfaces/OpKnowledge.h"
#include <map>

namespace tgpt {

/// Collects the axes that the operands of one op offer to its factors, first come
/// first served, and reads off the layouts that follow.
class FactorAxes {
public:
  FactorAxes(mlir::Operation *op, ShardingRule rule, dist::MeshOp mesh) : op(op), rule(std::move(rule)), mesh(mesh) {}

  /// Offers the axes of `layout` to the factors of `dims`. A factor keeps the first
  /// axes it takes; an axis serves one factor. In a product of factors those behind one
  /// that took other axes get none: shards of the dim would not be contiguous.
  void offer(const ShardingRule::Dims &dims, dist::LayoutAttr layout);

  /// Layout of a value with these dims: the axes of its factors.
  dist::LayoutAttr layoutOf(const ShardingRule::Dims &dims) const;
  /// Axes of the factors that are in an operand but not in `result`.
  llvm::SmallVector<llvm::StringRef> reducedAxes(const ShardingRule::Dims &result) const;
  bool isUsed(llvm::StringRef axis) const;

  const ShardingRule &getRule() const { return rule; }
  int64_t getDeclined() const { return declined; }

private:
  bool take(char factor, const dist::LayoutAttr::Axes &axes);
  bool canTake(char factor, llvm::ArrayRef<llvm::StringRef> axes) const;
  bool isDivisible(char factor, const ShardingRule::Dims &dims, mlir::Value value, int64_t parts) const;

  mlir::Operation *op;
  ShardingRule rule;
  mutable dist::MeshOp mesh; ///< op handles have no const accessors
  std::map<char, dist::LayoutAttr::Axes> axesOfFactor;
  int64_t declined = 0;
};

} // namespace tgpt

#endif // TGPT_PASSES_SHARDING_FACTORAXES_H
