//===- StageProblem.cpp - what a cut into stages costs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageProblem.h"
#include <algorithm>

using namespace tgpt;

StateBytes &StateBytes::operator+=(const StateBytes &other) {
  add(other, 1);
  return *this;
}

void StateBytes::add(const StateBytes &other, int64_t times) {
  parameters += times * other.parameters;
  gradients += times * other.gradients;
  optimizer += times * other.optimizer;
}

int64_t StageProblem::totalNanoseconds() const {
  int64_t total = 0;
  for (const PartCost &part : parts)
    total += part.nanoseconds();
  return total;
}

int64_t StageProblem::meanNanoseconds() const {
  return (totalNanoseconds() + stages - 1) / stages;
}

int64_t StageProblem::longestPartNanoseconds() const {
  int64_t longest = 0;
  for (const PartCost &part : parts)
    longest = std::max(longest, part.nanoseconds());
  return longest;
}

int64_t StageProblem::lowerBoundNanoseconds() const {
  return std::max(meanNanoseconds(), longestPartNanoseconds());
}

PartRange tgpt::partsOf(const StageProblem &problem, int64_t virtualStage, int64_t firstLayer, int64_t endLayer) {
  bool isFirst = virtualStage == 0, isLast = virtualStage == problem.virtualStages() - 1;
  return {isFirst ? 0 : firstLayer + 1, isLast ? problem.layers() + 2 : endLayer + 1};
}

/// Takes off what parts count that share it: activations once for each run, states once for each rank.
static void takeOffShared(const StageProblem &problem, const std::vector<int64_t> &runOfPart,
                          std::vector<RunBytes> &runs, std::vector<RankCost> &ranks) {
  std::vector<int64_t> sharedOfRank(problem.stages, -1); // the last one that the rank has
  for (size_t i = 0; i < problem.shared.size(); ++i) {
    int64_t lastRun = -1, item = static_cast<int64_t>(i);
    for (int64_t part : problem.shared[i].parts) {
      int64_t run = runOfPart[part], rank = run % problem.stages;
      if (run == lastRun)
        runs[run].kept -= problem.shared[i].activationBytes;
      if (sharedOfRank[rank] == item)
        ranks[rank].state.add(problem.shared[i].state, -1);
      lastRun = run;
      sharedOfRank[rank] = item;
    }
  }
}

/// A page has what the backward keeps for weight gradients and has no room in the slot, or what it frees and has no
/// room where the slot is filled later. With both, where every micro-batch but the one in its backward has one of them,
/// these are full before the backward and behind it, and as full as can be in it.
static int64_t activationsOfOneChunk(const MicroBatchesInFlight &inFlight, int64_t stage, const RunBytes &run) {
  int64_t slots = inFlight.slots[stage], pages = inFlight.pages.empty() ? slots : inFlight.pages[stage];
  int64_t bytes = slots * run.kept + pages * run.growth;
  if (inFlight.untilBackward.empty())
    return bytes;
  int64_t waiting = run.kept + run.remaining, until = inFlight.untilBackward[stage];
  bytes = std::min(bytes, slots * waiting + until * (run.growth - run.remaining));
  if (pages + until == slots + 1)
    bytes = std::min(bytes, (until - 1) * run.kept + (pages - 1) * waiting + run.kept + run.growth);
  return bytes;
}

/// What a micro-batch of a chunk holds, by when: a slot, and beside it what its backward frees until the end of that,
/// and what it makes from its begin on. Only in it both are held.
static int64_t heldOfChunk(const RunBytes &run, const HeldOfChunk &held) {
  int64_t most = run.kept + run.growth, freed = run.growth - run.remaining, made = run.growth;
  int64_t slot = std::max<int64_t>(most - freed - made, 0);
  return held.before * (slot + freed) + held.within * (slot + freed + made) + held.behind * (slot + made);
}

