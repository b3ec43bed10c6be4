//===- StageProblem.h - what a cut into stages costs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model as a line of parts: what comes before the first layer, the layers, what
// comes after the last. A cut gives each virtual stage a run of layers; the first part
// is always on the first virtual stage, the last on the last. Virtual stage v is chunk
// v / stages of stage v % stages. Plain numbers, no IR.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_STAGEPROBLEM_H
#define TGPT_PASSES_PIPELINE_STAGEPROBLEM_H

#include "passes/pipeline/MicroBatchesInFlight.h"
#include <cstdint>
#include <span>
#include <vector>

namespace tgpt {

/// What a rank holds for good.
struct StateBytes {
  int64_t parameters = 0, gradients = 0, optimizer = 0;

  int64_t total() const { return parameters + gradients + optimizer; }
  StateBytes &operator+=(const StateBytes &other);
  /// `times` may be negative.
  void add(const StateBytes &other, int64_t times);
  bool operator==(const StateBytes &) const = default;
};

/// A part of the model on one rank, for one micro-batch.
struct PartCost {
  int64_t forwardNanoseconds = 0, backwardNanoseconds = 0;
  int64_t collectiveNanoseconds = 0; ///< of these, what collectives show
  StateBytes state;
  int64_t activationBytes = 0; ///< kept from forward to backward
  int64_t waitingBytes = 0;    ///< kept beyond its backward: for weight gradients that wait, or by other parts too
  int64_t growthBytes = 0;     ///< the most that is kept at a moment of its backward, beyond `activationBytes`
  int64_t scratchBytes = 0;    ///< the most beyond what is kept at a moment of its forward or weight gradients
  int64_t backwardBytes = 0;   ///< the most at a moment of its backward beyond `activationBytes`, what is kept included
  int64_t updateBytes = 0;     ///< live at once in the update, where nothing else is; these add up over parts

  int64_t nanoseconds() const { return forwardNanoseconds + backwardNanoseconds; }
  bool operator==(const PartCost &) const = default;
};

/// Bytes that several parts count: once on a rank (state) or a virtual stage (activations)
/// that has more than one of them.
struct SharedBytes {
  std::vector<int64_t> parts; ///< ascending, two or more
  StateBytes state;
  int64_t activationBytes = 0;
};

struct StageProblem {
  std::vector<PartCost> parts; ///< 0: before the first layer, 1 to layers(), then after the last
  std::vector<SharedBytes> shared;
  int64_t messageBytes = 0;   ///< of a boundary: what one of its sides receives and sends
  int64_t workspaceBytes = 0; ///< the most that a kernel of the model needs beside its operands
  int64_t stages = 1, chunks = 1;
  MicroBatchesInFlight inFlight;
  int64_t limitBytes = 0; ///< of a rank; 0: none

  int64_t layers() const { return static_cast<int64_t>(parts.size()) - 2; }
  int64_t virtualStages() const { return stages * chunks; }
  int64_t totalNanoseconds() const;
  /// No cut has a greatest stage time below: the mean of the stages, and the longest part.
  int64_t meanNanoseconds() const;
  int64_t longestPartNanoseconds() const;
  int64_t lowerBoundNanoseconds() const;
};

/// What one rank does for a micro-batch and holds.
struct RankCost {
  int64_t forwardNanoseconds = 0, backwardNanoseconds = 0;
  int64_t collectiveNanoseconds = 0; ///< of these, what collectives show
  StateBytes state;
  int64_t activationBytes = 0; ///< in all slots of all chunks and all pages
  int64_t scratchBytes = 0;    ///< and the workspace of kernels
  int64_t messageBytes = 0;

  int64_t nanoseconds() const { return forwardNanoseconds + backwardNanoseconds; }
  int64_t bytes() const { return state.total() + activationBytes + scratchBytes + messageBytes; }
  bool operator==(const RankCost &) const = default;
};

/// What a virtual stage holds of a micro-batch.
struct RunBytes {
  int64_t kept = 0;      ///< at the turn from forward to backward
  int64_t growth = 0;    ///< the most that is kept at a moment of the backward, beyond `kept`
  int64_t remaining = 0; ///< what is kept behind the backward, beyond `kept`; negative where it is less
  int64_t scratch = 0;   ///< the most beyond what is kept in its forward and weight gradients
  int64_t backward = 0;  ///< the most at a moment of its backward beyond `kept`; may be negative
};

/// What a rank holds of all micro-batches in flight: in slots and pages, as plan-assign-memory will lay them out, and
/// beside them.
struct HeldBytes {
  int64_t activations = 0, scratch = 0; ///< the latter with the workspace of kernels
};
/// `chunks` are the runs of the stage, `updateBytes` those of its parts.
HeldBytes heldBytes(const StageProblem &problem, int64_t stage, std::span<const RunBytes> chunks, int64_t updateBytes);

/// The cost of every rank under a cut: the layers of each virtual stage, which sum to the problem's.
std::vector<RankCost> costOfCut(const StageProblem &problem, const std::vector<int64_t> &layers);

/// The parts [first, end) of a virtual stage that has the layers [firstLayer, endLayer).
struct PartRange {
  int64_t first, end;
};
PartRange partsOf(const StageProblem &problem, int64_t virtualStage, int64_t firstLayer, int64_t endLayer);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_STAGEPROBLEM_H
