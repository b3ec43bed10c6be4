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
#include "compiler/emit/InstructionEmitter.h"
#include "compiler/emit/PlanEnums.h"
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

LogicalResult StageEmitter::emitRegion(planir::RegionOp region) {
  if (!region.getOffsetBytes())
    return region.emitOpError("has no offset yet; 'plan-assign-memory' makes it");
  regions[{region.getKind(), region.getChunk()}] = made.regions_size();
  plan::Region *part = made.add_regions();
  part->set_kind(kindOf(region.getKind()));
  part->set_chunk(region.getChunk());
  part->set_offset_bytes(*region.getOffsetBytes());
  part->set_slot_bytes(*region.getSlotBytes());
  for (int64_t place : region.getPlaces().value_or(ArrayRef<int64_t>()))
    part->add_places(place);
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

void StageEmitter::emitSegment(planir::SegmentOp segment) {
  segments[segment.getName()] = made.segments_size();
  plan::Segment *program = made.add_segments();
  program->set_name(segment.getName().str());
  program->set_kind(kindOf(segment.getKind()));
  program->set_chunk(segment.getChunk());
  InstructionEmitter emitter(buffers, indices, plan);
  for (Operation &op : segment.getBody().getOps())
    emitter.emit(op, *program->add_instructions());
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

void StageEmitter::emitSchedule(planir::ScheduleOp schedule) {
  for (auto run : schedule.getRuns().getAsRange<planir::RunAttr>()) {
    plan::ScheduleEntry *entry = made.add_schedule();
    entry->set_segment(segments.lookup(run.getSegment().getValue()));
    entry->set_micro_batch(run.getMicroBatch());
    entry->set_slot(run.getSlot());
    entry->set_page(run.getPage());
    entry->set_leaf(run.getLeaf());
    entry->set_phase(phaseOf(run.getPhase()));
  }
}

LogicalResult tgpt::emitStage(planir::StageOp stage, PlanIndices &indices, plan::Plan &plan) {
  return StageEmitter(stage, indices, plan).run();
}
