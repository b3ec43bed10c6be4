//===- SplitStateFunction.cpp - give each stage its part of @begin and @update ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/SplitStateFunction.h"
#include "dialects/tgpt/Tgpt.h"
#include "passes/pipeline/StageLayers.h"
#include "passes/pipeline/SumOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tgpt;

/// True for the scalars that may go to other stages.
static bool isScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0;
}

/// The set of the lowest stage in `stages`, the owner.
static StageSet lowestOf(const StageSet &stages) {
  StageSet lowest(stages.size());
  if (stages.any())
    lowest.set(stages.find_first());
  return lowest;
}

//===----------------------------------------------------------------------===//
// Placing: forwards where an op can run, then backwards where it must.
//===----------------------------------------------------------------------===//

LogicalResult StateFunctionSplit::place() {
  if (failed(checkStraightLine(function)))
    return failure();
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (validOfTensors(&op).none())
      return op.emitError("op works on tensors that live on different stages");
    places[&op] = {findValid(&op), none(), none(), Means::Copy, {}};
  }
  StageSet first = none();
  first.set(0);
  needOperands(body.getTerminator(), first);
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (failed(decide(&op)))
      return failure();
  return success();
}

StageSet StateFunctionSplit::validOf(Value value) const {
  auto found = places.find(value.getDefiningOp());
  return found == places.end() ? all() : found->second.valid;
}

// The stages that have the state or all tensors `op` works on; scalars can be brought there.
StageSet StateFunctionSplit::validOfTensors(Operation *op) const {
  if (StringAttr symbol = usedSymbol(op))
    return homes.of(symbol);
  StageSet valid = all();
  for (Value operand : op->getOperands())
    if (!isScalar(operand.getType()))
      valid &= validOf(operand);
  return valid;
}

// Where all of an op's inputs are; where they are nowhere together, its tensors decide.
// A tensor can be made wherever its tensors are: the scalars it takes can be shared.
StageSet StateFunctionSplit::findValid(Operation *op) const {
  StageSet tensors = validOfTensors(op), valid = tensors;
  if (!llvm::all_of(op->getResultTypes(), isScalar))
    return tensors;
  for (Value operand : op->getOperands())
    valid &= validOf(operand);
  return valid.any() ? valid : tensors;
}

LogicalResult StateFunctionSplit::decide(Operation *op) {
  Place &place = places.find(op)->second;
  if (StringAttr symbol = changedSymbol(op))
    place.needed |= homes.of(symbol);
  else if (op->getNumResults() == 0)
    return op->emitError("op has no result and changes no state, so its stage is not known");
  if (place.needed.none())
    return success();
  if (isa<ReadOp>(op))
    return decideRead(op, place);
  return decideCompute(op, place);
}

LogicalResult StateFunctionSplit::decideRead(Operation *op, Place &place) {
  StringAttr symbol = usedSymbol(op);
  StageSet home = homes.of(symbol);
  if (homes.isGradient(symbol) && home.count() > 1) {
    place.from = home;
    if (!isSubset(place.needed, home)) {
      place.means = Means::Share;
      return checkShareable(op, place);
    }
    place.means = Means::Tied;
    place.needed = home;
    return success();
  }
  bool isSplit = homes.isMetric(symbol) && home.count() > 1;
  if (!isSplit && isSubset(place.needed, home))
    return success();
  place.means = Means::Share;
  place.from = isSplit ? home : lowestOf(home);
  return checkShareable(op, place);
}

LogicalResult StateFunctionSplit::decideCompute(Operation *op, Place &place) {
  if (isSum(op) && decideSum(op, place))
    return success();
  StageSet tensors = validOfTensors(op);
  if (isSubset(place.needed, tensors)) {
    needOperands(op, place.needed);
    return success();
  }
  place.means = Means::Share;
  place.from = lowestOf(tensors);
  needOperands(op, place.from);
  return checkShareable(op, place);
}

// A sum that no needing stage can take alone is taken in parts: each operand counts
// on one stage, the lowest that has it.
bool StateFunctionSplit::decideSum(Operation *op, Place &place) {
  StageSet common = all();
  for (Value operand : op->getOperands())
    common &= validOf(operand);
  if (isSubset(place.needed, common) || !isScalar(op->getResult(0).getType()))
    return false;
  place.means = Means::SumUp;
  for (Value operand : op->getOperands()) {
    StageSet contributor = lowestOf(validOf(operand));
    place.contributors.push_back(contributor.find_first());
    need(operand, contributor);
  }
  return true;
}

LogicalResult StateFunctionSplit::checkShareable(Operation *op, const Place &place) const {
  if (llvm::all_of(op->getResultTypes(), isScalar))
    return success();
  StageSet missing = place.needed;
  missing.reset(validOfTensors(op));
  return op->emitError() << "tensor of stage " << place.from.find_first() << " is needed on stage "
                         << missing.find_first() << "; only scalars go between stages here";
}

