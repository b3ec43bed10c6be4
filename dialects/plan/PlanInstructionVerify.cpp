//===- PlanInstructionVerify.cpp - constraints of instructions ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Labels C1, C2, ... are those of the op descriptions.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace tgpt::planir;

LogicalResult KernelOp::verify() {
  if (getOpcode().empty())
    return emitOpError("names no kernel"); // C1
  if (getOutputs().empty())
    return emitOpError() << "'" << getOpcode() << "' has no output"; // C1
  for (NamedAttribute scalar : getScalars())
    if (!isa<IntegerAttr, FloatAttr, StringAttr, AxisOffsetAttr>(scalar.getValue())) // C2
      return emitOpError() << "scalar '" << scalar.getName().getValue() << "' is " << scalar.getValue()
                           << ", expected an integer, float, bool, string or axis offset";
  llvm::SmallDenseSet<Value> outputs;
  for (auto [i, output] : llvm::enumerate(getOutputs()))
    if (!outputs.insert(output).second) // C3
      return emitOpError() << "output " << i << " is the buffer of an earlier output";
  auto workspace = getWorkspace() ? getWorkspace().getDefiningOp<BufferOp>() : BufferOp();
  if (workspace && workspace.getRegion() != MemoryKind::Workspace) // C4
    return emitOpError() << "'" << getOpcode() << "' has the workspace '" << workspace.getName()
                         << "', which lies in the region of kind '" << stringifyMemoryKind(workspace.getRegion())
                         << "'";
  return success();
}

FailureOr<SmallVector<int64_t>> tgpt::planir::collectiveShape(CollectiveOp op, int64_t members) {
  SmallVector<int64_t> shape(op.getInput().getType().getShape());
  auto checkDim = [&](StringRef what, std::optional<uint64_t> dim) -> LogicalResult {
    if (!dim)
      return op.emitOpError() << "has no '" << what << "'";
    if (*dim >= shape.size())
      return op.emitOpError() << "has '" << what << "' " << static_cast<int64_t>(*dim) << ", but its input has "
                              << shape.size() << " dims";
    return success();
  };
  auto split = [&](int64_t dim) -> LogicalResult {
    if (shape[dim] % members != 0)
      return op.emitOpError() << "splits input dim " << dim << " of " << shape[dim] << ", but the group of " << members
                              << " ranks does not divide it";
    shape[dim] /= members;
    return success();
  };
  switch (op.getKind()) {
  case CollectiveKind::AllReduceSum:
  case CollectiveKind::AllReduceMax: return shape;
  case CollectiveKind::AllGather:
    if (failed(checkDim("dim", op.getDim())))
      return failure();
    shape[*op.getDim()] *= members;
    return shape;
  case CollectiveKind::ReduceScatter:
    if (failed(checkDim("dim", op.getDim())) || failed(split(*op.getDim())))
      return failure();
    return shape;
  case CollectiveKind::AllToAll:
    if (failed(checkDim("dim", op.getDim())) || failed(checkDim("concat", op.getConcat())) ||
        failed(split(*op.getDim())))
      return failure();
    shape[*op.getConcat()] *= members;
    return shape;
  }
  llvm_unreachable("a kind of the enum");
}

static LogicalResult verifyStream(CollectiveOp op, GroupOp group) {
  if (!op.getEvent() && !op.getStream())
    return success();
  if (!op.getEvent() || !op.getStream() || *op.getStream() == Stream::Compute)
    return op.emitOpError("has an event or a communication stream, expected both or none");
  if (static_cast<int64_t>(*op.getEvent()) < 1)
    return op.emitOpError() << "has event " << static_cast<int64_t>(*op.getEvent()) << ", expected at least 1";
  if (!llvm::is_contained(group.getAxes().getAsValueRange<StringAttr>(), "pp"))
    return success();
  InFlightDiagnostic error = op.emitOpError() << "is started, but group @" << op.getGroup()
                                              << " spans pipeline stages, which differ in what they run beside it";
  error.attachNote(group.getLoc()) << "group declared here";
  return error;
}

LogicalResult CollectiveOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto group = symbols.lookupNearestSymbolFrom<GroupOp>(*this, getGroupAttr());
  if (!group) // C1
    return emitOpError() << "group @" << getGroup() << " does not exist";
  int64_t stage = stageOf(*this).getStage();
  if (!group.hasStage(stage)) { // C1
    InFlightDiagnostic error = emitOpError() << "stage " << stage << " is not a member of group @" << getGroup();
    error.attachNote(group.getLoc()) << "group declared here";
    return error;
  }
  bool isReduce = getKind() == CollectiveKind::AllReduceSum || getKind() == CollectiveKind::AllReduceMax;
  if ((isReduce && getDim()) || (getKind() != CollectiveKind::AllToAll && getConcat())) // C2
    return emitOpError() << "'" << stringifyCollectiveKind(getKind()) << "' takes no '"
                         << (getConcat() ? "concat" : "dim") << "'";
  if (getTree() && getKind() != CollectiveKind::AllReduceSum && getKind() != CollectiveKind::ReduceScatter) // C4
    return emitOpError() << "'" << stringifyCollectiveKind(getKind()) << "' is no sum, so it takes no 'tree'";
  FailureOr<SmallVector<int64_t>> expected = collectiveShape(*this, group.memberCount()); // C2, C3
  if (failed(expected))
    return failure();
  if (failed(verifyStream(*this, group))) // C4
    return failure();
  BufferType input = getInput().getType(), output = getOutput().getType();
  if (output.getShape() != ArrayRef<int64_t>(*expected) || input.getElementType() != output.getElementType()) // C3
    return emitOpError() << "output is " << output << ", expected shape [" << llvm::interleaved(*expected) << "] of "
                         << input.getElementType() << " from input " << input << " within a group of "
                         << group.memberCount() << " ranks";
  return success();
}

static LogicalResult verifyMessage(Operation *op, FlatSymbolRefAttr name, BufferType type, bool isSend,
                                   SymbolTableCollection &symbols) {
  auto channel = symbols.lookupNearestSymbolFrom<ChannelOp>(op, name);
  if (!channel)
    return op->emitOpError() << "channel @" << name.getValue() << " does not exist";
  int64_t stage = stageOf(op).getStage(), expected = isSend ? channel.getFrom() : channel.getTo();
  InFlightDiagnostic error = op->emitOpError();
  if (expected != stage)
    error << "is in stage " << stage << ", but channel @" << name.getValue()
          << (isSend ? " begins at stage " : " leads to stage ") << expected;
  else if (channel.getType() != type)
    error << "buffer is " << type << ", but channel @" << name.getValue() << " carries " << channel.getType();
  else {
    error.abandon();
    return success();
  }
  error.attachNote(channel.getLoc()) << "channel declared here";
  return error;
}

LogicalResult SendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyMessage(*this, getChannelAttr(), getInput().getType(), /*isSend=*/true, symbols);
}

LogicalResult RecvOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyMessage(*this, getChannelAttr(), getOutput().getType(), /*isSend=*/false, symbols);
}

LogicalResult OutputOp::verify() {
  if (getInput().getType().getShape().empty())
    return success();
  return emitOpError() << "'" << getName() << "' is " << getInput().getType() << ", expected a scalar"; // C1
}
