//===- PlanVerify.cpp - constraints of programs and stages ---*- C++ -*-===//
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
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <set>

using namespace mlir;
using namespace tgpt::planir;

LogicalResult InitializerAttr::verify(function_ref<InFlightDiagnostic()> emitError, FloatAttr value, FloatAttr stddev,
                                      StringAttr key) {
  if (static_cast<bool>(stddev) != static_cast<bool>(key))
    return emitError() << "'stddev' and 'key' come together";
  if (stddev && !(stddev.getValueAsDouble() >= 0))
    return emitError() << "'stddev' is " << stddev.getValueAsDouble() << ", expected at least 0";
  return success();
}

LogicalResult ProgramOp::verify() {
  llvm::StringSet<> names;
  if (getAxes().size() != getSizes().size())
    return emitOpError() << "mesh has " << getAxes().size() << " axes, but " << getSizes().size() << " sizes";
  for (auto [axis, size] : llvm::zip(getAxes().getAsValueRange<StringAttr>(), getSizes())) {
    if (!names.insert(axis).second) // C1
      return emitOpError() << "mesh names axis '" << axis << "' twice";
    if (size < 1) // C1
      return emitOpError() << "mesh axis '" << axis << "' has size " << size << ", expected at least 1";
  }
  int64_t batch = getTraining().getGlobalBatch();
  int64_t held = getTraining().getSamples() * getTraining().getMicroBatches() * sizeOf("dp") * sizeOf("dp_replica");
  if (batch < 0 || batch > held) // C4
    return emitOpError() << "a step has " << batch << " samples, but its micro-batches hold " << held;
  int64_t next = 0;
  for (Operation &op : getBody().getOps()) {
    if (auto stage = dyn_cast<StageOp>(op)) {
      if (stage.getStage() != static_cast<uint64_t>(next)) // C2
        return stage.emitOpError() << "is stage " << stage.getStage() << " in place of stage " << next;
      ++next;
    } else if (!isa<GroupOp, ChannelOp>(op)) { // C3
      return op.emitOpError("is not a group, channel or stage of the plan");
    }
  }
  if (next != stageCount()) // C2
    return emitOpError() << "has " << next << " stages, but mesh axis 'pp' has size " << stageCount();
  return success();
}

LogicalResult GroupOp::verify() {
  auto program = cast<ProgramOp>((*this)->getParentOp());
  llvm::StringSet<> names;
  for (StringRef axis : getAxes().getAsValueRange<StringAttr>()) {
    if (!program.hasAxis(axis)) // C1
      return emitOpError() << "axis '" << axis << "' is not an axis of the mesh";
    if (!names.insert(axis).second) // C1
      return emitOpError() << "names axis '" << axis << "' twice";
  }
  if (names.empty()) // C1
    return emitOpError("has no axes");
  if (!getStages())
    return success();
  if (!names.contains("pp")) // C2
    return emitOpError("lists stages, but has no axis 'pp'");
  int64_t last = -1;
  ArrayRef<int64_t> stages = *getStages();
  for (int64_t stage : stages) {
    if (stage <= last || stage >= program.stageCount()) // C2
      return emitOpError() << "lists stage " << stage << " after " << last << ", expected ascending stages below "
                           << program.stageCount();
    last = stage;
  }
  return success();
}

LogicalResult ChannelOp::verify() {
  int64_t stages = cast<ProgramOp>((*this)->getParentOp()).stageCount();
  for (int64_t stage : {getFrom(), getTo()})
    if (stage < 0 || stage >= stages) // C1
      return emitOpError() << "ends at stage " << stage << ", but the program has " << stages << " stages";
  if (static_cast<int64_t>(getDepth()) < 1) // C2
    return emitOpError() << "has depth " << static_cast<int64_t>(getDepth()) << ", expected at least 1";
  return success();
}

