//===- StageLowering.cpp - one stage as plan ops ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions of a stage. Where results go is decided in PlaceResults.cpp.
//
//===----------------------------------------------------------------------===//

#include "passes/lowering/StageLowering.h"
#include "cost/SumNodes.h"
#include <cmath>

using namespace mlir;
using namespace tgpt;
using planir::CostAttr;
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
                             GroupTable &groups, LoweringCounts &counts)
    : parts(parts), flow(flow), stage(stage), groups(groups), counts(counts), buffers(stage, parts, flow),
      builder(stage.getContext()) {}

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

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// A read names the variable's buffer, unless the variable changes before the last use.
void StageLowering::lowerRead(ReadOp op) {
  StageBuffer &variable = buffers.ofVariable(op.getSymbol());
  if (!flow.hasEvent(op.getSymbol(), position, flow.factsOf(op.getValue()).lastUse, StageFlow::Events::Writes))
    return buffers.bind(op.getValue(), variable);
  StageBuffer &copy =
      buffers.create(op.getLoc(), (op.getSymbol() + ".before").str(), variable.type(), MemoryKind::Scratch);
  planir::KernelOp kernel = writeCopy(op.getLoc(), variable, copy);
  buffers.bind(op.getValue(), copy);
  describe(kernel, op.getValue(), op.getValue());
  kernel->setAttr(planir::valuesName, builder.getDenseI64ArrayAttr({0, numberOf(op.getValue())}));
}

/// A write is nothing where its value was computed in the variable; a value without
/// operands is computed there now; any other is copied.
void StageLowering::lowerWrite(WriteOp op) {
  StageBuffer &variable = buffers.ofVariable(op.getSymbol());
  StageBuffer *value = buffers.find(op.getValue());
  if (value == &variable)
    return;
  auto producer = rootOf(op.getValue()).getDefiningOp<KernelOpInterface>();
  if (!value || (producer && producer->getNumOperands() == 0 && producer->getNumResults() == 1)) {
    auto kernel = writeKernel(producer.getLoc(), producer.getKernelName(), {}, variable.value(),
                              producer.getKernelAttributes().getDictionary(op.getContext()), costOf(producer));
    return describe(kernel, {}, op.getValue(), /*intoVariables=*/1);
  }
  describe(writeCopy(op.getLoc(), *value, variable), op.getValue(), op.getValue(), /*intoVariables=*/1);
}

void StageLowering::lowerAccumulate(AccumulateOp op) {
  if (done.contains(op))
    return;
  if (op.getCarries())
    return lowerTreeAccumulate(op);
  ++counts.separateAccumulations;
  Value input = buffers.find(op.getValue())->value(), output = buffers.ofVariable(op.getSymbol()).value();
  auto kernel = writeKernel(op.getLoc(), "accumulate", input, output, builder.getDictionaryAttr({}), costOf(op));
  describe(kernel, op.getValue(), op.getValue(), /*intoVariables=*/1);
}

/// The kernel reads and writes the levels that the micro-batch's number names.
void StageLowering::lowerTreeAccumulate(AccumulateOp op) {
  ++counts.treeAccumulations;
  if (op.getNodesOf())
    return lowerNodeAccumulate(op);
  SmallVector<Value> outputs, values;
  for (FlatSymbolRefAttr level : op.getLevels()) {
    outputs.push_back(buffers.ofVariable(level.getValue()).value());
    values.push_back(op.getValue());
  }
  int64_t all = (int64_t(1) << outputs.size()) - 1;
  NamedAttrList scalars;
  scalars.append("accumulate", builder.getI64IntegerAttr(all));
  scalars.append("micro_batches", op.getMicroBatchesAttr());
  auto kernel = writeKernel(op.getLoc(), "accumulate_tree",
                            {buffers.find(op.getValue())->value(), buffers.find(op.getMicroBatch())->value()}, outputs,
                            scalars.getDictionary(op.getContext()), costOf(op));
  describe(kernel, {op.getValue(), op.getMicroBatch()}, values, /*intoVariables=*/all);
}

