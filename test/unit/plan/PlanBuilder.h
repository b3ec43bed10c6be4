//===- PlanBuilder.h - plans written in C++, for tests ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lays out buffers and regions; everything else is set as a test wants it. The
// result of build() is a plain message that a test may damage.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_PLAN_PLANBUILDER_H
#define TGPT_TEST_UNIT_PLAN_PLANBUILDER_H

#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tgpt::test {

using Shape = std::vector<int64_t>;
using Axes = std::vector<std::string>;

class PlanBuilder {
public:
  /// A mesh (dp, pp, tp) with an empty program per stage.
  PlanBuilder(int64_t dp, int64_t pp, int64_t tp, int64_t microBatches);

  /// A buffer of its own in the stage's region of that kind.
  uint32_t buffer(int stage, const std::string &name, plan::Region::Kind kind, plan::DType dtype, const Shape &shape);
  /// A buffer in the activations of a chunk, a region that is made with its first buffer.
  uint32_t activation(int stage, const std::string &name, int64_t chunk, plan::DType dtype, const Shape &shape);

  /// A variable in a new buffer; `dims` are the axes of each dimension. The local
  /// shape follows. Starts from the constant 0; its owner is this stage.
  plan::Variable &variable(int stage, const std::string &name, plan::Variable::Role role, plan::DType dtype,
                           const Shape &globalShape, const std::vector<Axes> &dims);

  uint32_t group(const Axes &axes, const std::vector<int64_t> &stages = {});
  /// A channel with its receive buffers.
  uint32_t channel(int from, int to, uint32_t depth, plan::DType dtype, const Shape &shape);
  /// Index into Plan.locations.
  uint32_t location(const std::string &text);

  uint32_t segment(int stage, const std::string &name, plan::Segment::Kind kind, int64_t chunk = 0);
  plan::Instruction &instruction(int stage, uint32_t segment, plan::Instruction::Kind kind, const std::string &opcode,
                                 const std::vector<uint32_t> &inputs, const std::vector<uint32_t> &outputs);
  plan::Instruction &kernel(int stage, uint32_t segment, const std::string &opcode, const std::vector<uint32_t> &inputs,
                            const std::vector<uint32_t> &outputs) {
    return instruction(stage, segment, plan::Instruction::KERNEL, opcode, inputs, outputs);
  }
  plan::Instruction &collective(int stage, uint32_t segment, plan::Instruction::Kind kind, uint32_t group,
                                uint32_t input, uint32_t output);
  void send(int stage, uint32_t segment, uint32_t channel, uint32_t buffer);
  void receive(int stage, uint32_t segment, uint32_t channel, uint32_t buffer);
  void run(int stage, uint32_t segment, int64_t microBatch = -1, int64_t slot = 0);
  void activationSlots(int stage, int64_t slots, int64_t chunk = 0);

  /// The plan, with regions laid out one after the other.
  plan::Plan build() const;

private:
  int64_t axisSize(const std::string &axis) const;
  int activationsOf(int stage, int64_t chunk);
  uint32_t bufferIn(int stage, int region, const std::string &name, plan::DType dtype, const Shape &shape);
  plan::Plan plan;
};

/// Sets an attribute of an instruction.
void setAttribute(plan::Instruction &instruction, const std::string &name, double value);
void setAttribute(plan::Instruction &instruction, const std::string &name, int64_t value);

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_PLAN_PLANBUILDER_H
