//===- ByteOwners.cpp - whose bytes a plan reads ------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See ByteOwners.h.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/ByteOwners.h"
#include "runtime/plan/BufferExtent.h"

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

/// Bytes that are noted together: the size of the smallest element.
constexpr int64_t grain = 2;

/// Goes through the schedule of a stage.
class StageOwners {
public:
  StageOwners(const plan::StageProgram &stage, int64_t microBatches)
      : stage(stage), microBatches(microBatches), owners(stage.arena_bytes() / grain) {}

  std::string firstProblem() {
    for (entry = 0; entry < stage.schedule_size(); ++entry)
      for (const plan::Instruction &instruction : segment().instructions())
        if (std::string problem = run(instruction); !problem.empty())
          return problem;
    return "";
  }

private:
  struct Range {
    int64_t first, end;
  };

  const plan::ScheduleEntry &now() const { return stage.schedule(entry); }
  const plan::Segment &segment() const { return stage.segments(static_cast<int>(now().segment())); }
  const plan::Region &regionOf(uint32_t buffer) const {
    return stage.regions(static_cast<int>(stage.buffers(static_cast<int>(buffer)).region()));
  }

  Range rangeOf(uint32_t buffer) const {
    const plan::Region &region = regionOf(buffer);
    Extent extent = extentOf(stage.buffers(static_cast<int>(buffer)));
    int64_t held = region.kind() == plan::Region::ACTIVATIONS ? now().slot()
                   : region.kind() == plan::Region::PAGES     ? now().page() - 1
                   : region.kind() == plan::Region::LEAVES    ? now().leaf() - 1
                                                              : 0;
    int64_t begin = region.places_size() > 0 ? region.places(static_cast<int>(held)) : held * region.slot_bytes();
    begin += region.offset_bytes();
    return {(begin + extent.begin) / grain, (begin + extent.end + grain - 1) / grain};
  }

  /// Who writes and reads a buffer here: a chunk and micro-batch, an entry, or 0: what is there for ever.
  int64_t ownerOf(uint32_t buffer) const {
    plan::Region::Kind kind = regionOf(buffer).kind();
    if (isOfMicroBatch(kind))
      return 1 + segment().chunk() * microBatches + now().micro_batch();
    return kind < plan::Region::ACTIVATIONS ? 0 : -1 - entry;
  }

  std::string read(uint32_t buffer) const {
    int64_t owner = ownerOf(buffer);
    Range range = rangeOf(buffer);
    if (std::all_of(owners.begin() + range.first, owners.begin() + range.end,
                    [&](int64_t other) { return other == owner; }))
      return "";
    return "stage " + std::to_string(stage.stage()) + ", schedule entry " + std::to_string(entry) + " reads '" +
           stage.buffers(static_cast<int>(buffer)).name() + "', which it did not write";
  }

  std::string run(const plan::Instruction &instruction) {
    std::string problem;
    for (uint32_t input : instruction.inputs())
      problem = problem.empty() ? read(input) : problem;
    for (const plan::Attribute &attribute : instruction.attributes())
      for (int o = 0; attribute.name() == "accumulate" && o < instruction.outputs_size(); ++o)
        if (problem.empty() && ((attribute.i() >> o) & 1))
          problem = read(instruction.outputs(o));
    for (uint32_t output : instruction.outputs())
      std::fill(owners.begin() + rangeOf(output).first, owners.begin() + rangeOf(output).end, ownerOf(output));
    return problem;
  }

  const plan::StageProgram &stage;
  int64_t microBatches;
  std::vector<int64_t> owners; // by grain of the arena
  int entry = 0;
};

} // namespace

std::string tgpt::test::strangeRead(const plan::Plan &plan) {
  for (const plan::StageProgram &stage : plan.stages())
    if (std::string problem = StageOwners(stage, plan.training().micro_batches()).firstProblem(); !problem.empty())
      return problem;
  return "";
}