/// The kernel reads and writes the nodes that the number of the first sample names: the state, then the carries.
void StageLowering::lowerNodeAccumulate(AccumulateOp op) {
  SmallVector<FlatSymbolRefAttr> states = op.getLevels();
  std::rotate(states.begin(), states.end() - 1, states.end());
  SmallVector<Value> outputs, values(states.size(), op.getValue());
  for (FlatSymbolRefAttr state : states)
    outputs.push_back(buffers.ofVariable(state.getValue()).value());
  int64_t all = (int64_t(1) << outputs.size()) - 1;
  NamedAttrList scalars;
  scalars.append("accumulate", builder.getI64IntegerAttr(all));
  scalars.append("micro_batches", op.getMicroBatchesAttr());
  scalars.append("part", op.getPartAttr());
  scalars.append("parts", op.getPartsAttr());
  scalars.append("ranks", op.getNodesOfAttr());
  auto kernel = writeKernel(op.getLoc(), "accumulate_nodes",
                            {buffers.find(op.getValue())->value(), buffers.find(op.getMicroBatch())->value()}, outputs,
                            scalars.getDictionary(op.getContext()), costOf(op));
  describe(kernel, {op.getValue(), op.getMicroBatch()}, values, /*intoVariables=*/all);
}

planir::KernelOp StageLowering::writeCopy(Location location, StageBuffer &from, StageBuffer &to) {
  ++counts.copies;
  int64_t bytes = from.type().getBytes();
  return writeKernel(location, "copy", from.value(), to.value(), builder.getDictionaryAttr({}),
                     CostAttr::get(builder.getContext(), 0, bytes, bytes));
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

planir::KernelOp StageLowering::writeKernel(Location location, StringRef opcode, ArrayRef<Value> inputs,
                                            ArrayRef<Value> outputs, DictionaryAttr scalars, CostAttr cost) {
  ++counts.kernels;
  return planir::KernelOp::create(builder, location, builder.getStringAttr(opcode), inputs, outputs, scalars, cost);
}

LogicalResult StageLowering::lowerKernel(KernelOpInterface op) {
  // Constants whose only uses are writes are computed in the variables (lowerWrite).
  if (op->getNumOperands() == 0 && op->getNumResults() == 1 && !op->use_empty() &&
      llvm::all_of(op->getUsers(), [](Operation *user) { return isa<WriteOp>(user); }))
    return success();
  SmallVector<Value> inputs, outputs;
  for (Value operand : op->getOperands())
    inputs.push_back(buffers.find(operand)->value());
  takenByThisKernel.clear();
  int64_t accumulated = 0;
  for (OpResult result : op->getResults()) {
    StageBuffer &buffer = placeResult(op, result.getResultNumber(), accumulated);
    takenByThisKernel.insert(&buffer);
    outputs.push_back(buffer.value());
  }
  FailureOr<DictionaryAttr> scalars = scalarsOf(op, accumulated);
  if (failed(scalars))
    return failure();
  auto kernel =
      writeKernel(op.getLoc(), op.getKernelName(), inputs, outputs, *scalars, costWithAccumulation(op, accumulated));
  describe(kernel, op->getOperands(), op->getResults(), accumulated);
  countModelFlops(op);
  return success();
}

/// How many chunks the operand has here, and which of them the call adds up where that is not all.
void StageLowering::addChunks(Operation *op, int64_t chunks, NamedAttrList &scalars) {
  scalars.set("chunks", builder.getI64IntegerAttr(chunks));
  if (auto part = op->getAttrOfType<PartAttr>(partAttributeName)) {
    scalars.set("part", builder.getI64IntegerAttr(part.getIndex()));
    scalars.set("parts", builder.getI64IntegerAttr(part.getCount()));
  }
  if (auto node = op->getAttrOfType<NodeAttr>(nodeAttributeName)) {
    scalars.set("nodes", builder.getI64IntegerAttr(1)); // some, not all chunks
    scalars.set("node", builder.getI64IntegerAttr(node.getIndex()));
    scalars.set("first_chunk", planir::AxisOffsetAttr::get(builder.getContext(), node.getAxes(), chunks));
  }
}

FailureOr<DictionaryAttr> StageLowering::scalarsOf(KernelOpInterface op, int64_t accumulated) {
  NamedAttrList scalars = op.getKernelAttributes();
  for (const ShardOffset &offset : op.getShardOffsets()) {
    Value value = offset.isResult ? Value(op->getResult(offset.operand)) : op->getOperand(offset.operand);
    SmallVector<StringRef> axes(offset.axes.begin(), offset.axes.end());
    dist::LayoutAttr layout = dist::layoutOf(value);
    if (axes.empty() && layout)
      axes.assign(layout.axesOf(offset.dim));
    dist::MeshOp mesh = parts.mesh;
    llvm::erase_if(axes, [&](StringRef axis) { return mesh.sizeOf(axis) == 1; });
    int64_t stride = cast<RankedTensorType>(value.getType()).getDimSize(offset.dim);
    scalars.set(offset.attribute, axes.empty() ? Attribute(builder.getI64IntegerAttr(0))
                                               : planir::AxisOffsetAttr::get(builder.getContext(),
                                                                             builder.getStrArrayAttr(axes), stride));
  }
  if (int64_t chunks = localChunksOf(op))
    addChunks(op, chunks, scalars);
  if (accumulated != 0)
    scalars.set("accumulate", builder.getI64IntegerAttr(accumulated));
  return scalars.getDictionary(builder.getContext());
}

static planir::Work workOf(cost::KernelKind kind) {
  switch (kind) {
  case cost::KernelKind::MatrixProduct: return planir::Work::MatrixProduct;
  case cost::KernelKind::Attention: return planir::Work::Attention;
  case cost::KernelKind::Vector: break;
  }
  return planir::Work::Vector;
}

/// Calls that share out the work of one: each adds up one node of a rank's chunks, or one part of its samples. Where a
/// result is no sum, each does all of it.
int64_t StageLowering::callsInsteadOfOne(Operation *op) {
  if (op->getNumResults() != 1)
    return 1;
  if (auto part = op->getAttrOfType<PartAttr>(partAttributeName))
    return part.getCount();
  auto node = op->getAttrOfType<NodeAttr>(nodeAttributeName);
  dist::MeshOp mesh = parts.mesh;
  return node ? mostSumNodes(localChunksOf(op), mesh.sizeOf(dist::axesIn(node.getAxes()))) : 1;
}

CostAttr StageLowering::costOf(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return CostAttr::get(op->getContext(), 0, 0, 0);
  int64_t calls = callsInsteadOfOne(op);
  return CostAttr::get(op->getContext(), cost.getFlops() / calls, cost.getBytesRead() / calls, cost.getBytesWritten(),
                       workOf(cost.getKernelKind()));
}

/// An accumulated output is read too, and each of its elements added.
CostAttr StageLowering::costWithAccumulation(Operation *op, int64_t accumulated) {
  CostAttr cost = costOf(op);
  int64_t flops = cost.getFlops(), bytes = cost.getBytesRead();
  for (OpResult result : op->getResults())
    if (accumulated >> result.getResultNumber() & 1) {
      flops += cast<RankedTensorType>(result.getType()).getNumElements();
      bytes += bytesOf(result.getType());
    }
  return CostAttr::get(op->getContext(), flops, bytes, cost.getBytesWritten(), cost.getWork());
}

/// Local operations times the shards they were cut into within a dp rank's micro-batch:
/// replicas count once, and what is recomputed or done on padding is no work of the model's.
void StageLowering::countModelFlops(KernelOpInterface op) {
  if (segmentKind == planir::SegmentKind::Begin || segmentKind == planir::SegmentKind::Update)
    return;
  auto cost = dyn_cast<CostOpInterface>(op.getOperation());
  if (!cost || cost.getModelFlops() == 0 || op->hasAttr(recomputedAttributeName))
    return;
  auto node = op->getAttrOfType<NodeAttr>(nodeAttributeName);
  if (node && node.getIndex() > 0 && op->getNumResults() > 1) // the same work once more
    return;
  llvm::SmallSetVector<StringRef, 4> axes;
  auto addAxes = [&](Type type) {
    if (dist::LayoutAttr layout = dist::layoutOf(type))
      for (int64_t dim = 0; dim < layout.getRank(); ++dim)
        axes.insert_range(layout.axesOf(dim));
  };
  for (Type type : op->getOperandTypes())
    addAxes(type);
  for (Type type : op->getResultTypes())
    addAxes(type);
  dist::MeshOp mesh = parts.mesh;
  for (StringRef data : {"dp", "dp_replica"})
    axes.remove(data);
  int64_t flops = cost.getModelFlops() * mesh.sizeOf(axes.getArrayRef());
  auto share = op->getAttrOfType<FloatAttr>(modelShareAttributeName);
  modelFlops += share ? std::llround(double(flops) * share.getValueAsDouble()) : flops;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

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
