//===- PlanBuilder.cpp - plans written in C++, for tests --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Region r of a stage is the one of kind r + 1, then come the activations of further
// chunks; buffers are appended to them.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/PlanBuilder.h"
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/PlanFile.h"

using namespace tgpt;
using namespace tgpt::test;

static int64_t roundedUp(int64_t bytes) {
  return (bytes + runtime::regionGrainBytes - 1) / runtime::regionGrainBytes * runtime::regionGrainBytes;
}

PlanBuilder::PlanBuilder(int64_t dp, int64_t pp, int64_t tp, int64_t microBatches) {
  plan.set_format_version(runtime::planFormatVersion);
  plan.set_model_name("test");
  plan.set_seed(1);
  for (auto [name, size] : {std::pair("dp", dp), std::pair("pp", pp), std::pair("tp", tp)}) {
    plan::MeshAxis *axis = plan.mutable_mesh()->add_axes();
    axis->set_name(name);
    axis->set_size(size);
  }
  plan.mutable_training()->set_sequence_length(4);
  plan.mutable_training()->set_micro_batch_samples(1);
  plan.mutable_training()->set_micro_batches(microBatches);
  plan.mutable_training()->set_vocabulary(16);
  plan.mutable_training()->set_compute_dtype(plan::F64);
  plan.add_locations("unknown");
  for (int64_t s = 0; s < pp; ++s) {
    plan::StageProgram *stage = plan.add_stages();
    stage->set_stage(s);
    for (int kind = plan::Region::PARAMETERS; kind <= plan::Region::COMMUNICATION; ++kind) {
      plan::Region *region = stage->add_regions();
      region->set_kind(static_cast<plan::Region::Kind>(kind));
      region->set_slots(1);
    }
  }
}

int64_t PlanBuilder::axisSize(const std::string &axis) const {
  for (const plan::MeshAxis &candidate : plan.mesh().axes())
    if (candidate.name() == axis)
      return candidate.size();
  return 1;
}

uint32_t PlanBuilder::buffer(int stage, const std::string &name, plan::Region::Kind kind, plan::DType dtype,
                             const Shape &shape) {
  return bufferIn(stage, kind - 1, name, dtype, shape);
}

uint32_t PlanBuilder::activation(int stage, const std::string &name, int64_t chunk, plan::DType dtype,
                                 const Shape &shape) {
  return bufferIn(stage, activationsOf(stage, chunk), name, dtype, shape);
}

int PlanBuilder::activationsOf(int stage, int64_t chunk) {
  plan::StageProgram &program = *plan.mutable_stages(stage);
  for (int i = 0; i < program.regions_size(); ++i)
    if (program.regions(i).kind() == plan::Region::ACTIVATIONS && program.regions(i).chunk() == chunk)
      return i;
  plan::Region *region = program.add_regions();
  region->set_kind(plan::Region::ACTIVATIONS);
  region->set_chunk(chunk);
  region->set_slots(1);
  return program.regions_size() - 1;
}

uint32_t PlanBuilder::bufferIn(int stage, int index, const std::string &name, plan::DType dtype, const Shape &shape) {
  plan::StageProgram &program = *plan.mutable_stages(stage);
  plan::Region &region = *program.mutable_regions(index);
  plan::Buffer &buffer = *program.add_buffers();
  buffer.set_name(name);
  buffer.set_region(index);
  buffer.set_offset_bytes(region.slot_bytes());
  buffer.set_dtype(dtype);
  buffer.mutable_shape()->Assign(shape.begin(), shape.end());
  region.set_slot_bytes(region.slot_bytes() + roundedUp(*runtime::tensorBytes(dtype, shape)));
  return program.buffers_size() - 1;
}

static plan::Region::Kind regionOf(plan::Variable::Role role) {
  switch (role) {
  case plan::Variable::PARAMETER: return plan::Region::PARAMETERS;
  case plan::Variable::GRADIENT: return plan::Region::GRADIENTS;
  default: return plan::Region::OPTIMIZER;
  }
}

plan::Variable &PlanBuilder::variable(int stage, const std::string &name, plan::Variable::Role role, plan::DType dtype,
                                      const Shape &globalShape, const std::vector<Axes> &dims) {
  Shape local = globalShape;
  for (size_t i = 0; i < local.size(); ++i)
    for (const std::string &axis : dims[i])
      local[i] /= axisSize(axis);
  uint32_t place = buffer(stage, name, regionOf(role), dtype, local);
  plan::Variable &variable = *plan.mutable_stages(stage)->add_variables();
  variable.set_name(name);
  variable.set_role(role);
  variable.set_buffer(place);
  variable.mutable_global_shape()->Assign(globalShape.begin(), globalShape.end());
  for (const Axes &axes : dims)
    variable.add_dims()->mutable_axes()->Assign(axes.begin(), axes.end());
  variable.mutable_initializer()->set_kind(plan::Initializer::CONSTANT);
  variable.set_owner(true);
  return variable;
}