// C1, for the shards of flat variables C3.
static LogicalResult verifyFlatVariable(VariableOp variable, ArrayRef<int64_t> global) {
  auto program = variable->getParentOfType<ProgramOp>();
  tgpt::dist::LayoutAttr layout = variable.getLayout();
  int64_t elements = 1, pieces = 1;
  for (auto [dim, size] : llvm::enumerate(global)) {
    int64_t parts = 1;
    for (StringRef axis : layout.axesOf(dim))
      parts *= program.sizeOf(axis);
    if (size % parts != 0)
      return variable.emitOpError() << "'" << variable.getName() << "' has global dim " << dim << " of " << size
                                    << " over " << parts << " ranks";
    elements *= size / parts;
  }
  for (StringRef axis : variable.getFlatAxes()->getAsValueRange<StringAttr>()) {
    if (!program.hasAxis(axis) || layout.dimOf(axis) >= 0 || layout.isPartialOver(axis))
      return variable.emitOpError() << "'" << variable.getName() << "' lies in pieces over '" << axis
                                    << "', which is no axis of the mesh or is one of its layout";
    pieces *= program.sizeOf(axis);
  }
  BufferType type = variable.getBuffer().getType();
  int64_t whole = type.getBytes() / type.getElementBytes() * pieces, begin = *variable.getFlatAt();
  if (begin < 0 || begin + elements > whole)
    return variable.emitOpError() << "'" << variable.getName() << "' has elements " << begin << " to "
                                  << begin + elements << " of a flat tensor of " << whole;
  return success();
}

LogicalResult VariableOp::verify() {
  auto program = (*this)->getParentOfType<ProgramOp>();
  BufferType type = getBuffer().getType();
  ArrayRef<int64_t> global = getLayout().getGlobal() ? getLayout().getGlobal().asArrayRef() : ArrayRef<int64_t>();
  if (getFlatAt().has_value() != getFlatAxes().has_value())
    return emitOpError() << "'" << getName() << "' has one of 'flat_at' and 'flat_axes', expected both or none";
  bool isFlat = getFlatAt().has_value();
  if (std::optional<tgpt::dist::WindowAttr> window = getWindow()) { // C4
    if (window->getShape().size() != global.size())
      return emitOpError() << "'" << getName() << "' has a window of " << window->getShape().size()
                           << " dims, but its layout has " << global.size() << " global dims";
    if (!getParameter())
      return emitOpError() << "'" << getName() << "' has a window, but belongs to no parameter";
  }
  if (isFlat && (!getLayout().getGlobal() || failed(verifyFlatVariable(*this, global)))) // C3
    return failure();
  if (!isFlat && (!getLayout().getGlobal() || global.size() != type.getShape().size())) // C1
    return emitOpError() << "'" << getName() << "' has a layout of " << global.size()
                         << " global dims, but its buffer has " << type.getShape().size();
  for (auto [dim, size] : llvm::enumerate(isFlat ? ArrayRef<int64_t>() : global)) {
    int64_t parts = 1;
    for (StringRef axis : getLayout().axesOf(dim))
      parts *= program.sizeOf(axis);
    if (size != type.getShape()[dim] * parts) // C1
      return emitOpError() << "'" << getName() << "' has global dim " << dim << " of " << size << " over " << parts
                           << " ranks, but its buffer holds " << type.getShape()[dim];
  }
  auto buffer = getBuffer().getDefiningOp<BufferOp>();
  if (buffer && buffer.getRegion() != regionOf(getRole())) // C2
    return emitOpError() << "'" << getName() << "' lies in region '" << stringifyMemoryKind(buffer.getRegion())
                         << "', expected '" << stringifyMemoryKind(regionOf(getRole())) << "' for a "
                         << stringifyVariableRole(getRole());
  return success();
}

