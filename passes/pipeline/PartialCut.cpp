//===- PartialCut.cpp - the first runs of a cut, and what can follow ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/PartialCut.h"
#include <algorithm>

using namespace tgpt;

PartialCut::PartialCut(const StageProblem &problem)
    : problem(problem), ranges(problem), held(problem.virtualStages()), ranks(problem.stages),
      users(problem.stages, std::vector<int64_t>(problem.shared.size())) {
  for (int64_t rank = 0; rank < problem.stages; ++rank) {
    int64_t boundaries = 2 * problem.chunks - (rank == 0) - (rank == problem.stages - 1);
    ranks[rank].messageBytes = problem.messageBytes * boundaries;
    setSlots(rank);
  }
  setLeasts();
}

// Pages and slots take at least what they do where the runs with the fewest slots are equally full and the others
// empty: with S slots of k such runs, and P pages, min(S, P) / k bytes for each that is kept.
void PartialCut::setSlots(int64_t rank) {
  std::vector<int64_t> slots;
  int64_t all = 0, sum = 0;
  for (int64_t v = rank; v < problem.virtualStages(); v += problem.stages) {
    slots.push_back(problem.inFlight.slots[v]);
    all += slots.back();
  }
  std::sort(slots.begin(), slots.end());
  int64_t pages = problem.inFlight.pages.empty() ? all : problem.inFlight.pages[rank];
  Rank &of = ranks[rank];
  if (!problem.inFlight.moments.empty())
    return setHeld(rank);
  of.slots = std::min(slots[0], pages);
  for (size_t i = 0; i < slots.size(); ++i) {
    sum += slots[i];
    int64_t runs = static_cast<int64_t>(i) + 1, taken = std::min(sum, pages);
    if (taken * of.runsOfSlots < of.slots * runs) {
      of.slots = taken;
      of.runsOfSlots = runs;
    }
  }
}

// Of a micro-batch before its backward or in it all that its forward keeps is there. So either at one moment each chunk
// has so many, or the chunk that keeps most, which is its share at least, has them at some moment.
void PartialCut::setHeld(int64_t rank) {
  int64_t ofEach = 0;
  std::vector<int64_t> ofChunks(problem.chunks);
  for (const HeldAtOnce &moment : problem.inFlight.moments[rank]) {
    int64_t fewest = unboundedCost;
    for (int64_t chunk = 0; chunk < problem.chunks; ++chunk) {
      int64_t full = moment[chunk].before + moment[chunk].within;
      fewest = std::min(fewest, full);
      ofChunks[chunk] = std::max(ofChunks[chunk], full);
    }
    ofEach = std::max(ofEach, fewest);
  }
  int64_t ofOne = *std::min_element(ofChunks.begin(), ofChunks.end());
  bool isOfEach = ofEach * problem.chunks >= ofOne;
  ranks[rank].slots = isOfEach ? ofEach : ofOne;
  ranks[rank].runsOfSlots = isOfEach ? 1 : problem.chunks;
}

// What is shared may be there already.
void PartialCut::setLeasts() {
  int64_t layers = problem.layers();
  std::vector<int64_t> sharedState(problem.parts.size()), sharedKept(problem.parts.size());
  for (const SharedBytes &shared : problem.shared)
    for (int64_t part : shared.parts) {
      sharedState[part] += shared.state.total();
      sharedKept[part] += shared.activationBytes;
    }
  leasts.assign(layers + 1, Least{unboundedCost, unboundedCost, unboundedCost});
  for (int64_t layer = layers - 1; layer >= 0; --layer) {
    const PartCost &part = problem.parts[layer + 1];
    const Least &behind = leasts[layer + 1];
    leasts[layer] = {std::min(behind.nanoseconds, part.nanoseconds()),
                     std::min(behind.stateBytes, std::max<int64_t>(part.state.total() - sharedState[layer + 1], 0)),
                     std::min(behind.keptBytes, std::max<int64_t>(part.activationBytes - sharedKept[layer + 1], 0))};
  }
}

void PartialCut::add(int64_t run, const PartRange &range, int64_t sign) {
  Rank &rank = ranks[run % problem.stages];
  rank.nanoseconds += sign * ranges.nanoseconds(range);
  rank.stateBytes += sign * ranges.stateBytes(range);
  rank.updateBytes += sign * ranges.updateBytes(range);
  rank.keptBytes += sign * held[run].kept;
  for (size_t i = 0; i < problem.shared.size(); ++i) {
    const SharedBytes &shared = problem.shared[i];
    auto at = [&](int64_t part) { return std::lower_bound(shared.parts.begin(), shared.parts.end(), part); };
    int64_t &count = users[run % problem.stages][i];
    int64_t before = std::max<int64_t>(count - 1, 0);
    count += sign * (at(range.end) - at(range.first));
    rank.stateBytes -= (std::max<int64_t>(count - 1, 0) - before) * shared.state.total();
  }
}

void PartialCut::push(int64_t endLayer) {
  int64_t run = runs();
  ends.push_back(endLayer);
  PartRange range = rangeOf(run);
  held[run] = ranges.runBytes(range);
  add(run, range, 1);
}

void PartialCut::pop() {
  int64_t run = runs() - 1;
  add(run, rangeOf(run), -1);
  held[run] = {};
  ends.pop_back();
}

std::vector<int64_t> PartialCut::layers() const {
  std::vector<int64_t> counts;
  for (size_t run = 0; run < ends.size(); ++run)
    counts.push_back(ends[run] - (run == 0 ? 0 : ends[run - 1]));
  return counts;
}

int64_t PartialCut::bytes() const {
  int64_t rank = lastRank();
  std::vector<RunBytes> chunks;
  for (int64_t v = rank; v < problem.virtualStages(); v += problem.stages)
    chunks.push_back(held[v]);
  HeldBytes ofRuns = heldBytes(problem, rank, chunks, ranks[rank].updateBytes);
  return ranks[rank].stateBytes + ranks[rank].messageBytes + ofRuns.activations + ofRuns.scratch;
}

int64_t PartialCut::leastActivations(const Rank &rank, int64_t keptBytes) {
  return static_cast<int64_t>(static_cast<__int128>(keptBytes) * rank.slots / rank.runsOfSlots);
}

bool PartialCut::hasRoom(int64_t mostNanoseconds, int64_t mostBytes) const {
  int64_t left = problem.layers() - endLayer(), room = 0;
  const Least &least = leasts[endLayer()];
  __int128 time = ranges.nanoseconds({endLayer() + 1, problem.layers() + 2});
  for (int64_t i = 0; i < problem.stages; ++i) {
    if (!hasRunsLeft(i))
      continue;
    const Rank &rank = ranks[i];
    int64_t layers = left, nanoseconds = rank.nanoseconds;
    if (i == problem.stages - 1) { // it has the head, too
      nanoseconds += problem.parts.back().nanoseconds();
      time -= problem.parts.back().nanoseconds();
    }
    if (nanoseconds > mostNanoseconds)
      return false;
    time -= mostNanoseconds - nanoseconds;
    if (left > 0 && least.nanoseconds > 0)
      layers = std::min(layers, (mostNanoseconds - nanoseconds) / least.nanoseconds);
    int64_t bytes = rank.stateBytes + rank.messageBytes + leastActivations(rank, rank.keptBytes);
    int64_t ofLayer = left > 0 ? least.stateBytes + leastActivations(rank, least.keptBytes) : 0;
    if (bytes > mostBytes)
      return false;
    if (ofLayer > 0)
      layers = std::min(layers, (mostBytes - bytes) / ofLayer);
    room += layers;
  }
  return room >= left && time <= 0;
}
