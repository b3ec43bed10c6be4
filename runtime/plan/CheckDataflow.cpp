//===- CheckDataflow.cpp - is everything written before it is read? ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SCRATCH and COMMUNICATION are dead at the start of a segment; ACTIVATIONS hold
// what the forward segments of the same micro-batch wrote. Reading any other byte
// of them would compute with leftovers of another segment: wrong numbers that no
// later check can see. Persistent regions always hold something.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/PlanProblems.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>
#include <map>
#include <set>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

/// A set of bytes of a stage's regions, as disjoint ranges.
class WrittenBytes {
public:
  void add(const Extent &extent) {
    std::map<int64_t, int64_t> &ranges = regions[extent.region];
    int64_t begin = extent.begin, end = extent.end;
    auto next = ranges.upper_bound(begin);
    if (next != ranges.begin() && std::prev(next)->second >= begin)
      --next;
    while (next != ranges.end() && next->first <= end) {
      begin = std::min(begin, next->first);
      end = std::max(end, next->second);
      next = ranges.erase(next);
    }
    ranges[begin] = end;
  }
  /// The first byte of the extent that is not in the set; its end when all are.
  int64_t firstMissing(const Extent &extent) const {
    auto found = regions.find(extent.region);
    if (found == regions.end())
      return extent.begin;
    auto next = found->second.upper_bound(extent.begin);
    if (next == found->second.begin())
      return extent.begin;
    return std::clamp(std::prev(next)->second, extent.begin, extent.end);
  }

private:
  std::map<uint32_t, std::map<int64_t, int64_t>> regions; // region -> begin -> end
};

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
    for (plan::Segment::Kind kind :
         {plan::Segment::BEGIN, plan::Segment::FORWARD, plan::Segment::BACKWARD, plan::Segment::UPDATE}) {
      if (kind == plan::Segment::FORWARD || kind == plan::Segment::UPDATE)
        saved = WrittenBytes();
      for (int s = 0; s < stage.segments_size(); ++s)
        if (stage.segments(s).kind() == kind)
          checkSegment(s);
    }
  }

private:
  void checkSegment(int segment) {
    local = WrittenBytes();
    for (int i = 0; i < stage.segments(segment).instructions_size() && !problems.full(); ++i) {
      const plan::Instruction &instruction = stage.segments(segment).instructions(i);
      std::string problem = problemOf(instruction);
      if (!problem.empty())
        problems.add(instructionPlace(plan, stage, segment, i) + ": " + problem);
      for (uint32_t output : instruction.outputs())
        written(output).add(extentOf(stage.buffers(output)));
    }
  }

  plan::Region::Kind regionKind(uint32_t buffer) const { return stage.regions(stage.buffers(buffer).region()).kind(); }
  WrittenBytes &written(uint32_t buffer) { return regionKind(buffer) == plan::Region::ACTIVATIONS ? saved : local; }

  /// What is wrong with the operands, or an empty string.
  std::string problemOf(const plan::Instruction &instruction) {
    for (const auto *operands : {&instruction.inputs(), &instruction.outputs()})
      for (uint32_t buffer : *operands)
        if (messages.count(buffer))
          return "buffer " + std::to_string(buffer) + " '" + stage.buffers(buffer).name() +
                 "' is named, but it belongs to the messages of a channel";
    std::string problem;
    for (int i = 0; i < instruction.inputs_size() && problem.empty(); ++i)
      problem = unwritten("input", i, instruction.inputs(i));
    for (int o = 0; o < instruction.outputs_size() && problem.empty(); ++o)
      if (accumulates(instruction, o))
        problem = unwritten("accumulated output", o, instruction.outputs(o));
    return problem;
  }

  static bool accumulates(const plan::Instruction &instruction, int output) {
    for (const plan::Attribute &attribute : instruction.attributes())
      if (attribute.name() == "accumulate" && output < 63)
        return (attribute.i() >> output) & 1;
    return false;
  }

  std::string unwritten(const char *what, int index, uint32_t buffer) {
    plan::Region::Kind kind = regionKind(buffer);
    if (kind < plan::Region::ACTIVATIONS)
      return "";
    Extent extent = extentOf(stage.buffers(buffer));
    int64_t missing = written(buffer).firstMissing(extent);
    if (missing == extent.end)
      return "";
    return std::string(what) + " " + std::to_string(index) + " '" + stage.buffers(buffer).name() +
           "' is read, but its byte " + std::to_string(missing - extent.begin) + " of " +
           std::to_string(extent.end - extent.begin) + " was not written before " +
           (kind == plan::Region::ACTIVATIONS ? "for this micro-batch" : "in this segment");
  }

  const plan::Plan &plan;
  const plan::StageProgram &stage;
  PlanProblems &problems;
  std::set<uint32_t> messages;
  WrittenBytes local; // SCRATCH and COMMUNICATION, of the current segment
  WrittenBytes saved; // ACTIVATIONS, of one micro-batch
};

} // namespace

void tgpt::runtime::checkDataflow(const plan::Plan &plan, PlanProblems &problems) {
  for (const plan::StageProgram &stage : plan.stages())
    StageDataflow(plan, stage, problems).check();
}