/// Slots, pages and leaves of several chunks lie anywhere in one lot, which has what is held at one time.
static int64_t activationsOfChunks(const StageProblem &problem, int64_t stage, std::span<const RunBytes> chunks) {
  const MicroBatchesInFlight &inFlight = problem.inFlight;
  int64_t most = 0;
  if (inFlight.moments.empty()) {
    for (size_t chunk = 0; chunk < chunks.size(); ++chunk)
      most += inFlight.slots[chunk * problem.stages + stage] * (chunks[chunk].kept + chunks[chunk].growth);
    return most;
  }
  for (const HeldAtOnce &moment : inFlight.moments[stage]) {
    int64_t bytes = 0;
    for (size_t chunk = 0; chunk < chunks.size(); ++chunk)
      bytes += heldOfChunk(chunks[chunk], moment[chunk]);
    most = std::max(most, bytes);
  }
  return most;
}

// A backward may use the room in its page too.
HeldBytes tgpt::heldBytes(const StageProblem &problem, int64_t stage, std::span<const RunBytes> chunks,
                          int64_t updateBytes) {
  HeldBytes held;
  held.activations = chunks.size() == 1 ? activationsOfOneChunk(problem.inFlight, stage, chunks[0])
                                        : activationsOfChunks(problem, stage, chunks);
  for (const RunBytes &run : chunks)
    held.scratch = std::max({held.scratch, run.scratch, run.backward - run.growth});
  held.scratch = std::max(held.scratch, updateBytes - held.activations) + problem.workspaceBytes;
  return held;
}

/// Adds up parts, the last first: what is behind a part has gone through its backward before.
static RunBytes bytesOfRun(const StageProblem &problem, PartRange range) {
  RunBytes run;
  int64_t behind = 0; // what its later parts keep by now, beyond what they did at the turn
  for (int64_t i = range.end - 1; i >= range.first; --i) {
    const PartCost &part = problem.parts[i];
    run.scratch = std::max(run.scratch, part.scratchBytes);
    run.growth = std::max(run.growth, part.growthBytes + behind);
    run.backward = i == range.end - 1 ? part.backwardBytes : std::max(run.backward, part.backwardBytes + behind);
    run.kept += part.activationBytes;
    behind += part.waitingBytes - part.activationBytes;
  }
  run.remaining = behind;
  return run;
}

std::vector<RankCost> tgpt::costOfCut(const StageProblem &problem, const std::vector<int64_t> &layers) {
  std::vector<RankCost> ranks(problem.stages);
  std::vector<int64_t> updateBytes(problem.stages), runOfPart(problem.parts.size());
  std::vector<RunBytes> runs;
  int64_t firstLayer = 0;
  for (int64_t v = 0; v < problem.virtualStages(); ++v) {
    RankCost &rank = ranks[v % problem.stages];
    PartRange range = partsOf(problem, v, firstLayer, firstLayer + layers[v]);
    firstLayer += layers[v];
    runs.push_back(bytesOfRun(problem, range));
    for (int64_t i = range.first; i < range.end; ++i) {
      const PartCost &part = problem.parts[i];
      runOfPart[i] = v;
      rank.forwardNanoseconds += part.forwardNanoseconds;
      rank.backwardNanoseconds += part.backwardNanoseconds;
      rank.collectiveNanoseconds += part.collectiveNanoseconds;
      rank.state += part.state;
      updateBytes[v % problem.stages] += part.updateBytes;
    }
    rank.messageBytes += problem.messageBytes * ((v > 0) + (v < problem.virtualStages() - 1));
  }
  takeOffShared(problem, runOfPart, runs, ranks);
  std::vector<RunBytes> chunks(problem.chunks);
  for (int64_t stage = 0; stage < problem.stages; ++stage) {
    for (int64_t chunk = 0; chunk < problem.chunks; ++chunk)
      chunks[chunk] = runs[chunk * problem.stages + stage];
    HeldBytes held = heldBytes(problem, stage, chunks, updateBytes[stage]);
    ranks[stage].activationBytes = held.activations;
    ranks[stage].scratchBytes = held.scratch;
  }
  return ranks;
}
