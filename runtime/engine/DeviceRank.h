//===- DeviceRank.h - a rank whose arena is device memory -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the same bound program as a rank on the host, but puts every instruction into a
// stream: kernels and what is not started apart into the compute stream, started
// collectives into the plan's, between two events. The rank's thread then waits, entry after
// entry of the schedule, as the device finishes them: that is its progress.
//
// What differs from step to step or between micro-batches is in memory, never in an
// argument, so that what a segment does can be captured once for each slot and replayed:
// host inputs of the whole step lie in pinned memory, those of an entry are copied into a
// small device block ahead of it, and its INPUT instructions copy from there.
//
// Segments that have run are captured ahead of the next step, in pieces: a SEND or RECV,
// whose message buffer changes, is between two of them. The first run lets libraries set
// themselves up, which a capture forbids.
//
// A receive that is ahead of its message keeps the device busy. What may wait for the whole
// device while one does would wait for ever: so graphs are made ahead of a step's receives,
// and a rank that has mailboxes rehearses its kernels before its first step.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_DEVICERANK_H
#define TGPT_RUNTIME_ENGINE_DEVICERANK_H

#include "runtime/engine/DeviceBackend.h"
#include "runtime/engine/DeviceHandles.h"
#include "runtime/engine/DeviceMailbox.h"
#include "runtime/engine/RankProgram.h"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tgpt::runtime {

/// Where a DeviceRank is, and what it runs.
struct DeviceRankRequest {
  const plan::Plan &plan;
  const RankGrid &grid;
  const DeviceOptions &options;
  int64_t rank;
  int device;                      // its number
  bool startsApart;                // started collectives run in the plan's streams, else where they are started
  std::function<bool()> isAborted; // the job has failed
};

class DeviceRank {
public:
  /// Takes the arena. Throws Error where the device has not the memory.
  explicit DeviceRank(const DeviceRankRequest &request);
  ~DeviceRank();

  std::byte *arena() const { return memory.base(); }
  int deviceNumber() const { return number; }
  /// The program is bound to arena(); `place` is the one that it notes its place in.
  void bind(RankProgram &program, SchedulePlace &place, DeviceTransport &transport);

  /// Before the first step's variables are there: runs each kind of kernel call once, on zeros, where messages arrive.
  /// `advanced` as in runStep.
  void rehearse(const std::function<void()> &advanced);
  /// Runs the schedule once. `advanced` is called when something was issued and when an entry is done, and may throw.
  void runStep(StepContext &context, bool profiling, const std::function<void()> &advanced);
  /// After a failure: returns when nothing of this rank runs any more.
  void settle() noexcept;

  /// Variables, gradients and optimizer state: from and to an arena of the same layout in host memory.
  void upload(const std::byte *mirror);
  void download(std::byte *mirror);

  /// "12345 bytes of arena, 256 of inputs".
  std::string memoryText() const;
  int64_t replayedPieces() const { return replays; }
  /// By name: the calls that do several instructions of the bound segments, and how many of them.
  const std::map<std::string, FusedCount> &fusedCalls() const { return fused; }

private:
  static constexpr size_t noInput = ~size_t(0);
  /// Instructions that are captured together, or are issued one by one.
  struct Piece {
    int begin = 0, end = 0;
    bool isCapturable = false;
    OwnedGraph graph;
  };
  /// Around a started collective: before what it reads is there, and behind it.
  struct Flight {
    OwnedEvent begin, end;
  };
  struct DeviceSegment {
    const BoundSegment *bound = nullptr;
    std::vector<Flight> flights;                     // by BoundInstruction::flight
    std::vector<std::vector<DeviceAccess>> accesses; // by instruction
    std::vector<FusedCalls> fusions;
    std::vector<const FusedCalls *> fusedAt;      // by instruction: the first of several that are one call
    std::vector<bool> isLeftOut;                  // by instruction: the others
    std::vector<std::span<std::byte>> workspaces; // by instruction: the plan's for it, or none
    std::vector<size_t> inputs;                   // by instruction: offset within the segment's inputs
    size_t inputBase = 0, inputBytes = 0;         // in the device's block of inputs
    std::vector<Piece> pieces;
    int64_t runs = 0;
  };
  struct Entry {
    DeviceSegment *segment = nullptr;
    int64_t microBatch = -1;
    size_t inputBase = 0; // in pinned memory
    OwnedEvent done;
  };
  /// An OUTPUT of this step.
  struct Metric {
    TensorView view; // pinned
    bool isReported = false;
  };
  using Issue = void (DeviceRank::*)(const DeviceSegment &, int index);