LogicalResult MessagesOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto channel = symbols.lookupNearestSymbolFrom<ChannelOp>(*this, getChannelAttr());
  if (!channel) // C1
    return emitOpError() << "channel @" << getChannel() << " does not exist";
  if (channel.getTo() != stageOf(*this).getStage()) // C1
    return emitOpError() << "channel @" << getChannel() << " leads to stage " << channel.getTo() << ", not here";
  if (getBuffers().size() != channel.getDepth()) // C2
    return emitOpError() << "has " << getBuffers().size() << " buffers for a channel of depth " << channel.getDepth();
  for (Value value : getBuffers()) {
    if (value.getType() != channel.getType()) // C2
      return emitOpError() << "has a buffer of type " << value.getType() << " for a channel of " << channel.getType();
    auto buffer = value.getDefiningOp<BufferOp>();
    if (buffer && buffer.getRegion() != MemoryKind::Communication) // C2
      return emitOpError() << "has buffer '" << buffer.getName() << "', which does not lie in the communication region";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

LogicalResult StageOp::verify() {
  llvm::StringSet<> segments;
  std::set<std::pair<MemoryKind, int64_t>> regions;
  int schedules = 0;
  for (Operation &op : getBody().getOps()) {
    if (!isa<RegionOp, BufferOp, VariableOp, MessagesOp, SegmentOp, ScheduleOp>(op)) // C1
      return op.emitOpError("does not belong in a stage");
    if (isa<ScheduleOp>(op) && ++schedules > 1) // C1
      return op.emitOpError("is a second schedule of its stage");
    if (auto region = dyn_cast<RegionOp>(op);
        region && !regions.emplace(region.getKind(), region.getChunk()).second) // C2
      return op.emitOpError() << "is a second region of kind '" << stringifyMemoryKind(region.getKind()) << "'"
                              << (region.getChunk() == 0 ? "" : " of chunk " + std::to_string(region.getChunk()));
    if (auto segment = dyn_cast<SegmentOp>(op); segment && !segments.insert(segment.getName()).second) // C2
      return op.emitOpError() << "is a second segment named '" << segment.getName() << "'";
  }
  return getArenaBytes() ? verifyArena(*this, *getArenaBytes()) : success(); // C3
}

// C3
static LogicalResult verifyChunkOf(SegmentOp segment) {
  int64_t chunk = segment.getChunk();
  bool isOnce = segment.getKind() == SegmentKind::Begin || segment.getKind() == SegmentKind::Update;
  if (chunk < 0 || (chunk > 0 && isOnce))
    return segment.emitOpError() << "'" << segment.getName() << "' of kind '" << stringifySegmentKind(segment.getKind())
                                 << "' has chunk " << chunk << ", expected " << (isOnce ? "none" : "at least 0");
  for (Operation &op : segment.getBody().getOps())
    for (Value operand : op.getOperands())
      if (auto buffer = operand.getDefiningOp<BufferOp>();
          buffer && isOfMicroBatch(buffer.getRegion()) && buffer.getChunk() != segment.getChunk())
        return op.emitOpError() << "of chunk " << chunk << " uses '" << buffer.getName() << "', which lies in the "
                                << stringifyMemoryKind(buffer.getRegion()) << " of chunk " << buffer.getChunk();
  return success();
}

// C4
static LogicalResult verifyStepOf(SegmentOp segment) {
  bool isOnce = segment.getKind() == SegmentKind::Begin || segment.getKind() == SegmentKind::Update;
  bool hasStep = static_cast<bool>(stageOf(segment).getRegionOf(MemoryKind::Step));
  for (Operation &op : segment.getBody().getOps())
    for (Value operand : op.getOperands()) {
      auto buffer = operand.getDefiningOp<BufferOp>();
      if (!buffer)
        continue;
      MemoryKind kind = buffer.getRegion();
      bool isUnderStep =
          isOnce && (isPaged(kind) || (hasStep && kind != MemoryKind::Step && isEmptyBetweenSteps(kind)));
      if (isUnderStep || (!isOnce && kind == MemoryKind::Step))
        return op.emitOpError() << "of a segment of kind '" << stringifySegmentKind(segment.getKind()) << "' uses '"
                                << buffer.getName() << "', which lies in the region of kind '"
                                << stringifyMemoryKind(kind) << "'";
    }
  return success();
}

// C5
static LogicalResult verifyWorkspaceOf(SegmentOp segment) {
  for (Operation &op : segment.getBody().getOps())
    for (OpOperand &operand : op.getOpOperands()) {
      auto buffer = operand.get().getDefiningOp<BufferOp>();
      auto kernel = dyn_cast<KernelOp>(op);
      bool isWorkspace = kernel && kernel.getWorkspace() && operand.getOperandNumber() == op.getNumOperands() - 1;
      if (buffer && buffer.getRegion() == MemoryKind::Workspace && !isWorkspace)
        return op.emitOpError() << "uses '" << buffer.getName() << "', which is a workspace of kernels";
    }
  return success();
}

LogicalResult SegmentOp::verify() {
  for (Operation &op : getBody().getOps())
    if (!isa<KernelOp, CollectiveOp, WaitOp, SendOp, RecvOp, InputOp, OutputOp>(op)) // C1
      return op.emitOpError("is not an instruction of the plan");
  if (failed(verifyChunkOf(*this)) || failed(verifyStepOf(*this)) || failed(verifyWorkspaceOf(*this))) // C3, C4, C5
    return failure();
  return verifyFlights(*this); // C2
}
