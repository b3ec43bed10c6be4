//===- TinyPipeline.cpp - a two-stage plan with every transport -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program is in TinyPipeline.h. All values are small multiples of 1/8, so
// that sums are exact in any order for a few steps.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/TinyPipeline.h"
#include "test/unit/plan/PlanBuilder.h"

using namespace tgpt;
using namespace tgpt::test;

namespace {

/// Builds the two stages side by side.
class TinyPipelineBuilder {
public:
  TinyPipelineBuilder(int64_t dp, int64_t tp, int64_t microBatches)
      : microBatches(microBatches), part(4 / tp), b(dp, 2, tp, microBatches) {
    overTp = b.group({"tp"});
    overDp = b.group({"dp"});
    overAll = b.group({"dp", "pp", "tp"});
    forward = b.channel(0, 1, 2, plan::F64, {4});
    backward = b.channel(1, 0, 1, plan::F64, {4});
  }

  plan::Plan build() {
    firstStage();
    lastStage();
    return b.build();
  }

private:
  void firstStage();
  void lastStage();
  void countRanks(int stage, uint32_t segment);
  void slice(uint32_t segment, uint32_t from, uint32_t to) {
    plan::Instruction &made = b.kernel(0, segment, "slice", {from}, {to});
    setAttribute(made, "dim", int64_t(0));
    plan::AxisOffset &offset = *made.add_axis_offsets();
    offset.set_name("offset");
    offset.add_axes("tp");
    offset.set_stride(part);
  }
  void clear(int stage, uint32_t segment, uint32_t buffer) {
    setAttribute(b.kernel(stage, segment, "fill", {}, {buffer}), "value", 0.0);
  }

  int64_t microBatches;
  int64_t part; // elements of a tp shard
  PlanBuilder b;
  uint32_t overTp, overDp, overAll, forward, backward;
};

} // namespace

void TinyPipelineBuilder::firstStage() {
  uint32_t begin = b.segment(0, "begin", plan::Segment::BEGIN);
  uint32_t fwd = b.segment(0, "forward", plan::Segment::FORWARD);
  uint32_t bwd = b.segment(0, "backward", plan::Segment::BACKWARD);
  uint32_t update = b.segment(0, "update", plan::Segment::UPDATE);

  plan::Variable &weight = b.variable(0, "w", plan::Variable::PARAMETER, plan::F64, {4}, {{"tp"}});
  weight.mutable_initializer()->set_value(0.5);
  uint32_t w = weight.buffer();
  uint32_t g = b.variable(0, "w.grad", plan::Variable::GRADIENT, plan::F64, {4}, {{"tp"}}).buffer();
  uint32_t x = b.buffer(0, "x", plan::Region::ACTIVATIONS, plan::F64, {4});
  uint32_t xs = b.buffer(0, "x.part", plan::Region::SCRATCH, plan::F64, {part});
  uint32_t y = b.buffer(0, "y", plan::Region::SCRATCH, plan::F64, {part});
  uint32_t z = b.buffer(0, "z", plan::Region::SCRATCH, plan::F64, {4});

  clear(0, begin, g);
  b.instruction(0, fwd, plan::Instruction::INPUT, "values", {}, {x});
  slice(fwd, x, xs);
  b.kernel(0, fwd, "add", {xs, w}, {y}).set_location(b.location("tiny.mlir:7:3 add"));
  b.collective(0, fwd, plan::Instruction::ALL_GATHER, overTp, y, z);
  b.send(0, fwd, forward, z);
  b.receive(0, bwd, backward, z);
  slice(bwd, z, xs);
  setAttribute(b.kernel(0, bwd, "accumulate", {xs}, {g}), "accumulate", int64_t(1));
  b.collective(0, update, plan::Instruction::ALL_REDUCE, overDp, g, g);
  setAttribute(b.kernel(0, update, "accumulate", {g}, {w}), "accumulate", int64_t(1));
  countRanks(0, update);

  b.activationSlots(0, 2);
  b.run(0, begin);
  b.run(0, fwd, 0, 0);
  for (int64_t m = 0; m < microBatches; ++m) {
    if (m + 1 < microBatches)
      b.run(0, fwd, m + 1, (m + 1) % 2);
    b.run(0, bwd, m, m % 2);
  }
  b.run(0, update);
}

void TinyPipelineBuilder::lastStage() {
  uint32_t begin = b.segment(1, "begin", plan::Segment::BEGIN);
  uint32_t fwd = b.segment(1, "forward", plan::Segment::FORWARD);
  uint32_t bwd = b.segment(1, "backward", plan::Segment::BACKWARD);
  uint32_t update = b.segment(1, "update", plan::Segment::UPDATE);

  plan::Variable &sum = b.variable(1, "loss_sum", plan::Variable::METRIC, plan::F64, {}, {});
  uint32_t lossSum = sum.buffer();
  uint32_t z = b.buffer(1, "z", plan::Region::SCRATCH, plan::F64, {4});
  uint32_t s = b.buffer(1, "s", plan::Region::ACTIVATIONS, plan::F64, {4});
  uint32_t squares = b.buffer(1, "squares", plan::Region::SCRATCH, plan::F64, {});

  clear(1, begin, lossSum);
  b.receive(1, fwd, forward, z);
  b.collective(1, fwd, plan::Instruction::ALL_REDUCE, overTp, z, s);
  b.kernel(1, bwd, "sum_squares", {s}, {squares});
  setAttribute(b.kernel(1, bwd, "accumulate", {squares}, {lossSum}), "accumulate", int64_t(1));
  b.send(1, bwd, backward, s);
  b.collective(1, update, plan::Instruction::ALL_REDUCE, overDp, lossSum, lossSum);
  b.instruction(1, update, plan::Instruction::OUTPUT, "loss", {lossSum}, {});
  countRanks(1, update);

  b.run(1, begin);
  for (int64_t m = 0; m < microBatches; ++m) {
    b.run(1, fwd, m, 0);
    b.run(1, bwd, m, 0);
  }
  b.run(1, update);
}

void TinyPipelineBuilder::countRanks(int stage, uint32_t segment) {
  uint32_t one = b.buffer(stage, "one", plan::Region::SCRATCH, plan::F64, {});
  uint32_t count = b.buffer(stage, "rank_count", plan::Region::SCRATCH, plan::F64, {});
  setAttribute(b.kernel(stage, segment, "fill", {}, {one}), "value", 1.0);
  b.collective(stage, segment, plan::Instruction::ALL_REDUCE, overAll, one, count);
  b.instruction(stage, segment, plan::Instruction::OUTPUT, "rank_count", {count}, {});
}

plan::Plan tgpt::test::tinyPipeline(int64_t dp, int64_t tp, int64_t microBatches) {
  return TinyPipelineBuilder(dp, tp, microBatches).build();
}
