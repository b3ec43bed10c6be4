//===- RankProgram.h - a rank's instructions, resolved ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Binding turns the plan's program of a stage into what one rank executes: for
// each (segment, activation slot) a list of instructions with function pointer,
// tensor views, attributes and endpoints. Executing needs no lookup.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_RANKPROGRAM_H
#define TGPT_RUNTIME_ENGINE_RANKPROGRAM_H

#include "runtime/engine/Job.h"
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
  int64_t microBatch = -1;
  std::span<ReportedMetric> metrics; // by index into the job's metric names
};

struct BoundInstruction;
/// Executes one instruction; throws Error or JobAborted.
using InstructionRunner = void (*)(const BoundInstruction &, StepContext &);

struct BoundInstruction {
  InstructionRunner run = nullptr;
  KernelFunction function = nullptr;
  KernelCall call;
  const plan::Instruction *source = nullptr;
  Communicator *group = nullptr;
  Sender *sender = nullptr;
  Receiver *receiver = nullptr;
  int metric = 0;       // OUTPUT: index into the job's metric names
  int profileEntry = 0; // index into RankProgram::profile
  int segment = 0;      // position in the stage program
  int index = 0;
  std::span<const TensorView> messages; // RECV: all message buffers of its channel
};

/// A segment on one activation slot.
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
  RankProgram(const BindingContext &context, int64_t rank, std::byte *arena, const RankEndpoints &endpoints);

  /// Runs the rank's whole schedule once. `advanced` is called after each instruction.
  template <typename Advanced> void runStep(StepContext &context, bool profiling, const Advanced &advanced) {
    for (const BoundEntry &entry : schedule) {
      context.microBatch = entry.microBatch;
      microBatch.store(entry.microBatch, std::memory_order_relaxed);
      for (const BoundInstruction &instruction : entry.segment->instructions) {
        current.store(&instruction, std::memory_order_relaxed);
        if (profiling)
          runTimed(instruction, context);
        else
          instruction.run(instruction, context);
        if (!entry.segment->measured)
          measure(instruction);
        advanced();
      }
      entry.segment->measured = true;
    }
    current.store(nullptr, std::memory_order_relaxed);
  }

  /// Where the rank is, from any thread: an instruction's place, or "the end of its step".
  std::string position() const;
  /// End of the last arena byte that an executed instruction was bound to.
  int64_t touchedBytes() const { return touched; }

  std::vector<ProfileEntry> profile;

private:
  void bindInstruction(const BindingContext &context, BoundSegment &segment, int segmentIndex, int index, int64_t slot);
  std::span<const TensorView> viewsOf(const auto &buffers, int64_t slot);
  int profileEntryOf(const plan::Instruction &instruction);
  void bindKernel(const BindingContext &context, BoundInstruction &bound);
  void measure(const BoundInstruction &instruction);
  void runTimed(const BoundInstruction &instruction, StepContext &context);

  const plan::Plan &plan;
  const plan::StageProgram &stage;
  int64_t rank;
  std::byte *arena;
  const RankEndpoints &endpoints;
  std::map<std::pair<int, int64_t>, BoundSegment> segments; // (segment, slot)
  std::vector<BoundEntry> schedule;
  std::vector<std::unique_ptr<TensorView[]>> views;
  std::map<std::pair<int, int>, Attributes> attributes; // (segment, instruction)
  std::atomic<const BoundInstruction *> current{nullptr};
  std::atomic<int64_t> microBatch{-1};
  int64_t touched = 0;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_RANKPROGRAM_H
