//===- ChunkedPlan.cpp - two chunks on one rank -----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See ChunkedPlan.h.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/ChunkedPlan.h"
#include "runtime/plan/BufferExtent.h"
#include "test/unit/plan/PlanBuilder.h"

using namespace tgpt;
using namespace tgpt::test;

namespace {

struct Buffers {
  uint32_t w, g, x, y, z, d, e, t, s;
};

} // namespace

static Buffers addBuffers(PlanBuilder &b) {
  Buffers made;
  plan::Variable &weight = b.variable(0, "w", plan::Variable::PARAMETER, plan::F64, {4}, {{}});
  weight.mutable_initializer()->set_value(0.5);
  made.w = weight.buffer();
  made.g = b.variable(0, "w.grad", plan::Variable::GRADIENT, plan::F64, {4}, {{}}).buffer();
  made.x = b.activation(0, "x", 0, plan::F64, {4});
  made.e = b.activation(0, "e", 0, plan::F64, {4});
  made.z = b.activation(0, "z", 1, plan::F64, {4});
  made.d = b.activation(0, "d", 1, plan::F64, {4});
  made.y = b.buffer(0, "y", plan::Region::SCRATCH, plan::F64, {4});
  made.t = b.buffer(0, "t", plan::Region::SCRATCH, plan::F64, {4});
  made.s = b.buffer(0, "s", plan::Region::SCRATCH, plan::F64, {});
  b.activationSlots(0, 3, 0);
  b.activationSlots(0, 2, 1);
  return made;
}

/// The segments, in the order of ChunkedSegment.
static void addSegments(PlanBuilder &b, const Buffers &in) {
  uint32_t up = b.channel(0, 0, 2, plan::F64, {4}), down = b.channel(0, 0, 1, plan::F64, {4});
  b.segment(0, "begin", plan::Segment::BEGIN);
  b.segment(0, "forward", plan::Segment::FORWARD);
  b.segment(0, "forward.1", plan::Segment::FORWARD, 1);
  b.segment(0, "backward.1", plan::Segment::BACKWARD, 1);
  b.segment(0, "weight_gradient.1", plan::Segment::WEIGHT_GRADIENT, 1);
  b.segment(0, "backward", plan::Segment::BACKWARD);
  b.segment(0, "weight_gradient", plan::Segment::WEIGHT_GRADIENT);
  b.segment(0, "update", plan::Segment::UPDATE);
  auto addToGradient = [&](uint32_t segment, uint32_t first, uint32_t second) {
    b.kernel(0, segment, "add", {first, second}, {in.t});
    setAttribute(b.kernel(0, segment, "accumulate", {in.t}, {in.g}), "accumulate", int64_t(1));
  };
  setAttribute(b.kernel(0, Begin, "fill", {}, {in.g}), "value", 0.0);
  b.instruction(0, Forward, plan::Instruction::INPUT, "values", {}, {in.x});
  b.kernel(0, Forward, "add", {in.x, in.w}, {in.y});
  b.send(0, Forward, up, in.y);
  b.receive(0, Forward1, up, in.z);
  b.kernel(0, Backward1, "add", {in.z, in.z}, {in.d});
  b.send(0, Backward1, down, in.d);
  addToGradient(WeightGradient1, in.z, in.d);
  b.receive(0, Backward, down, in.e);
  addToGradient(WeightGradient, in.x, in.e);
  b.kernel(0, Update, "sum_squares", {in.g}, {in.s});
  b.instruction(0, Update, plan::Instruction::OUTPUT, "loss", {in.s}, {});
}

plan::Plan tgpt::test::chunkedPlan() {
  PlanBuilder b(1, 1, 1, 3);
  addSegments(b, addBuffers(b));
  struct Entry {
    uint32_t segment;
    int64_t microBatch, slot;
  };
  b.run(0, Begin);
  for (Entry entry : {Entry{Forward, 0, 0},
                      {Forward, 1, 1},
                      {Forward1, 0, 0},
                      {Backward1, 0, 0},
                      {Forward, 2, 2},
                      {Forward1, 1, 1},
                      {WeightGradient1, 0, 0},
                      {Backward, 0, 0},
                      {Backward1, 1, 1},
                      {Backward, 1, 1},
                      {WeightGradient, 0, 0},
                      {Forward1, 2, 0},
                      {WeightGradient1, 1, 1},
                      {Backward1, 2, 0},
                      {Backward, 2, 2},
                      {WeightGradient1, 2, 0},
                      {WeightGradient, 1, 1},
                      {WeightGradient, 2, 2}})
    b.run(0, entry.segment, entry.microBatch, entry.slot);
  b.run(0, Update);
  return b.build();
}

static int regionOf(const plan::StageProgram &stage, plan::Region::Kind kind, int64_t chunk) {
  for (int i = 0; i < stage.regions_size(); ++i)
    if (stage.regions(i).kind() == kind && stage.regions(i).chunk() == chunk)
      return i;
  throw std::out_of_range("no such region");
}

