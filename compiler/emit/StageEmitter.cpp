//===- StageEmitter.cpp - one stage to plan.proto ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers, variables, segments and schedule of a stage. Decides nothing.
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/StageEmitter.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace mlir;
using namespace tgpt;

namespace {

class StageEmitter {
public:
  StageEmitter(planir::StageOp stage, PlanIndices &indices, plan::Plan &plan)
      : stage(stage), indices(indices), plan(plan), made(*plan.add_stages()) {}

  LogicalResult run();

private:
  LogicalResult emitRegion(planir::RegionOp region);
  LogicalResult emitBuffer(planir::BufferOp buffer);
  void emitVariable(planir::VariableOp variable);
  void emitMessages(planir::MessagesOp messages);
  void emitSegment(planir::SegmentOp segment);
  void emitSchedule(planir::ScheduleOp schedule);

  void emitInstruction(Operation &op, plan::Instruction &instruction);
  void emitKernel(planir::KernelOp op, plan::Instruction &instruction);
  void emitCollective(planir::CollectiveOp op, plan::Instruction &instruction);
  void emitScalar(NamedAttribute scalar, plan::Instruction &instruction);
  void setCost(planir::CostAttr cost, plan::Instruction &instruction);
  /// A transfer reads or writes its buffer once.
  void setTransfer(Value read, Value written, plan::Instruction &instruction);
  uint32_t locationOf(Operation &op, StringRef what);
  void emitLayouts(Operation &op, plan::Instruction &instruction);
  uint32_t layoutIndexOf(dist::LayoutAttr layout);

  planir::StageOp stage;
  PlanIndices &indices;
  plan::Plan &plan;
  plan::StageProgram &made;
  llvm::DenseMap<Value, uint32_t> buffers;
  std::map<std::pair<planir::MemoryKind, int64_t>, uint32_t> regions; ///< by kind and chunk
  llvm::StringMap<uint32_t> segments;
};

} // namespace