void StateFunctionSplit::need(Value value, const StageSet &stages) {
  if (auto found = places.find(value.getDefiningOp()); found != places.end())
    found->second.needed |= stages;
}

void StateFunctionSplit::needOperands(Operation *op, const StageSet &stages) {
  for (Value operand : op->getOperands())
    need(operand, stages);
}

//===----------------------------------------------------------------------===//
// Building: every op in turn, into the segments of its stages.
//===----------------------------------------------------------------------===//

void StateFunctionSplit::build() {
  Operation *terminator = function.getBody().front().getTerminator();
  SmallVector<Operation *> old;
  for (Operation &op : function.getBody().front().without_terminator())
    old.push_back(&op);
  OpBuilder builder(terminator);
  dist::SegmentOp first;
  for (int64_t stage = 0; stage < stageCount; ++stage) {
    TypeRange types = stage == 0 ? TypeRange(terminator->getOperandTypes()) : TypeRange();
    auto segment = dist::SegmentOp::create(builder, function.getLoc(), types, kind, stage);
    stages.push_back({OpBuilder::atBlockBegin(&segment.getBody().emplaceBlock()), IRMapping()});
    if (stage == 0)
      first = segment;
  }
  for (Operation *op : old)
    buildOp(op, places.find(op)->second);
  for (auto [stage, part] : llvm::enumerate(stages)) {
    SmallVector<Value> yields;
    if (stage == 0)
      for (Value value : terminator->getOperands())
        yields.push_back(part.values.lookupOrDefault(value));
    dist::YieldOp::create(part.builder, function.getLoc(), yields);
  }
  terminator->setOperands(first.getResults());
  for (Operation *op : llvm::reverse(old))
    op->erase();
}

void StateFunctionSplit::buildOp(Operation *op, const Place &place) {
  if (place.needed.none())
    return;
  switch (place.means) {
  case Means::Copy: return copyTo(op, place.needed);
  case Means::Tied: copyTo(op, place.from); return allReduce(op->getResult(0), place.from);
  case Means::SumUp: sumUp(op, place); return allReduce(op->getResult(0), all());
  case Means::Share:
    copyTo(op, place.from);
    for (Value result : op->getResults()) {
      StageSet others = all();
      others.reset(place.from);
      fillZero(result, others);
      allReduce(result, all());
    }
  }
}

void StateFunctionSplit::copyTo(Operation *op, const StageSet &where) {
  for (unsigned stage : where.set_bits())
    stages[stage].builder.clone(*op, stages[stage].values);
}

void StateFunctionSplit::sumUp(Operation *op, const Place &place) {
  Value total = op->getResult(0);
  for (auto [stage, part] : llvm::enumerate(stages)) {
    SmallVector<Value> own;
    for (auto [operand, contributor] : llvm::zip_equal(op->getOperands(), place.contributors))
      if (contributor == static_cast<int64_t>(stage))
        own.push_back(part.values.lookupOrDefault(operand));
    if (own.empty()) {
      StageSet here = none();
      fillZero(total, here.set(stage));
      continue;
    }
    if (own.size() == 1) {
      part.values.map(total, own.front());
      continue;
    }
    OperationState state(op->getLoc(), op->getName().getStringRef(), own, op->getResultTypes(), op->getAttrs());
    part.values.map(total, part.builder.create(state)->getResult(0));
  }
}

void StateFunctionSplit::fillZero(Value value, const StageSet &where) {
  for (unsigned stage : where.set_bits()) {
    OpBuilder &builder = stages[stage].builder;
    auto zero = FillOp::create(builder, value.getLoc(), value.getType(), builder.getF64FloatAttr(0.0));
    stages[stage].values.map(value, zero.getOutput());
  }
}

/// The type of an addend of the sum over the stages.
static Type addendType(Type type) {
  dist::LayoutAttr layout = dist::layoutOf(type);
  if (!layout) // the verifier of the op says so
    return type;
  dist::LayoutAttr::Axes partial = layout.partialAxes();
  partial.push_back("pp");
  return dist::withLayout(cast<RankedTensorType>(type), layout.withPartial(partial, layout.getReduction()));
}

void StateFunctionSplit::allReduce(Value value, const StageSet &where) {
  ++allReduces;
  SmallVector<int64_t> members;
  for (unsigned stage : where.set_bits())
    members.push_back(stage);
  for (int64_t stage : members) {
    OpBuilder &builder = stages[stage].builder;
    auto subset = where.all() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(members);
    auto addend = dist::StageAddendOp::create(builder, value.getLoc(), addendType(value.getType()),
                                              stages[stage].values.lookup(value));
    auto total = dist::AllReduceOp::create(builder, value.getLoc(), value.getType(), dist::ReductionKind::Sum, addend,
                                           builder.getStrArrayAttr({"pp"}), subset, isCanonical);
    stages[stage].values.map(value, total.getOutput());
  }
}
