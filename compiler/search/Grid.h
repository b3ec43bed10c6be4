//===- Grid.h - the candidates of one grid of ranks ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tp, pp and dp make a grid; what else there is to choose on it is a product of short
// lists. Only what tgpt-opt compiles is in them, and of what makes no difference one:
// sequence parallelism needs tp, ZeRO needs dp, chunks need stages.
//
//   schedule   1f1b with one chunk a stage, or more where they are equal but for the first and the last, which
//              may have a layer less each, for the embedding and the head; gpipe and zero-bubble with one
//   ZeRO       0 to 3, over all dp ranks or over those of a node; with stage 3 gathers
//              ahead (--overlap) or not: nothing else trades memory for overlap
//   samples    what divides the samples of a dp rank
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_SEARCH_GRID_H
#define TGPT_COMPILER_SEARCH_GRID_H

#include "compiler/search/Problem.h"
#include <array>
#include <vector>

namespace tgpt::search {

/// Why a candidate is none.
enum class Refusal { Heads, KvHeads, Ffn, Sequence, Layers, Batch, Entries, Memory };
inline constexpr std::size_t refusalCount = 8;
/// "tp does not divide the heads".
extern const std::array<const char *, refusalCount> refusalTexts;
extern const std::array<const char *, refusalCount> refusalNames;

struct PipelineChoice {
  PipelineOrder schedule;
  int64_t vpp;
};
struct DataChoice {
  int zero;
  int64_t group;
  bool overlap;
};

struct Grid {
  int64_t tp, pp, dp;
  std::vector<bool> sp;
  std::vector<PipelineChoice> pipelines;
  std::vector<DataChoice> data;
  std::vector<cost::Recompute> recompute;
  std::vector<int64_t> samples; ///< of a micro-batch
  std::vector<RankOrder> orders;

  int64_t count() const {
    return static_cast<int64_t>(sp.size() * pipelines.size() * data.size() * recompute.size() * samples.size() *
                                orders.size());
  }
};

/// Micro-batches whose activations the stages of a candidate hold at once: of the order in which tgpt-opt's schedules
/// do their work.
cost::HeldMicroBatches heldBy(const Candidate &candidate, int64_t layers);

/// The divisors of a number, ascending.
std::vector<int64_t> divisorsOf(int64_t number);

/// What there is to choose on one grid, as far as it is not pinned.
Grid gridOf(const Problem &problem, int64_t tp, int64_t pp, int64_t dp);
/// All grids of the problem's GPUs, as far as they are not pinned. Where the batch can't be dealt out over dp, one size
/// of micro-batches stands for all.
std::vector<Grid> gridsOf(const Problem &problem);

/// Why tgpt-opt compiles nothing on this grid; empty where it does.
std::optional<Refusal> refusalOf(const Problem &problem, int64_t tp, int64_t pp, int64_t dp);
/// Why it does not compile one candidate of a grid that is not refused; memory aside.
std::optional<Refusal> refusalOf(const Problem &problem, const Candidate &candidate);

} // namespace tgpt::search

#endif // TGPT_COMPILER_SEARCH_GRID_H