  // Setting up: DeviceRank.cpp.
  void addSegment(const BoundSegment &bound);
  void countTakers();
  std::vector<bool> takenOnce(const BoundInstruction &instruction) const;
  void addFusions(DeviceSegment &segment);
  void cutIntoPieces(DeviceSegment &segment) const;
  void layOutInputs();
  void addMailboxes();
  void takeBeside();

  // Before the first step: DeviceRehearsal.cpp.
  std::string kindOf(const DeviceSegment &segment, size_t index) const;
  void rehearseEntry(const Entry &entry, std::set<std::string> &kinds, const std::function<void()> &advanced);
  void awaitRehearsed();

  // A step: DeviceStep.cpp.
  void issueEntry(int64_t number, StepContext &context, bool profiling, const std::function<void()> &advanced);
  void fillInputs(const Entry &entry, StepContext &context);
  void issuePlainly(DeviceSegment &segment, int begin, int end, StepContext &context, bool profiling,
                    const std::function<void()> &advanced);
  void captureSegments(StepContext &context, const std::function<void()> &advanced);
  void capture(Piece &piece, DeviceSegment &segment, StepContext &context, const std::function<void()> &advanced);
  void replay(Piece &piece, const DeviceSegment &segment, const std::function<void()> &advanced);
  void finishEntry(int64_t number, const std::function<void()> &advanced);
  void await(DeviceEvent event);
  void awaitInstruction(const DeviceSegment &segment, const BoundInstruction &instruction);
  void throwFault(int32_t fault, const DeviceSegment &segment);
  static void report(Metric &metric, const BoundInstruction &output);
  void collectMetrics(StepContext &context);

  // Instruction by instruction: DeviceInstructions.cpp.
  void issue(const DeviceSegment &segment, int index);
  void issueKernel(const DeviceSegment &segment, int index);
  std::string companionsText(const DeviceSegment &segment, size_t index) const;
  void issueCollective(const DeviceSegment &segment, int index);
  void issueSend(const DeviceSegment &segment, int index);
  void issueReceive(const DeviceSegment &segment, int index);
  void issueInput(const DeviceSegment &segment, int index);
  void issueOutput(const DeviceSegment &segment, int index);
  void issueWait(const DeviceSegment &segment, int index);
  DeviceStream streamOf(const plan::Instruction &collective) const;
  void exchange(const BoundInstruction &instruction, DeviceCommunicator &group, DeviceStream stream);

  const DeviceRankRequest request;
  const DeviceBackend &backend;
  DeviceRuntime &device;
  const plan::StageProgram &stage;
  int number; // of the device
  RankProgram *program = nullptr;
  SchedulePlace *place = nullptr;
  DeviceTransport *transport = nullptr;
  const DeviceEndpoints *ends = nullptr;

  DeviceBlock memory, beside, inputs, pinnedInputs, fault, pinnedFaults, pinnedMetrics;
  OwnedStream compute, tensor, data; // the latter two where something is started apart
  std::map<const BoundSegment *, DeviceSegment> segments;
  std::vector<Entry> entries;
  std::vector<std::unique_ptr<DeviceMailbox>> mailboxes; // by channel; null: none
  std::vector<std::vector<TensorView>> ownMessages;      // by channel from this rank to itself
  std::vector<int64_t> sentToItself, receivedFromItself; // by channel, in this step
  std::vector<Metric> metrics;                           // by the job's metric index
  OwnedEvent passed;                                     // with waitsForEach
  int64_t replays = 0;
  std::map<std::string, FusedCount> fused;
  std::map<uint32_t, int> takers; // of a value, by its number: instructions of the stage
  bool isCapturing = false, hasRehearsed = false;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_DEVICERANK_H
