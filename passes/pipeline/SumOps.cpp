//===- SumOps.cpp - ops that add equal values up ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/SumOps.h"
#include "dialects/interfaces/OpKnowledge.h"

using namespace mlir;
using namespace tgpt;

bool tgpt::isSum(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() < 2 || addsCanonically(op))
    return false;
  auto knowing = dyn_cast<ShardingRuleOpInterface>(op);
  if (!knowing || knowing.getShardingRule().linearity != ShardingRule::Linearity::Joint)
    return false;
  Type type = op->getResult(0).getType();
  return llvm::all_of(op->getOperandTypes(), [&](Type operand) { return operand == type; });
}

SmallVector<Value> tgpt::addendsOf(Value value, SmallVectorImpl<Operation *> &sums) {
  SmallVector<Value> addends, pending = {value};
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op || !next.hasOneUse() || !isSum(op)) {
      addends.push_back(next);
      continue;
    }
    sums.push_back(op);
    for (Value operand : llvm::reverse(op->getOperands()))
      pending.push_back(operand);
  }
  return addends;
}