/// A region of the same size behind the others, to which the buffers of `from` go.
static void moveTo(plan::StageProgram &stage, plan::Region::Kind kind, int from, int64_t slots) {
  plan::Region region = stage.regions(from);
  region.set_kind(kind);
  region.set_slots(slots);
  stage.mutable_regions(from)->set_slot_bytes(0);
  stage.mutable_regions(from)->set_peak_live_bytes(0);
  for (plan::Buffer &buffer : *stage.mutable_buffers())
    if (buffer.region() == static_cast<uint32_t>(from))
      buffer.set_region(static_cast<uint32_t>(stage.regions_size()));
  *stage.add_regions() = region;
}

/// Regions that hold something for longer than a micro-batch, then pages, then scratch; step over both.
static void layOutPaged(plan::StageProgram &stage) {
  using plan::Region;
  int64_t end = 0;
  auto place = [&](Region::Kind kind, int64_t chunk, int64_t offset) {
    Region &region = *stage.mutable_regions(regionOf(stage, kind, chunk));
    region.set_offset_bytes(offset);
    end = std::max(end, offset + runtime::regionBytes(region));
  };
  for (Region::Kind kind : {Region::PARAMETERS, Region::GRADIENTS, Region::OPTIMIZER, Region::COMMUNICATION})
    place(kind, 0, end);
  int64_t pages = end;
  place(Region::PAGES, 0, pages);
  place(Region::PAGES, 1, pages);
  for (Region &region : *stage.mutable_regions())
    if (region.kind() == Region::LEAVES)
      place(Region::LEAVES, region.chunk(), pages);
  place(Region::ACTIVATIONS, 0, end);
  place(Region::ACTIVATIONS, 1, end);
  place(Region::SCRATCH, 0, end);
  place(Region::STEP, 0, pages);
  stage.set_arena_bytes(end);
}

plan::Plan tgpt::test::pagedPlan() {
  plan::Plan plan = chunkedPlan();
  plan::StageProgram &stage = *plan.mutable_stages(0);
  for (int64_t chunk : {0, 1})
    moveTo(stage, plan::Region::PAGES, regionOf(stage, plan::Region::ACTIVATIONS, chunk), 5);
  uint32_t scratch = stage.segments(Update).instructions(0).outputs(0);
  stage.mutable_buffers(static_cast<int>(scratch))->set_region(static_cast<uint32_t>(stage.regions_size()));
  stage.mutable_buffers(static_cast<int>(scratch))->set_offset_bytes(0);
  plan::Region &rest = *stage.mutable_regions(regionOf(stage, plan::Region::SCRATCH, 0));
  rest.set_slot_bytes(rest.slot_bytes() - 64); // it was the last
  rest.set_peak_live_bytes(std::min(rest.peak_live_bytes(), rest.slot_bytes()));
  plan::Region &step = *stage.add_regions();
  step.set_kind(plan::Region::STEP);
  step.set_slots(1);
  step.set_slot_bytes(64);
  step.set_peak_live_bytes(8);
  const int64_t pages[2][3] = {{1, 2, 4}, {3, 5, 1}}; // of chunk and micro-batch: the last takes what the first had
  for (plan::ScheduleEntry &entry : *stage.mutable_schedule())
    if (entry.micro_batch() >= 0)
      entry.set_page(pages[stage.segments(static_cast<int>(entry.segment())).chunk()][entry.micro_batch()]);
  layOutPaged(stage);
  return plan;
}

plan::Plan tgpt::test::placedPlan() {
  plan::Plan plan = pagedPlan();
  plan::StageProgram &stage = *plan.mutable_stages(0);
  for (int64_t chunk : {0, 1}) {
    plan::Region &pages = *stage.mutable_regions(regionOf(stage, plan::Region::PAGES, chunk));
    plan::Region leaves = pages;
    leaves.set_kind(plan::Region::LEAVES);
    leaves.set_slots(6);
    for (int64_t begin : {0, 128, 256, 384, 512})
      pages.add_places(begin);
    for (int64_t begin : {512, 640, 768, 896, 1024, 1152}) // the first lies over page 5
      leaves.add_places(begin);
    *stage.add_regions() = leaves;
  }
  auto lieInLeaf = [&](const std::string &name, int64_t chunk) {
    for (plan::Buffer &buffer : *stage.mutable_buffers())
      if (buffer.name() == name)
        buffer.set_region(static_cast<uint32_t>(regionOf(stage, plan::Region::LEAVES, chunk)));
  };
  lieInLeaf("e", 0);
  lieInLeaf("d", 1);
  lieInLeaf("y", 0);
  const int64_t leaves[2][3] = {{2, 3, 5}, {4, 6, 2}}; // of chunk and micro-batch, from its backward on
  for (plan::ScheduleEntry &entry : *stage.mutable_schedule())
    if (entry.micro_batch() >= 0 && entry.segment() != Forward1)
      entry.set_leaf(entry.segment() == Forward
                         ? 1
                         : leaves[stage.segments(static_cast<int>(entry.segment())).chunk()][entry.micro_batch()]);
  layOutPaged(stage);
  return plan;
}
