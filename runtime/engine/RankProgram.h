//===- RankProgram.h - a rank's instructions, resolved ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Binding turns the plan's program of a stage into what one rank executes: for
// each (segment, slot, pages) a list of instructions with function pointer,
// tensor views, attributes and endpoints. Executing needs no lookup.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_RANKPROGRAM_H
#define TGPT_RUNTIME_ENGINE_RANKPROGRAM_H

#include "runtime/engine/EventRing.h"
#include "runtime/engine/Job.h"
#include "runtime/engine/JobFailure.h"
#include "runtime/engine/PlanViews.h"
#include "runtime/engine/Transport.h"
#include "runtime/kernels/api/Kernel.h"
#include "runtime/plan/RankGrid.h"
#include "runtime/plan/plan.pb.h"

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tgpt::runtime {

/// A host metric as one rank reported it.
struct ReportedMetric {
  double value = 0;
  bool reported = false;
};

/// What changes while a rank walks its schedule.
struct StepContext {
  StepInputs *inputs = nullptr;
  int64_t dpIndex = 0;
  int64_t entry = 0; // of the schedule
  int64_t microBatch = -1;
  std::span<ReportedMetric> metrics;           // by index into the job's metric names
  class StartedCollectives *started = nullptr; // null: what is started runs at once
  EventRing *events = nullptr;                 // null: nothing is recorded
};

struct BoundInstruction;
/// Executes one instruction; throws Error or JobAborted.
using InstructionRunner = void (*)(const BoundInstruction &, StepContext &);

/// Runs collectives beside the rank's own thread.
class StartedCollectives {
public:
  virtual ~StartedCollectives() = default;
  virtual void start(const BoundInstruction &collective, const StepContext &context) = 0;
  /// Returns when the collective with the flight of this WAIT has ended; throws Error or JobAborted.
  virtual void wait(const BoundInstruction &wait) = 0;
};

struct BoundInstruction {
  InstructionRunner run = nullptr;
  InstructionRunner exchange = nullptr; // a started collective: what is then executed
  KernelFunction function = nullptr;
  size_t libraryBytes = 0; // of a device's library, in the workspace or beside the arena
  KernelCall call;
  std::span<const TensorView> workspace; // one, that a kernel of a device may write while it runs, or none
  const plan::Instruction *source = nullptr;
  Communicator *group = nullptr;
  Sender *sender = nullptr;
  Receiver *receiver = nullptr;
  int flight = 0;       // started collectives and WAIT: which of those that the segment starts
  int startedEntry = 0; // started collectives: index into the profile of what was started
  int metric = 0;       // OUTPUT: index into the job's metric names
  int profileEntry = 0; // index into RankProgram::profile
  int segment = 0;      // position in the stage program
  int index = 0;
  std::span<const TensorView> messages; // RECV: all message buffers of its channel
};

/// Executes one instruction and adds its time to `entry`.
void runTimed(InstructionRunner runner, const BoundInstruction &instruction, StepContext &context, ProfileEntry &entry);

/// A segment on one activation slot and pages.
struct BoundSegment {
  std::vector<BoundInstruction> instructions;
  bool measured = false; // its operands are counted in the high-water mark
};

struct BoundEntry {
  BoundSegment *segment = nullptr;
  int64_t microBatch = -1;
};

/// What binding needs to know besides the plan.
struct BindingContext {
  const plan::Plan &plan;
  const RankGrid &grid;
  const KernelSet &kernels;
  const std::vector<std::string> &metricNames; // sorted
};

class RankProgram {
public:
  /// `place` is where others read how far it is.
  RankProgram(const BindingContext &context, int64_t rank, std::byte *arena, const RankEndpoints &endpoints,
              SchedulePlace &place);

  /// Runs the rank's whole schedule once. `advanced` is called after each instruction and may throw.
  template <typename Advanced> void runStep(StepContext &context, bool profiling, const Advanced &advanced) {
    for (context.entry = 0; context.entry < static_cast<int64_t>(schedule.size()); ++context.entry) {
      const BoundEntry &entry = schedule[context.entry];
      context.microBatch = entry.microBatch;
      place.entry.store(context.entry, std::memory_order_relaxed);
      for (const BoundInstruction &instruction : entry.segment->instructions) {
        place.set(instruction.segment, instruction.index);
        bool isHandedOver = context.started && instruction.exchange;
        int64_t begin = context.events ? eventNanoseconds() : 0;
        if (profiling && !isHandedOver)
          runTimed(instruction.run, instruction, context, profile[instruction.profileEntry]);
        else
          instruction.run(instruction, context);
        if (context.events && !isHandedOver)
          context.events->add(context.entry, instruction.index, begin);
        if (!entry.segment->measured)
          measure(instruction);
        advanced();
      }
      entry.segment->measured = true;
    }
    place.end();
  }

  /// Where the rank is, from any thread: an instruction's place, or the start or the end of its step; and another of
  /// its places.
  std::string placeText() const { return placeText(place); }
  std::string placeText(const SchedulePlace &at) const { return runtime::placeText(plan, stage.stage(), at); }
  /// Instructions that a step passes: all of them, and those that only start a collective.
  int64_t passedInStep() const;
  int64_t startedInStep() const;
  /// Collectives that a segment starts, at most.
  int mostStarted() const { return startedBySegment; }
  /// End of the last arena byte that an executed instruction was bound to.
  int64_t touchedBytes() const { return touched; }
  /// Counts an instruction that is executed for the first time.
  void measure(const BoundInstruction &instruction);
  std::span<const BoundEntry> entries() const { return schedule; }

  std::vector<ProfileEntry> profile;
  /// One entry, empty, for each opcode among the started collectives.
  std::vector<ProfileEntry> startedProfile;

private:
  void bindInstruction(const BindingContext &context, BoundSegment &segment, int segmentIndex, int index,
                       SlotAndPages held);
  std::span<const TensorView> viewsOf(const auto &buffers, SlotAndPages held);
  static int profileEntryOf(const plan::Instruction &instruction, std::vector<ProfileEntry> &profile);
  void bindExchange(BoundInstruction &bound);
  void bindKernel(const BindingContext &context, BoundInstruction &bound);

  const plan::Plan &plan;
  const plan::StageProgram &stage;
  int64_t rank;
  std::byte *arena;
  const RankEndpoints &endpoints;
  SchedulePlace &place;
  std::map<std::pair<int, SlotAndPages>, BoundSegment> segments;
  std::vector<BoundEntry> schedule;
  std::vector<std::unique_ptr<TensorView[]>> views;
  std::map<std::pair<int, int>, Attributes> attributes; // (segment, instruction)
  int64_t touched = 0;
  int startedBySegment = 0;
  std::map<uint32_t, int> flights; // by event, of the segment that is being bound
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_RANKPROGRAM_H
