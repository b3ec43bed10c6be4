//===- CheckDataflow.cpp - is everything written before it is read? ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SCRATCH, STEP and COMMUNICATION are dead at the start of a segment; ACTIVATIONS, PAGES and LEAVES hold
// what the earlier segments of the same chunk and micro-batch wrote. Reading any other byte
// of them computes with leftovers, and so does reading a buffer of which another
// one has overwritten a part: wrong numbers that no later check can see. Buffers
// that share bytes by design are the same range (in place, reshape), a part of it
// (slice) or its parts (concatenation), in one dtype. Persistent regions always
// hold something.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/LastWrites.h"
#include "runtime/plan/PlanProblems.h"
#include "runtime/plan/PlanText.h"

#include <set>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

/// Follows one stage's segments in the order in which a micro-batch meets them.
class StageDataflow {
public:
  StageDataflow(const plan::Plan &plan, const plan::StageProgram &stage, PlanProblems &problems)
      : plan(plan), stage(stage), problems(problems) {
    for (const plan::Channel &channel : plan.channels())
      if (channel.to_stage() == stage.stage())
        messages.insert(channel.receive_buffers().begin(), channel.receive_buffers().end());
  }

  void check() {
    std::set<int64_t> chunks;
    for (const plan::Segment &segment : stage.segments())
      chunks.insert(segment.chunk());
    run(plan::Segment::BEGIN, 0);
    for (int64_t chunk : chunks) {
      saved = LastWrites();
      for (plan::Segment::Kind kind : {plan::Segment::FORWARD, plan::Segment::BACKWARD, plan::Segment::WEIGHT_GRADIENT})
        run(kind, chunk);
    }
    saved = LastWrites();
    run(plan::Segment::UPDATE, 0);
  }

private:
  void run(plan::Segment::Kind kind, int64_t chunk) {
    for (int s = 0; s < stage.segments_size(); ++s)
      if (stage.segments(s).kind() == kind && stage.segments(s).chunk() == chunk)
        checkSegment(s);
  }

  void checkSegment(int segment) {
    local = LastWrites();
    for (int i = 0; i < stage.segments(segment).instructions_size() && !problems.full(); ++i) {
      const plan::Instruction &instruction = stage.segments(segment).instructions(i);
      std::string problem = problemOf(instruction);
      if (!problem.empty())
        problems.add(instructionPlace(plan, stage, segment, i) + ": " + problem);
      for (uint32_t output : instruction.outputs())
        writes(output).add({extentOf(stage.buffers(output)), output});
    }
  }

  plan::Region::Kind regionKind(uint32_t buffer) const { return stage.regions(stage.buffers(buffer).region()).kind(); }
  LastWrites &writes(uint32_t buffer) { return isOfMicroBatch(regionKind(buffer)) ? saved : local; }

  /// What is wrong with the operands, or an empty string.
  std::string problemOf(const plan::Instruction &instruction) {
    for (const auto *operands : {&instruction.inputs(), &instruction.outputs()})
      for (uint32_t buffer : *operands)
        if (messages.count(buffer))
          return "buffer " + std::to_string(buffer) + " '" + stage.buffers(buffer).name() +
                 "' is named, but it belongs to the messages of a channel";
    std::string problem;
    for (int i = 0; i < instruction.inputs_size() && problem.empty(); ++i)
      problem = problemOfRead("input", i, instruction.inputs(i));
    for (int o = 0; o < instruction.outputs_size() && problem.empty(); ++o)
      if (accumulates(instruction, o))
        problem = problemOfRead("accumulated output", o, instruction.outputs(o));
    return problem;
  }

  std::string problemOfRead(const char *what, int index, uint32_t buffer) {
    if (regionKind(buffer) < plan::Region::ACTIVATIONS)
      return "";
    std::string problem;
    const LastWrites::Write *whole = nullptr; // a piece of a write that covered all of the operand
    int pieces = 0;
    Extent extent = extentOf(stage.buffers(buffer));
    writes(buffer).forEachPiece(extent, [&](int64_t begin, const LastWrites::Write *write) {
      ++pieces;
      if (!write)
        problem = "its byte " + std::to_string(begin - extent.begin) + " of " +
                  std::to_string(extent.end - extent.begin) + " was not written before " +
                  (isOfMicroBatch(regionKind(buffer)) ? "for this micro-batch" : "in this segment");
      else if (!extent.contains(write->extent) && !write->extent.contains(extent))
        problem = "'" + stage.buffers(write->buffer).name() + "' has overwritten a part of it";
      else if (stage.buffers(write->buffer).dtype() != stage.buffers(buffer).dtype())
        problem = "it was last written as '" + stage.buffers(write->buffer).name() + "', " +
                  tensorText(stage.buffers(write->buffer));
      else if (write->extent.contains(extent))
        whole = write;
      return problem.empty();
    });
    if (problem.empty() && whole && pieces > 1)
      problem = "a smaller buffer has overwritten a part of it";
    if (problem.empty())
      return "";
    return std::string(what) + " " + std::to_string(index) + " '" + stage.buffers(buffer).name() + "' is read, but " +
           problem;
  }

  const plan::Plan &plan;
  const plan::StageProgram &stage;
  PlanProblems &problems;
  std::set<uint32_t> messages;
  LastWrites local; // SCRATCH, STEP and COMMUNICATION, of the current segment
  LastWrites saved; // ACTIVATIONS, PAGES and LEAVES, of one chunk and micro-batch
};

} // namespace

void tgpt::runtime::checkDataflow(const plan::Plan &plan, PlanProblems &problems) {
  for (const plan::StageProgram &stage : plan.stages())
    StageDataflow(plan, stage, problems).check();
}
