//===- SmallPlan.cpp - a plan whose bytes can be added up by hand ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/SmallPlan.h"
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace tgpt;

static uint32_t addRegion(plan::StageProgram &stage, plan::Region::Kind kind, int64_t slotBytes, int64_t slots) {
  plan::Region *region = stage.add_regions();
  region->set_kind(kind);
  region->set_offset_bytes(stage.arena_bytes());
  region->set_slot_bytes(slotBytes);
  region->set_slots(slots);
  stage.set_arena_bytes(stage.arena_bytes() + slotBytes * slots);
  return stage.regions_size() - 1;
}

static uint32_t addBuffer(plan::StageProgram &stage, const std::string &name, uint32_t region, int64_t offset,
                          plan::DType dtype, int64_t elements) {
  plan::Buffer *buffer = stage.add_buffers();
  buffer->set_name(name);
  buffer->set_region(region);
  buffer->set_offset_bytes(offset);
  buffer->set_dtype(dtype);
  buffer->add_shape(elements);
  return stage.buffers_size() - 1;
}

static void addVariable(plan::StageProgram &stage, plan::Variable::Role role, uint32_t region, int64_t offset,
                        plan::DType dtype, int64_t elements) {
  plan::Variable *variable = stage.add_variables();
  std::string name = "layers.0.mlp.up.weight" + std::string(role == plan::Variable::PARAMETER ? "" : ".state");
  variable->set_buffer(addBuffer(stage, name, region, offset, dtype, elements));
  variable->set_name(name);
  variable->set_parameter("layers.0.mlp.up.weight");
  variable->set_role(role);
}

static plan::Instruction &addKernel(plan::Segment &segment, const std::string &opcode, std::vector<uint32_t> inputs,
                                    std::vector<uint32_t> outputs, uint32_t location, int64_t flops = 0) {
  plan::Instruction &kernel = *segment.add_instructions();
  kernel.set_kind(plan::Instruction::KERNEL);
  kernel.set_opcode(opcode);
  kernel.mutable_inputs()->Add(inputs.begin(), inputs.end());
  kernel.mutable_outputs()->Add(outputs.begin(), outputs.end());
  kernel.set_location(location);
  kernel.mutable_cost()->set_flops(flops);
  return kernel;
}

plan::Plan tgpt::test::smallPlan() {
  plan::Plan plan;
  plan.set_model_name("small");
  for (auto [name, size] : {std::pair("dp", 3), std::pair("pp", 1), std::pair("tp", 2)}) {
    plan::MeshAxis *axis = plan.mutable_mesh()->add_axes();
    axis->set_name(name);
    axis->set_size(size);
  }
  for (const char *location : {"unknown", "small.mlir:7:3 linear", "small.mlir:8:3 gelu", "small.mlir:8:3 gelu_grad"})
    plan.add_locations(location);
  plan::StageProgram &stage = *plan.add_stages();
  uint32_t parameters = addRegion(stage, plan::Region::PARAMETERS, 2048, 1),
           gradients = addRegion(stage, plan::Region::GRADIENTS, 4096, 1),
           optimizer = addRegion(stage, plan::Region::OPTIMIZER, 12032, 1),
           slots = addRegion(stage, plan::Region::ACTIVATIONS, 1536, 2),
           scratch = addRegion(stage, plan::Region::SCRATCH, 640, 1);
  addVariable(stage, plan::Variable::PARAMETER, parameters, 0, plan::BF16, 1000);
  addVariable(stage, plan::Variable::GRADIENT, gradients, 0, plan::F32, 1000);
  addVariable(stage, plan::Variable::MASTER, optimizer, 0, plan::F32, 1000);
  addVariable(stage, plan::Variable::MOMENT1, optimizer, 4032, plan::F32, 1000);
  addVariable(stage, plan::Variable::MOMENT2, optimizer, 8064, plan::F32, 992);
  addVariable(stage, plan::Variable::METRIC, gradients, 4032, plan::F32, 1);
  uint32_t kept = addBuffer(stage, "layers.0.mlp.up.linear", slots, 0, plan::F32, 375);
  uint32_t short1 = addBuffer(stage, "layers.0.gelu", slots, 0, plan::F32, 1);
  uint32_t short2 = addBuffer(stage, "layers.0.gelu_grad", scratch, 0, plan::F32, 150);
  stage.mutable_buffers(static_cast<int>(short1))->set_offset_bytes(1500);
  plan::Segment &forward = *stage.add_segments(), &backward = *stage.add_segments();
  forward.set_name("forward");
  forward.set_kind(plan::Segment::FORWARD);
  addKernel(forward, "linear", {0}, {kept}, 1, 70);
  addKernel(forward, "gelu", {kept}, {short1}, 2, 30);
  backward.set_name("backward");
  backward.set_kind(plan::Segment::BACKWARD);
  addKernel(backward, "gelu_grad", {kept}, {short2}, 3, 200);
  for (auto [segment, microBatch, slot] : {std::tuple(0, 0, 0), std::tuple(0, 1, 1), std::tuple(1, 0, 0),
                                           std::tuple(0, 2, 0), std::tuple(1, 1, 1), std::tuple(1, 2, 0)}) {
    plan::ScheduleEntry *entry = stage.add_schedule();
    entry->set_segment(segment);
    entry->set_micro_batch(microBatch);
    entry->set_slot(slot);
  }
  return plan;
}
