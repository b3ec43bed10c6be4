//===- JobFailure.h - why a job ended, and where every rank was --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_JOBFAILURE_H
#define TGPT_RUNTIME_ENGINE_JOBFAILURE_H

#include "runtime/comm/SharedMemoryWorld.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tgpt::runtime {

/// Where a rank, or its communication thread, stands in its schedule.
struct RankPosition {
  /// Failed: it carries the message. Working: within an instruction, waiting for nobody. Waiting: see `waitsOn`.
  /// Stopped: before this instruction, or before the step, since it was told to or has not come to it. Ended: it is
  /// through its step. Died: its process or thread has.
  enum class State { Failed, Working, Waiting, Stopped, Ended, Died };

  int64_t rank = 0;
  bool isCommunication = false; ///< not the rank's own thread, but what serves its started collectives
  bool isBetweenSteps = false;  ///< through one, and yet to begin the next
  State state = State::Ended;
  int64_t stage = 0;
  int64_t entry = 0, entries = 0; ///< of the schedule, from 0; equal at the end of the step
  std::string segment;            ///< empty at the start and the end of the step, like all below
  int64_t microBatch = -1;
  int64_t instruction = -1;
  std::string opcode;           ///< "linear", "all_reduce sum", "recv"
  std::string location;         ///< the model line: "model.mlir:42:5 linear"
  std::string waitsOn;          ///< "group 1 (tp)", "channel 0"; empty where it does not wait
  std::vector<int64_t> missing; ///< the ranks that it waits for
};

/// The schedule position that both errors and reports give.
RankPosition positionAt(const plan::Plan &plan, int64_t stage, int64_t entry, int segment, int instruction);
/// Of a rank of that stage, and as errors put it: "stage 1, segment ...", or the start or "the end of its step".
RankPosition positionAt(const plan::Plan &plan, int64_t stage, const SchedulePlace &place);
std::string placeText(const plan::Plan &plan, int64_t stage, const SchedulePlace &place);
/// The instruction there, or null.
const plan::Instruction *instructionAt(const plan::Plan &plan, int64_t stage, const SchedulePlace &place);
/// "failed", "working", "waiting", "stopped", "ended", "died".
std::string stateText(RankPosition::State state);
/// Whether a message begins with this rank, as RankGrid describes it: then it need not be named again.
bool beginsWithRank(const std::string &message, int64_t rank);
/// "0-3, 8", of sorted numbers.
std::string rangesText(const std::vector<int64_t> &numbers);

/// Ranks that are at the same place in the same state: `missing` is of all of them.
struct RanksAtPosition {
  std::vector<int64_t> ranks;
  RankPosition position;
};
std::vector<RanksAtPosition> groupedByPlace(const std::vector<RankPosition> &positions);

/// The end of a job: a rank failed, or no rank advanced any more. The details are what the failed
/// rank's error had, and a table of all ranks.
class JobFailure : public Error {
public:
  enum class Kind { RankFailed, Stuck };
  JobFailure(Kind kind, const std::string &message, std::vector<RankPosition> positions, bool hasLostThreads,
             const std::string &ownDetails = {});

  Kind kind() const { return failureKind; }
  const std::vector<RankPosition> &positions() const { return rankPositions; }
  /// Some rank's thread did not come back (it is stuck in a kernel): it still uses the job's memory, which is
  /// never freed. A process should end without running destructors of what that thread may use.
  bool hasLostThreads() const { return lostThreads; }

private:
  Kind failureKind;
  std::vector<RankPosition> rankPositions;
  bool lostThreads;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_JOBFAILURE_H
