//===- StageLiveness.h - what a stage holds at each moment of its schedule ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Read from the plan: a buffer of a segment lives from the first to the last instruction
// that names it, one that is kept between segments from its first use in the first of
// them to its last use in the last, once for every micro-batch in flight. These are the
// lifetimes that plan-assign-memory packs; slotPeakBytes() must give its lower bound.
//
// A moment is an instruction of an entry of the schedule. Segments are the same for all
// micro-batches, so each is looked at once, and the schedule is walked by entries.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_REPORT_STAGELIVENESS_H
#define TGPT_COMPILER_REPORT_STAGELIVENESS_H

#include "runtime/plan/plan.pb.h"
#include <cstdint>
#include <vector>

namespace tgpt {

/// An instruction of an entry of the schedule, and all bytes that are live there.
struct MemoryMoment {
  int64_t entry = 0;
  int64_t instruction = 0;
  int64_t bytes = 0;
};

/// A buffer that is live, in so many slots at once.
struct LiveBuffer {
  uint32_t buffer = 0;
  int64_t copies = 1;
  bool isKept = false; ///< from one segment for another
};

/// What the micro-batch at hand holds while an instruction runs.
struct InstructionBytes {
  int64_t activations = 0;
  int64_t scratch = 0;
};

class StageLiveness {
public:
  /// Of a stage of a plan that the plan checker accepts.
  explicit StageLiveness(const plan::StageProgram &stage);

  MemoryMoment peak() const { return peakMoment; }

  /// Everything that is live at a moment; the bytes add up to the moment's.
  std::vector<LiveBuffer> liveAt(const MemoryMoment &moment) const;

  /// Micro-batches of which something is kept while an entry runs, its own included.
  int64_t microBatchesInFlight(int64_t entry) const { return inFlight[entry]; }

  /// Bytes of what is held for the whole run: variables and messages.
  int64_t residentBytes() const { return resident; }
  /// Bytes that other micro-batches keep while an entry runs.
  const std::vector<int64_t> &keptByOthers() const { return others; }
  /// Of each instruction of a segment.
  const std::vector<InstructionBytes> &profile(int segment) const { return profiles[segment]; }

  /// Greatest sum of bytes that belong to a slot of a region and are live at once; in one of
  /// ACTIVATIONS, PAGES or LEAVES they belong to it that are kept between segments.
  int64_t slotPeakBytes(int region) const;

  /// Bytes that a slot of a region of ACTIVATIONS, PAGES or LEAVES needs for what is kept; buffers of one
  /// segment may lie behind it.
  int64_t keptSlotBytes(int region) const;

private:
  /// Instructions of a segment that use a buffer.
  struct Use {
    int segment;
    int64_t first, last;
  };
  struct Life {
    uint32_t buffer;
    int64_t bytes;
    int region;
    std::vector<Use> uses; ///< in the order in which the schedule runs the segments
  };
  /// What the slots of a region keep between the segments that use it.
  struct KeptRegion {
    std::vector<int> sequence;      ///< the segments, in the order of the schedule
    std::vector<int64_t> keptBytes; ///< behind each of them
    int indexOf(int segment) const; ///< in the sequence; -1 where it is not in it
  };
  /// Which segment of the sequence a slot is behind; -1: it is free.
  struct Slot {
    int behind = -1;
    int64_t microBatch = -1;
  };
  using Slots = std::vector<std::vector<Slot>>; // by region

  bool isResident(int region) const;
  bool isKept(const Life &life) const;
  void findWholes();
  void addUses();
  void followRegions();
  void profileSegment(int segment);
  void walkSchedule();
  /// Whether a kept buffer is live at an instruction of a segment that uses its region.
  std::pair<int64_t, int64_t> liveWithin(const Life &life, int segment) const;
  Slots slotsBefore(int64_t entry) const;
  int64_t slotOf(int region, const plan::ScheduleEntry &entry) const;
  void advance(Slots &slots, const plan::ScheduleEntry &entry) const;

  const plan::StageProgram &stage;
  std::vector<uint32_t> wholeOf; ///< of each buffer: the one whose bytes it names a part of, or itself
  std::vector<int> order;        ///< of each segment: its place in the schedule; -1: never run
  std::vector<Life> lives;
  std::vector<KeptRegion> kept; ///< by region; empty sequences for others
  std::vector<std::vector<InstructionBytes>> profiles;
  std::vector<int64_t> others, inFlight;
  int64_t resident = 0;
  MemoryMoment peakMoment;
};

} // namespace tgpt

#endif // TGPT_COMPILER_REPORT_STAGELIVENESS_H
