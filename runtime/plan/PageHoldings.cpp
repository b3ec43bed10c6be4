//===- PageHoldings.cpp - which segments keep a page for each other ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is read is what CheckDataflow follows: inputs, and outputs that are added to.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/PageHoldings.h"
#include "runtime/plan/LastWrites.h"

#include <map>
#include <numeric>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

/// Follows the segments of one chunk.
class ChunkHoldings {
public:
  ChunkHoldings(const plan::StageProgram &stage, plan::Region::Kind kind) : stage(stage), kind(kind) {}

  /// The next segment that a micro-batch meets.
  void add(const plan::Segment &segment) {
    isCarried.push_back(false);
    for (const plan::Instruction &instruction : segment.instructions()) {
      for (uint32_t input : instruction.inputs())
        read(input);
      for (int o = 0; o < instruction.outputs_size(); ++o)
        if (accumulates(instruction, o))
          read(instruction.outputs(o));
      for (uint32_t output : instruction.outputs())
        write(output);
    }
  }

  /// Whether a segment finds something in its page of those before it.
  bool isCarriedInto(size_t position) const { return isCarried[position]; }

private:
  bool isThere(uint32_t buffer) const {
    return buffer < static_cast<uint32_t>(stage.buffers_size()) &&
           stage.regions(static_cast<int>(stage.buffers(static_cast<int>(buffer)).region())).kind() == kind;
  }

  void read(uint32_t buffer) {
    if (!isThere(buffer))
      return;
    writes.forEachPiece(extentOf(stage.buffers(static_cast<int>(buffer))), [&](int64_t,
                                                                               const LastWrites::Write *write) {
      for (size_t later = write ? writtenAt[write->buffer] + 1 : isCarried.size(); later < isCarried.size(); ++later)
        isCarried[later] = true;
      return true;
    });
  }

  void write(uint32_t buffer) {
    if (!isThere(buffer))
      return;
    writes.add({extentOf(stage.buffers(static_cast<int>(buffer))), buffer});
    writtenAt[buffer] = isCarried.size() - 1;
  }

  const plan::StageProgram &stage;
  plan::Region::Kind kind;
  LastWrites writes;
  std::map<uint32_t, size_t> writtenAt; // by buffer, the position of the segment
  std::vector<bool> isCarried;          // by position
};

} // namespace

std::vector<int> tgpt::runtime::pageHoldings(const plan::StageProgram &stage, plan::Region::Kind kind) {
  std::vector<int> firsts(stage.segments_size());
  std::iota(firsts.begin(), firsts.end(), 0);
  std::map<int64_t, std::vector<int>> orders; // by chunk
  for (plan::Segment::Kind phase : {plan::Segment::FORWARD, plan::Segment::BACKWARD, plan::Segment::WEIGHT_GRADIENT})
    for (int s = 0; s < stage.segments_size(); ++s)
      if (stage.segments(s).kind() == phase)
        orders[stage.segments(s).chunk()].push_back(s);
  for (const auto &[chunk, order] : orders) {
    ChunkHoldings holdings(stage, kind);
    for (int segment : order)
      holdings.add(stage.segments(segment));
    for (size_t position = 1; position < order.size(); ++position)
      if (holdings.isCarriedInto(position))
        firsts[order[position]] = firsts[order[position - 1]];
  }
  return firsts;
}