uint32_t PlanBuilder::group(const Axes &axes, const std::vector<int64_t> &stages) {
  plan::Group &group = *plan.add_groups();
  group.mutable_axes()->Assign(axes.begin(), axes.end());
  group.mutable_stages()->Assign(stages.begin(), stages.end());
  return plan.groups_size() - 1;
}

uint32_t PlanBuilder::channel(int from, int to, uint32_t depth, plan::DType dtype, const Shape &shape) {
  plan::Channel &channel = *plan.add_channels();
  uint32_t index = plan.channels_size() - 1;
  channel.set_from_stage(from);
  channel.set_to_stage(to);
  channel.set_depth(depth);
  channel.set_dtype(dtype);
  channel.mutable_shape()->Assign(shape.begin(), shape.end());
  for (uint32_t i = 0; i < depth; ++i)
    channel.add_receive_buffers(buffer(to, "channel" + std::to_string(index) + ".message" + std::to_string(i),
                                       plan::Region::COMMUNICATION, dtype, shape));
  return index;
}

uint32_t PlanBuilder::location(const std::string &text) {
  plan.add_locations(text);
  return plan.locations_size() - 1;
}

uint32_t PlanBuilder::segment(int stage, const std::string &name, plan::Segment::Kind kind, int64_t chunk) {
  plan::Segment &segment = *plan.mutable_stages(stage)->add_segments();
  segment.set_name(name);
  segment.set_kind(kind);
  segment.set_chunk(chunk);
  return plan.stages(stage).segments_size() - 1;
}

plan::Instruction &PlanBuilder::instruction(int stage, uint32_t segment, plan::Instruction::Kind kind,
                                            const std::string &opcode, const std::vector<uint32_t> &inputs,
                                            const std::vector<uint32_t> &outputs) {
  plan::Instruction &instruction = *plan.mutable_stages(stage)->mutable_segments(segment)->add_instructions();
  instruction.set_kind(kind);
  instruction.set_opcode(opcode);
  instruction.mutable_inputs()->Assign(inputs.begin(), inputs.end());
  instruction.mutable_outputs()->Assign(outputs.begin(), outputs.end());
  return instruction;
}

plan::Instruction &PlanBuilder::collective(int stage, uint32_t segment, plan::Instruction::Kind kind, uint32_t group,
                                           uint32_t input, uint32_t output) {
  bool reduces = kind == plan::Instruction::ALL_REDUCE || kind == plan::Instruction::REDUCE_SCATTER;
  plan::Instruction &made = instruction(stage, segment, kind, reduces ? "sum" : "", {input}, {output});
  made.set_group(group);
  return made;
}

void PlanBuilder::send(int stage, uint32_t segment, uint32_t channel, uint32_t buffer) {
  plan::Instruction &made = instruction(stage, segment, plan::Instruction::SEND, "", {buffer}, {});
  made.set_channel(channel);
  made.set_peer_stage(plan.channels(channel).to_stage());
}

void PlanBuilder::receive(int stage, uint32_t segment, uint32_t channel, uint32_t buffer) {
  plan::Instruction &made = instruction(stage, segment, plan::Instruction::RECV, "", {}, {buffer});
  made.set_channel(channel);
  made.set_peer_stage(plan.channels(channel).from_stage());
}

void PlanBuilder::run(int stage, uint32_t segment, int64_t microBatch, int64_t slot) {
  plan::ScheduleEntry &entry = *plan.mutable_stages(stage)->add_schedule();
  entry.set_segment(segment);
  entry.set_micro_batch(microBatch);
  entry.set_slot(slot);
  if (microBatch >= 0)
    entry.set_phase(plan::ScheduleEntry::STEADY);
}

void PlanBuilder::activationSlots(int stage, int64_t slots, int64_t chunk) {
  plan.mutable_stages(stage)->mutable_regions(activationsOf(stage, chunk))->set_slots(slots);
}

plan::Plan PlanBuilder::build() const {
  plan::Plan result = plan;
  for (plan::StageProgram &stage : *result.mutable_stages()) {
    int64_t end = 0;
    for (plan::Region &region : *stage.mutable_regions()) {
      region.set_offset_bytes(end);
      end += region.slots() * region.slot_bytes();
    }
    stage.set_arena_bytes(end);
  }
  return result;
}

void tgpt::test::setAttribute(plan::Instruction &instruction, const std::string &name, double value) {
  plan::Attribute &attribute = *instruction.add_attributes();
  attribute.set_name(name);
  attribute.set_f(value);
}

void tgpt::test::setAttribute(plan::Instruction &instruction, const std::string &name, int64_t value) {
  plan::Attribute &attribute = *instruction.add_attributes();
  attribute.set_name(name);
  attribute.set_i(value);
}