LogicalResult StageEmitter::run() {
  if (!stage.getArenaBytes())
    return stage.emitOpError("has no arena yet; 'plan-assign-memory' makes it");
  made.set_stage(stage.getStage());
  made.set_arena_bytes(*stage.getArenaBytes());
  for (auto region : stage.getBody().getOps<planir::RegionOp>())
    if (failed(emitRegion(region)))
      return failure();
  for (auto buffer : stage.getBody().getOps<planir::BufferOp>())
    if (failed(emitBuffer(buffer)))
      return failure();
  for (auto variable : stage.getBody().getOps<planir::VariableOp>())
    emitVariable(variable);
  for (auto messages : stage.getBody().getOps<planir::MessagesOp>())
    emitMessages(messages);
  for (auto segment : stage.getBody().getOps<planir::SegmentOp>())
    emitSegment(segment);
  if (planir::ScheduleOp schedule = stage.getSchedule())
    emitSchedule(schedule);
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static plan::Region::Kind kindOf(planir::MemoryKind kind) {
  switch (kind) {
  case planir::MemoryKind::Parameters: return plan::Region::PARAMETERS;
  case planir::MemoryKind::Gradients: return plan::Region::GRADIENTS;
  case planir::MemoryKind::Optimizer: return plan::Region::OPTIMIZER;
  case planir::MemoryKind::Activations: return plan::Region::ACTIVATIONS;
  case planir::MemoryKind::Scratch: return plan::Region::SCRATCH;
  case planir::MemoryKind::Communication: return plan::Region::COMMUNICATION;
  case planir::MemoryKind::Pages: return plan::Region::PAGES;
  case planir::MemoryKind::Step: return plan::Region::STEP;
  }
  llvm_unreachable("a kind of the enum");
}

static plan::Variable::Role roleOf(planir::VariableRole role) {
  switch (role) {
  case planir::VariableRole::Parameter: return plan::Variable::PARAMETER;
  case planir::VariableRole::Master: return plan::Variable::MASTER;
  case planir::VariableRole::Moment1: return plan::Variable::MOMENT1;
  case planir::VariableRole::Moment2: return plan::Variable::MOMENT2;
  case planir::VariableRole::Gradient: return plan::Variable::GRADIENT;
  case planir::VariableRole::Metric: return plan::Variable::METRIC;
  case planir::VariableRole::Scaling: return plan::Variable::SCALING;
  }
  llvm_unreachable("a role of the enum");
}

LogicalResult StageEmitter::emitRegion(planir::RegionOp region) {
  if (!region.getOffsetBytes())
    return region.emitOpError("has no offset yet; 'plan-assign-memory' makes it");
  regions[{region.getKind(), region.getChunk()}] = made.regions_size();
  plan::Region *part = made.add_regions();
  part->set_kind(kindOf(region.getKind()));
  part->set_chunk(region.getChunk());
  part->set_offset_bytes(*region.getOffsetBytes());
  part->set_slot_bytes(*region.getSlotBytes());
  part->set_slots(region.getSlots());
  part->set_peak_live_bytes(*region.getPeakLiveBytes());
  return success();
}

LogicalResult StageEmitter::emitBuffer(planir::BufferOp buffer) {
  if (!buffer.getOffsetBytes())
    return buffer.emitOpError() << "'" << buffer.getName() << "' has no offset yet; 'plan-assign-memory' makes it";
  buffers[buffer.getBuffer()] = made.buffers_size();
  planir::BufferType type = buffer.getBuffer().getType();
  plan::Buffer *place = made.add_buffers();
  place->set_name(buffer.getName().str());
  place->set_region(regions.at({buffer.getRegion(), buffer.getChunk()}));
  place->set_offset_bytes(*buffer.getOffsetBytes());
  place->set_dtype(dtypeOf(type.getElementType()));
  place->mutable_shape()->Add(type.getShape().begin(), type.getShape().end());
  return success();
}

static void emitInitializer(planir::InitializerAttr from, plan::Initializer &to) {
  to.set_kind(from.isNormal() ? plan::Initializer::NORMAL : plan::Initializer::CONSTANT);
  to.set_value(from.getValue().getValueAsDouble());
  if (!from.isNormal())
    return;
  to.set_stddev(from.getStddev().getValueAsDouble());
  to.set_key(from.getKey().str());
}

/// The window of a state is on the state of the logical parameter: "all.moment1" for "part.moment1" of "part", a
/// window on "all".
static void emitWindow(planir::VariableOp variable, dist::WindowAttr from, plan::Window &to) {
  std::string parameter = from.getName().str();
  StringRef suffix = variable.getName();
  if (!suffix.consume_front(variable.getParameter().value_or("")))
    suffix = variable.getName();
  to.set_parameter(parameter);
  to.set_name(parameter + (suffix.empty() || suffix.starts_with(".") ? "" : ".") + suffix.str());
  to.mutable_shape()->Add(from.getShape().begin(), from.getShape().end());
  to.mutable_at()->Add(from.getAt().begin(), from.getAt().end());
}

void StageEmitter::emitVariable(planir::VariableOp variable) {
  plan::Variable *kept = made.add_variables();
  dist::LayoutAttr layout = variable.getLayout();
  kept->set_name(variable.getName().str());
  kept->set_role(roleOf(variable.getRole()));
  kept->set_parameter(variable.getParameter().value_or("").str());
  kept->set_buffer(buffers.lookup(variable.getBuffer()));
  for (auto [dim, size] : llvm::enumerate(layout.getGlobal().asArrayRef())) {
    kept->add_global_shape(size);
    plan::DimSharding *sharding = kept->add_dims();
    for (StringRef axis : layout.axesOf(dim))
      sharding->add_axes(axis.str());
  }
  for (StringRef axis : layout.partialAxes())
    kept->add_partial_axes(axis.str());
  emitInitializer(variable.getInit(), *kept->mutable_initializer());
  kept->set_owner(variable.getOwner());
  if (dist::WindowAttr window = variable.getWindowAttr())
    emitWindow(variable, window, *kept->mutable_window());
  if (!variable.getFlatAt())
    return;
  kept->mutable_flat()->set_first_element(*variable.getFlatAt());
  for (StringRef axis : variable.getFlatAxes()->getAsValueRange<StringAttr>())
    kept->mutable_flat()->add_axes(axis.str());
}

void StageEmitter::emitMessages(planir::MessagesOp messages) {
  plan::Channel *channel = plan.mutable_channels(indices.channels.lookup(messages.getChannel()));
  for (Value buffer : messages.getBuffers())
    channel->add_receive_buffers(buffers.lookup(buffer));
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

static plan::Segment::Kind kindOf(planir::SegmentKind kind) {
  switch (kind) {
  case planir::SegmentKind::Begin: return plan::Segment::BEGIN;
  case planir::SegmentKind::Forward: return plan::Segment::FORWARD;
  case planir::SegmentKind::Backward: return plan::Segment::BACKWARD;
  case planir::SegmentKind::Update: return plan::Segment::UPDATE;
  case planir::SegmentKind::WeightGradient: return plan::Segment::WEIGHT_GRADIENT;
  }
  llvm_unreachable("a kind of the enum");
}

void StageEmitter::emitSegment(planir::SegmentOp segment) {
  segments[segment.getName()] = made.segments_size();
  plan::Segment *program = made.add_segments();
  program->set_name(segment.getName().str());
  program->set_kind(kindOf(segment.getKind()));
  program->set_chunk(segment.getChunk());
  for (Operation &op : segment.getBody().getOps()) {
    plan::Instruction *instruction = program->add_instructions();
    emitInstruction(op, *instruction);
    emitLayouts(op, *instruction);
  }
}

void StageEmitter::emitInstruction(Operation &op, plan::Instruction &instruction) {
  auto input = [&](Value buffer) { instruction.add_inputs(buffers.lookup(buffer)); };
  auto output = [&](Value buffer) { instruction.add_outputs(buffers.lookup(buffer)); };
  if (auto kernel = dyn_cast<planir::KernelOp>(op))
    return emitKernel(kernel, instruction);
  if (auto collective = dyn_cast<planir::CollectiveOp>(op))
    return emitCollective(collective, instruction);
  if (auto send = dyn_cast<planir::SendOp>(op)) {
    instruction.set_kind(plan::Instruction::SEND);
    instruction.set_channel(indices.channels.lookup(send.getChannel()));
    instruction.set_peer_stage(plan.channels(instruction.channel()).to_stage());
    input(send.getInput());
    setTransfer(send.getInput(), {}, instruction);
  } else if (auto recv = dyn_cast<planir::RecvOp>(op)) {
    instruction.set_kind(plan::Instruction::RECV);
    instruction.set_channel(indices.channels.lookup(recv.getChannel()));
    instruction.set_peer_stage(plan.channels(instruction.channel()).from_stage());
    output(recv.getOutput());
    setTransfer({}, recv.getOutput(), instruction);
  } else if (auto wait = dyn_cast<planir::WaitOp>(op)) {
    instruction.set_kind(plan::Instruction::WAIT);
    instruction.set_event(wait.getEvent());
    for (Value buffer : wait.getBuffers())
      input(buffer);
  } else if (auto host = dyn_cast<planir::InputOp>(op)) {
    instruction.set_kind(plan::Instruction::INPUT);
    instruction.set_opcode(host.getName().str());
    output(host.getOutput());
    setTransfer({}, host.getOutput(), instruction);
  } else if (auto report = dyn_cast<planir::OutputOp>(op)) {
    instruction.set_kind(plan::Instruction::OUTPUT);
    instruction.set_opcode(report.getName().str());
    input(report.getInput());
    setTransfer(report.getInput(), {}, instruction);
  }
  instruction.set_location(locationOf(op, op.getName().stripDialect()));
}

void StageEmitter::emitKernel(planir::KernelOp op, plan::Instruction &instruction) {
  instruction.set_kind(plan::Instruction::KERNEL);
  instruction.set_opcode(op.getOpcode().str());
  for (Value buffer : op.getInputs())
    instruction.add_inputs(buffers.lookup(buffer));
  for (Value buffer : op.getOutputs())
    instruction.add_outputs(buffers.lookup(buffer));
  for (NamedAttribute scalar : op.getScalars())
    emitScalar(scalar, instruction);
  setCost(op.getCost(), instruction);
  instruction.set_location(locationOf(*op, op.getOpcode()));
}

void StageEmitter::emitScalar(NamedAttribute scalar, plan::Instruction &instruction) {
  std::string name = scalar.getName().str();
  if (auto offset = dyn_cast<planir::AxisOffsetAttr>(scalar.getValue())) {
    plan::AxisOffset *made = instruction.add_axis_offsets();
    made->set_name(name);
    for (StringRef axis : offset.getAxes().getAsValueRange<StringAttr>())
      made->add_axes(axis.str());
    made->set_stride(offset.getStride());
    return;
  }
  plan::Attribute *made = instruction.add_attributes();
  made->set_name(name);
  if (auto boolean = dyn_cast<BoolAttr>(scalar.getValue()))
    made->set_i(boolean.getValue() ? 1 : 0);
  else if (auto integer = dyn_cast<IntegerAttr>(scalar.getValue()))
    made->set_i(integer.getValue().getSExtValue());
  else if (auto number = dyn_cast<FloatAttr>(scalar.getValue()))
    made->set_f(number.getValueAsDouble());
  else if (auto text = dyn_cast<StringAttr>(scalar.getValue()))
    made->set_s(text.str());
}

static plan::Instruction::Stream streamOf(planir::Stream stream) {
  switch (stream) {
  case planir::Stream::Compute: return plan::Instruction::COMPUTE;
  case planir::Stream::Tensor: return plan::Instruction::TENSOR;
  case planir::Stream::Data: return plan::Instruction::DATA;
  }
  llvm_unreachable("a stream of the enum");
}

void StageEmitter::emitCollective(planir::CollectiveOp op, plan::Instruction &instruction) {
  switch (op.getKind()) {
  case planir::CollectiveKind::AllReduceSum:
  case planir::CollectiveKind::AllReduceMax: instruction.set_kind(plan::Instruction::ALL_REDUCE); break;
  case planir::CollectiveKind::AllGather: instruction.set_kind(plan::Instruction::ALL_GATHER); break;
  case planir::CollectiveKind::ReduceScatter: instruction.set_kind(plan::Instruction::REDUCE_SCATTER); break;
  case planir::CollectiveKind::AllToAll: instruction.set_kind(plan::Instruction::ALL_TO_ALL); break;
  }
  if (op.getKind() == planir::CollectiveKind::AllReduceMax)
    instruction.set_opcode("max");
  else if (op.getKind() == planir::CollectiveKind::AllReduceSum ||
           op.getKind() == planir::CollectiveKind::ReduceScatter)
    instruction.set_opcode(op.getTree() ? "tree_sum" : "sum");
  instruction.add_inputs(buffers.lookup(op.getInput()));
  instruction.add_outputs(buffers.lookup(op.getOutput()));
  instruction.set_group(indices.groups.lookup(op.getGroup()));
  instruction.set_dim(op.getDim().value_or(0));
  instruction.set_dim2(op.getConcat().value_or(0));
  instruction.set_event(op.getEvent().value_or(0));
  instruction.set_stream(streamOf(op.getStream().value_or(planir::Stream::Compute)));
  setCost(op.getCost(), instruction);
  instruction.set_location(locationOf(*op, planir::stringifyCollectiveKind(op.getKind())));
}

static plan::Cost::Work workOf(planir::Work work) {
  switch (work) {
  case planir::Work::MatrixProduct: return plan::Cost::MATRIX_PRODUCT;
  case planir::Work::Attention: return plan::Cost::ATTENTION;
  case planir::Work::Vector: break;
  }
  return plan::Cost::VECTOR;
}

void StageEmitter::setCost(planir::CostAttr cost, plan::Instruction &instruction) {
  instruction.mutable_cost()->set_flops(cost.getFlops());
  instruction.mutable_cost()->set_bytes_read(cost.getBytesRead());
  instruction.mutable_cost()->set_bytes_written(cost.getBytesWritten());
  instruction.mutable_cost()->set_work(workOf(cost.getWork()));
}

void StageEmitter::setTransfer(Value read, Value written, plan::Instruction &instruction) {
  if (read)
    instruction.mutable_cost()->set_bytes_read(cast<planir::BufferType>(read.getType()).getBytes());
  if (written)
    instruction.mutable_cost()->set_bytes_written(cast<planir::BufferType>(written.getType()).getBytes());
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

void StageEmitter::emitLayouts(Operation &op, plan::Instruction &instruction) {
  auto layouts = op.getAttrOfType<ArrayAttr>(planir::layoutsName);
  auto numbers = op.getAttrOfType<DenseI64ArrayAttr>(planir::valuesName);
  if (!layouts || !numbers)
    return;
  instruction.mutable_values()->Add(numbers.asArrayRef().begin(), numbers.asArrayRef().end());
  for (auto layout : layouts.getAsRange<dist::LayoutAttr>())
    instruction.add_layouts(layoutIndexOf(layout));
}

uint32_t StageEmitter::layoutIndexOf(dist::LayoutAttr layout) {
  auto [entry, isNew] = indices.layouts.try_emplace(layout, plan.layouts_size());
  if (!isNew)
    return entry->second;
  plan::Layout *made = plan.add_layouts();
  for (int64_t dim = 0; dim < layout.getRank(); ++dim) {
    plan::DimSharding *sharding = made->add_dims();
    for (StringRef axis : layout.axesOf(dim))
      sharding->add_axes(axis.str());
  }
  for (StringRef axis : layout.partialAxes())
    made->add_partial_axes(axis.str());
  if (layout.isPartial())
    made->set_reduction(dist::stringifyReductionKind(layout.getReduction()).str());
  return entry->second;
}

//===----------------------------------------------------------------------===//
// Locations and schedule
//===----------------------------------------------------------------------===//

/// "model.mlir:42:5 linear": the model line (its folder does not matter) and the
/// instruction. Locations without a line are unknown.
uint32_t StageEmitter::locationOf(Operation &op, StringRef what) {
  FileLineColLoc line;
  op.getLoc()->walk([&](Location part) {
    line = dyn_cast<FileLineColLoc>(part);
    return line ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!line)
    return 0;
  std::string text = (llvm::sys::path::filename(line.getFilename().getValue()) + ":" + Twine(line.getLine()) + ":" +
                      Twine(line.getColumn()) + " " + what)
                         .str();
  auto [entry, isNew] = indices.locations.try_emplace(text, plan.locations_size());
  if (isNew)
    plan.add_locations(text);
  return entry->second;
}

static plan::ScheduleEntry::Phase phaseOf(planir::SchedulePhase phase) {
  switch (phase) {
  case planir::SchedulePhase::None: return plan::ScheduleEntry::PHASE_UNSPECIFIED;
  case planir::SchedulePhase::WarmUp: return plan::ScheduleEntry::WARM_UP;
  case planir::SchedulePhase::Steady: return plan::ScheduleEntry::STEADY;
  case planir::SchedulePhase::CoolDown: return plan::ScheduleEntry::COOL_DOWN;
  }
  llvm_unreachable("a phase of the enum");
}

void StageEmitter::emitSchedule(planir::ScheduleOp schedule) {
  for (auto run : schedule.getRuns().getAsRange<planir::RunAttr>()) {
    plan::ScheduleEntry *entry = made.add_schedule();
    entry->set_segment(segments.lookup(run.getSegment().getValue()));
    entry->set_micro_batch(run.getMicroBatch());
    entry->set_slot(run.getSlot());
    entry->set_page(run.getPage());
    entry->set_phase(phaseOf(run.getPhase()));
  }
}

LogicalResult tgpt::emitStage(planir::StageOp stage, PlanIndices &indices, plan::Plan &plan) {
  return StageEmitter(stage, indices, plan).run();
}
