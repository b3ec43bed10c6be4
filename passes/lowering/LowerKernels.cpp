//===- LowerKernels.cpp - kernel calls, what they are told and what they cost ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a kernel's results go is decided in PlaceResults.cpp.
//
//===----------------------------------------------------------------------===//

#include "cost/KernelWorkspace.h"
#include "dialects/tgpt/SumCalls.h"
#include "passes/lowering/StageLowering.h"
#include <cmath>

using namespace mlir;
using namespace tgpt;
using planir::CostAttr;

planir::KernelOp StageLowering::writeKernel(Location location, StringRef opcode, ArrayRef<Value> inputs,
                                            ArrayRef<Value> outputs, DictionaryAttr scalars, CostAttr cost) {
  ++counts.kernels;
  return planir::KernelOp::create(builder, location, builder.getStringAttr(opcode), inputs, outputs,
                                  /*workspace=*/Value(), scalars, cost);
}

void StageLowering::addWorkspace() {
  if (kernelsWithWorkspace.empty())
    return;
  Type word = builder.getI32Type();
  int64_t words =
      llvm::divideCeil(llvm::divideCeil(workspaceBytes, cost::workspaceGrainBytes) * cost::workspaceGrainBytes, 4);
  StageBuffer &workspace =
      buffers.create(stage.getLoc(), "workspace.compute", planir::BufferType::get(builder.getContext(), {words}, word),
                     planir::MemoryKind::Workspace);
  for (planir::KernelOp kernel : kernelsWithWorkspace)
    kernel.getWorkspaceMutable().assign(workspace.value());
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
  if (int64_t bytes = workspaceBytesOf(op, productWorkspaceBytes)) {
    kernelsWithWorkspace.push_back(kernel);
    workspaceBytes = std::max(workspaceBytes, bytes);
  }
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

CostAttr StageLowering::costOf(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost)
    return CostAttr::get(op->getContext(), 0, 0, 0);
  int64_t calls = callsInsteadOfOne(op, parts.mesh);
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
