//===- StageLowering.cpp - one stage as plan ops ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The walk along a stage, what each instruction says of its values, and names of what it makes.
// Instructions of variables, kernels and collectives are in files of their own.
//
//===----------------------------------------------------------------------===//

#include "passes/lowering/StageLowering.h"

using namespace mlir;
using namespace tgpt;
using planir::MemoryKind;

dist::LayoutAttr StageLowering::layoutOnStage(Value value) {
  dist::LayoutAttr layout = dist::layoutOf(value);
  if (!layout)
    return layout;
  dist::LayoutAttr::Axes partial = layout.partialAxes();
  llvm::erase(partial, "pp");
  return layout.withPartial(partial, layout.getReduction()).withGlobal({});
}

int64_t StageLowering::numberOf(Value value) {
  Value root = rootOf(value);
  StageBuffer *buffer = buffers.find(root);
  if (root.getDefiningOp<ReadOp>() && buffer && buffer->variable)
    return 0;
  if (auto addend = root.getDefiningOp<dist::StageAddendOp>())
    return numberOf(addend.getInput());
  return valueNumbers.try_emplace(root, valueNumbers.size() + 1).first->second;
}

void StageLowering::describe(Operation *instruction, ValueRange operands, ValueRange results, int64_t intoVariables) {
  SmallVector<Attribute> layouts;
  SmallVector<int64_t> numbers;
  for (ValueRange values : {operands, results})
    for (Value value : values) {
      dist::LayoutAttr layout = layoutOnStage(value);
      if (!layout)
        return;
      layouts.push_back(layout);
      numbers.push_back(numberOf(value));
    }
  for (auto [i, result] : llvm::enumerate(results)) {
    int64_t &number = numbers[operands.size() + i];
    bool isTaken = flow.factsOf(rootOf(result)).lastUse >= 0 || number >= GroupTable::firstShared;
    if ((intoVariables >> i & 1) || !isTaken)
      number = 0;
  }
  setOperandFacts(instruction, layouts, numbers);
}

void StageLowering::setOperandFacts(Operation *instruction, ArrayRef<Attribute> layouts, ArrayRef<int64_t> numbers) {
  instruction->setAttr(planir::layoutsName, builder.getArrayAttr(layouts));
  instruction->setAttr(planir::valuesName, builder.getDenseI64ArrayAttr(numbers));
}

StageLowering::StageLowering(const ProgramParts &parts, const StageFlow &flow, planir::StageOp stage,
                             GroupTable &groups, LoweringCounts &counts, int64_t productWorkspaceBytes)
    : parts(parts), flow(flow), stage(stage), groups(groups), counts(counts),
      productWorkspaceBytes(productWorkspaceBytes), buffers(stage, parts, flow), builder(stage.getContext()) {}

ArrayRef<StringRef> StageLowering::reducedAxesOf(StringRef variable) const {
  auto found = reducedAxes.find(parts.storageOf(variable));
  return found == reducedAxes.end() ? ArrayRef<StringRef>() : ArrayRef<StringRef>(found->second);
}

LogicalResult StageLowering::run() {
  // Segments are built apart, so that the buffers made meanwhile come before them.
  SmallVector<planir::SegmentOp> made;
  for (const FlowSegment &segment : flow.getSegments()) {
    segmentKind = segment.kind;
    position = segment.firstPosition;
    events = 0;
    scope = planir::segmentNameOf(segment.kind, segment.chunk);
    OpBuilder detached(stage.getContext());
    dist::SegmentOp source = segment.op;
    made.push_back(planir::SegmentOp::create(detached, source.getLoc(), segment.kind, scope, segment.chunk));
    builder.setInsertionPointToEnd(&made.back().getBody().emplaceBlock());
    for (const FlowItem &item : segment.items) {
      if (failed(lower(item))) {
        for (planir::SegmentOp unfinished : made)
          unfinished.erase();
        return failure();
      }
      ++position;
    }
  }
  addWorkspace();
  for (planir::SegmentOp finished : made)
    stage.getBody().front().push_back(finished);
  return buffers.chooseRegions();
}

