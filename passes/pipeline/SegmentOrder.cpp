//===- SegmentOrder.cpp - the ops of a segment, to be reordered ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See SegmentOrder.h.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/SegmentOrder.h"

using namespace mlir;
using namespace tgpt;

// What keeps its order like a variable does; no symbol has such a name.
static constexpr llvm::StringLiteral everything = "(everything)";
static constexpr llvm::StringLiteral acrossStages = "(pp)";
static constexpr llvm::StringLiteral fetches[] = {"(fetches, data stream)", "(fetches, tensor stream)"};
static constexpr llvm::StringLiteral others[] = {"(data stream)", "(tensor stream)"};

bool tgpt::isFetch(Operation *collective) {
  Operation *producer = collective->getOperand(0).getDefiningOp();
  return !producer || producer->getBlock() != collective->getBlock() || isa<ReadOp>(producer);
}

SegmentOrder::Buckets SegmentOrder::bucketsOf(ModuleOp module) {
  Buckets buckets;
  for (auto bucket : module.getOps<BucketOp>())
    for (StringRef member : bucket.getMembers().getAsValueRange<FlatSymbolRefAttr>())
      buckets[member] = bucket.getSymName();
  return buckets;
}

SegmentOrder::SegmentOrder(Block &block, const Buckets &buckets) : block(block), buckets(buckets) {
  for (Operation &op : block.without_terminator()) {
    ops.push_back(&op);
    Predecessors before;
    for (Value operand : op.getOperands()) {
      if (Operation *producer = operand.getDefiningOp(); producer && producer->getBlock() == &block)
        before.insert(producer);
      addReadsThrough(operand, &op, before);
    }
    addEffects(&op, before);
    predecessors[&op] = std::move(before);
  }
}

void SegmentOrder::addRead(StringRef variable, Operation *op, Predecessors &before) {
  Uses &found = uses[variable];
  if (found.lastChange)
    before.insert(found.lastChange);
  found.readers.push_back(op);
}

void SegmentOrder::addChange(StringRef variable, Operation *op, Predecessors &before) {
  Uses &found = uses[variable];
  if (found.lastChange)
    before.insert(found.lastChange);
  for (Operation *reader : found.readers)
    if (reader != op)
      before.insert(reader);
  found.readers.clear();
  found.lastChange = op;
}

/// Who uses what was read of a variable, or waits for a collective that does, reads it.
void SegmentOrder::addReadsThrough(Value value, Operation *op, Predecessors &before) {
  Operation *producer = value.getDefiningOp();
  if (producer && producer->hasTrait<dist::Communicates>() && isa<dist::PendingType>(value.getType()))
    return addReadsThrough(producer->getOperand(0), op, before);
  if (auto read = dyn_cast_or_null<ReadOp>(producer); read && read->getBlock() == &block)
    addRead(storageOf(read.getSymbol()), op, before);
}

void SegmentOrder::addStart(Operation *collective, Predecessors &before) {
  bool isTensor = dist::isWithinTensorGroup(collective);
  if (isFetch(collective))
    return addChange(fetches[isTensor], collective, before);
  for (StringRef earlier : fetches)
    if (Operation *fetch = uses[earlier].lastChange)
      before.insert(fetch);
  addChange(others[isTensor], collective, before);
}

void SegmentOrder::addEffects(Operation *op, Predecessors &before) {
  if (op->hasTrait<dist::Communicates>()) {
    addRead(everything, op, before);
    if (isa<dist::PendingType>(op->getResult(0).getType()))
      addStart(op, before);
    else if (llvm::is_contained(op->getAttrOfType<ArrayAttr>("axes").getAsValueRange<StringAttr>(), "pp"))
      addChange(acrossStages, op, before);
  } else if (auto read = dyn_cast<ReadOp>(op)) {
    addRead(everything, op, before);
    addRead(storageOf(read.getSymbol()), op, before);
  } else if (auto write = dyn_cast<WriteOp>(op)) {
    addRead(everything, op, before);
    addChange(storageOf(write.getSymbol()), op, before);
  } else if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
    addRead(everything, op, before);
    for (FlatSymbolRefAttr level : accumulate.getLevels())
      addChange(storageOf(level.getValue()), op, before);
  } else if (isa<dist::WaitOp>(op) || isMemoryEffectFree(op)) {
    addRead(everything, op, before);
  } else {
    addChange(everything, op, before);
  }
}

void SegmentOrder::advance(Operation *op, int64_t first) {
  int64_t last = positionOf(op);
  Predecessors needed = predecessors[op];
  SmallVector<Operation *> ahead = {op}; // back to front
  SmallVector<Operation *> behind;
  for (int64_t i = last - 1; i >= first; --i) {
    Operation *other = ops[i];
    if (!needed.contains(other)) {
      behind.push_back(other);
      continue;
    }
    if (isa<dist::WaitOp>(other)) {
      first = i + 1;
      break;
    }
    ahead.push_back(other);
    const Predecessors &more = predecessors[other];
    needed.insert(more.begin(), more.end());
  }
  int64_t next = last - (ahead.size() + behind.size()) + 1;
  for (Operation *moved : llvm::concat<Operation *>(llvm::reverse(ahead), llvm::reverse(behind)))
    ops[next++] = moved;
}

void SegmentOrder::postpone(Operation *op, int64_t most) {
  int64_t at = positionOf(op), end = ops.size();
  for (; most > 0 && at + 1 < end && !dependsOn(ops[at + 1], op); --most, ++at)
    std::swap(ops[at], ops[at + 1]);
}

void SegmentOrder::apply() {
  for (Operation *op : ops)
    op->moveBefore(block.getTerminator());
}
