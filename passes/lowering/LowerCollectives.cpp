//===- LowerCollectives.cpp - collectives and waits of a stage as plan ops ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective of one rank is none: its result is its input.
//
//===----------------------------------------------------------------------===//

#include "passes/lowering/StageLowering.h"

using namespace mlir;
using namespace tgpt;
using planir::CollectiveKind;
using planir::MemoryKind;

/// Groups within tp exchange activations, often and in a hurry; the others must not hold
/// them up.
static planir::Stream streamOf(Operation *collective) {
  return dist::isWithinTensorGroup(collective) ? planir::Stream::Tensor : planir::Stream::Data;
}

namespace {
/// What the plan says of a collective.
struct CollectiveFacts {
  CollectiveKind kind = CollectiveKind::AllReduceSum;
  IntegerAttr dim, concat;
  std::optional<ArrayRef<int64_t>> stages;
};
} // namespace

static CollectiveFacts factsOf(Operation *op) {
  CollectiveFacts facts;
  if (auto reduce = dyn_cast<dist::AllReduceOp>(op)) {
    bool isSum = reduce.getReduction() == dist::ReductionKind::Sum;
    facts.kind = isSum ? CollectiveKind::AllReduceSum : CollectiveKind::AllReduceMax;
    facts.stages = reduce.getStages();
  } else if (auto gather = dyn_cast<dist::AllGatherOp>(op)) {
    facts.kind = CollectiveKind::AllGather;
    facts.dim = gather.getDimAttr();
  } else if (auto scatter = dyn_cast<dist::ReduceScatterOp>(op)) {
    facts.kind = CollectiveKind::ReduceScatter;
    facts.dim = scatter.getDimAttr();
  } else if (auto exchange = dyn_cast<dist::AllToAllOp>(op)) {
    facts.kind = CollectiveKind::AllToAll;
    facts.dim = exchange.getSplitAttr();
    facts.concat = exchange.getConcatAttr();
  }
  return facts;
}

/// Where a collective of more than one rank puts its result, when it is not its input.
StageBuffer &StageLowering::placeCollective(Operation *op) {
  takenByThisKernel.clear();
  if (StageBuffer *variable = variableFor(op, 0)) {
    ++counts.inPlaceVariables;
    return *variable;
  }
  return buffers.create(op->getLoc(), nameFor(op, 0),
                        planir::BufferType::of(dist::tensorOf(op->getResult(0).getType())), MemoryKind::Scratch);
}

LogicalResult StageLowering::lowerCollective(Operation *op) {
  CollectiveFacts facts = factsOf(op);
  auto axes = op->getAttrOfType<ArrayAttr>("axes");
  Value result = op->getResult(0);
  StageBuffer *input = buffers.find(op->getOperand(0));
  StageBuffer *inPlace = inPlaceReduction(op); // of one rank as well: the sum is closed then
  if (groups.memberCount(axes, facts.stages) == 1) {
    buffers.bind(result, *input);
    input->storage().hasTwins = true;
    valueNumbers[result] = numberOf(op->getOperand(0));
    return success();
  }
  StageBuffer &output = inPlace ? *inPlace : placeCollective(op);
  buffers.bind(result, output);
  if (facts.kind == CollectiveKind::AllGather && !output.variable)
    output.gathered = input->variable;
  ++counts.collectives;
  StringRef group = groups.groupOf(op->getLoc(), axes, facts.stages).getSymName();
  IntegerAttr event;
  planir::StreamAttr stream;
  bool isStarted = isa<dist::PendingType>(result.getType());
  if (isStarted) {
    ++counts.startedCollectives;
    event = builder.getI64IntegerAttr(++events);
    stream = planir::StreamAttr::get(builder.getContext(), streamOf(op));
  }
  auto collective =
      planir::CollectiveOp::create(builder, op->getLoc(), facts.kind, input->value(), output.value(), group, facts.dim,
                                   facts.concat, event, stream, costOf(op), op->hasAttr("tree"));
  if (llvm::is_contained(axes.getAsValueRange<StringAttr>(), "pp"))
    valueNumbers[rootOf(result)] = groups.numberOfShared(group, meetings[group]++);
  describe(collective, op->getOperands(), op->getResults());
  if (isStarted)
    flights[result] = collective;
  return success();
}

/// The tensor is where the collective has put it. The wait names all that was in flight.
void StageLowering::lowerWait(dist::WaitOp op) {
  valueNumbers[op.getOutput()] = numberOf(op.getPending());
  buffers.bind(op.getOutput(), *buffers.find(op.getPending()));
  planir::CollectiveOp collective = flights.lookup(op.getPending());
  if (!collective) // of one rank: there is none
    return;
  SmallVector<Value> held = {collective.getOutput()}, values = {op.getPending()};
  if (collective.getInput() != collective.getOutput()) {
    held.push_back(collective.getInput());
    values.push_back(op.getPending().getDefiningOp()->getOperand(0));
  }
  describe(planir::WaitOp::create(builder, collective.getLoc(), *collective.getEvent(), held), values, {});
}