LogicalResult StageLowering::lower(const FlowItem &item) {
  auto channel = item.name ? FlatSymbolRefAttr::get(item.name) : FlatSymbolRefAttr();
  auto make = [&] {
    auto type = planir::BufferType::of(cast<RankedTensorType>(item.value.getType()));
    StageBuffer &buffer = buffers.create(item.location, item.name.getValue(), type, MemoryKind::Scratch);
    buffers.bind(item.value, buffer);
    return buffer.value();
  };
  switch (item.kind) {
  case FlowItem::Kind::Compute: return lowerOp(item.op);
  case FlowItem::Kind::Send:
    describe(planir::SendOp::create(builder, item.location, buffers.find(item.value)->value(), channel), item.value,
             {});
    break;
  case FlowItem::Kind::Receive:
    describe(planir::RecvOp::create(builder, item.location, channel, make()), {}, item.value);
    break;
  case FlowItem::Kind::Input:
    describe(planir::InputOp::create(builder, item.location, item.name, make()), {}, item.value);
    break;
  case FlowItem::Kind::Output:
    describe(planir::OutputOp::create(builder, item.location, buffers.find(item.value)->value(), item.name), item.value,
             {});
    break;
  }
  return success();
}

LogicalResult StageLowering::lowerOp(Operation *op) {
  enterScope(op);
  if (auto read = dyn_cast<ReadOp>(op))
    return lowerRead(read), success();
  if (auto write = dyn_cast<WriteOp>(op))
    return lowerWrite(write), success();
  if (auto accumulate = dyn_cast<AccumulateOp>(op))
    return lowerAccumulate(accumulate), success();
  if (auto pack = dyn_cast<dist::PackOp>(op))
    return lowerPack(pack), success();
  if (auto unpack = dyn_cast<dist::UnpackOp>(op))
    return lowerUnpack(unpack), success();
  if (auto kernel = dyn_cast<KernelOpInterface>(op))
    return lowerKernel(kernel);
  if (auto addend = dyn_cast<dist::StageAddendOp>(op))
    return buffers.bind(addend.getOutput(), *buffers.find(addend.getInput())), success();
  if (auto wait = dyn_cast<dist::WaitOp>(op))
    return lowerWait(wait), success();
  if (isa<dist::AllReduceOp, dist::AllGatherOp, dist::ReduceScatterOp, dist::AllToAllOp>(op))
    return lowerCollective(op);
  return op->emitOpError("cannot be executed: it has no kernel and is no collective");
}

/// "layers.3" for "layers.3.attn.q.weight", "embed" for "embed.weight".
static StringRef scopeOf(StringRef parameter) {
  size_t end = parameter.find('.');
  if (parameter.starts_with("layers.") && end != StringRef::npos)
    end = parameter.find('.', end + 1);
  return parameter.substr(0, end);
}

/// The parameter an op works with names its results, else the part of the model that
/// the ops before it were in.
void StageLowering::enterScope(Operation *op) {
  prefix = scope;
  for (Value operand : op->getOperands()) {
    StageBuffer *buffer = buffers.find(operand);
    const DeclaredVariable *variable = buffer ? buffer->named() : nullptr;
    if (!variable || variable->role == planir::VariableRole::Metric)
      continue;
    StringRef name = variable->name;
    bool isBucket = !variable->parameter;
    bool isParameter = !isBucket && variable->role == planir::VariableRole::Parameter;
    if (!isBucket)
      scope = scopeOf(name).str();
    prefix = (isParameter ? name.rsplit('.').first : name).str();
    return;
  }
}

std::string StageLowering::nameFor(Operation *op, unsigned result) {
  std::string name = prefix + "." + op->getName().stripDialect().str();
  if (op->hasAttr(recomputedAttributeName))
    name += ".recomputed";
  return result == 0 ? name : name + "." + std::to_string(result);
}
