//===- Candidate.h - one configuration of a training run ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A point of the space that is searched, in the terms of tgpt-opt's flags, and the names
// that its choices have there.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_SEARCH_CANDIDATE_H
#define TGPT_COMPILER_SEARCH_CANDIDATE_H

#include "compiler/driver/CompileOptions.h"
#include "cost/Execution.h"
#include <array>
#include <string>

namespace tgpt::search {

enum class PipelineOrder { OneF1B, GPipe, ZeroBubble };
inline constexpr std::array<const char *, 3> pipelineOrderNames = {"1f1b", "gpipe", "zero-bubble"};

/// What tgpt-opt can compute again, of cost::Recompute.
inline constexpr std::array<cost::Recompute, 3> recomputeModes = {cost::Recompute::None, cost::Recompute::Selective,
                                                                  cost::Recompute::Full};
inline constexpr std::array<const char *, 3> recomputeNames = {"none", "selective", "full"};
const char *nameOf(cost::Recompute mode);

/// All numberings of ranks. The first is tgpt-opt's own. Axes go from the inside out, names from the outside in, as in
/// --rank-order.
using RankOrder = std::array<cost::RankAxis, 3>;
struct NamedRankOrder {
  RankOrder order;
  const char *name;
};
inline constexpr cost::RankAxis tensorAxis = cost::RankAxis::Tensor, dataAxis = cost::RankAxis::Data,
                                pipelineAxis = cost::RankAxis::Pipeline;
inline constexpr std::array<NamedRankOrder, 6> rankOrders = {{{{tensorAxis, pipelineAxis, dataAxis}, "dp,pp,tp"},
                                                              {{tensorAxis, dataAxis, pipelineAxis}, "pp,dp,tp"},
                                                              {{pipelineAxis, tensorAxis, dataAxis}, "dp,tp,pp"},
                                                              {{dataAxis, tensorAxis, pipelineAxis}, "pp,tp,dp"},
                                                              {{pipelineAxis, dataAxis, tensorAxis}, "tp,dp,pp"},
                                                              {{dataAxis, pipelineAxis, tensorAxis}, "tp,pp,dp"}}};
const char *nameOf(const RankOrder &order);

struct Candidate {
  int64_t tp = 1, pp = 1, vpp = 1, dp = 1;
  bool sp = false;
  int zero = 0;
  int64_t zeroGroup = 0; ///< 0: all dp ranks
  bool overlap = true;
  PipelineOrder schedule = PipelineOrder::OneF1B;
  cost::Recompute recompute = cost::Recompute::None;
  int64_t microBatchSamples = 1, microBatches = 1;
  RankOrder order = rankOrders[0].order;
  int64_t bucketMib = 25; ///< gradients up to which layers share a collective over dp
  int64_t prefetch = 1;   ///< with overlap: layers ahead of use that ZeRO-3 gathers

  int64_t gpus() const { return tp * pp * dp; }
  /// Whether layers of gradients are joined in buckets of a size that can be chosen.
  bool hasBuckets() const { return dp > 1 && zero < 3; }
  /// Whether parameters are gathered, ahead of their use or not.
  bool gathersParameters() const { return dp > 1 && zero == 3; }
  bool operator==(const Candidate &) const = default;
};

/// As the cost model sees it, with elements of so many bytes.
cost::Execution executionOf(const Candidate &candidate, cost::OperandType operands, double elementBytes);
/// As the compiler takes it; what a candidate does not choose is as in `base`.
CompileOptions compileOptionsOf(const Candidate &candidate, CompileOptions base);
/// The flags of tgpt-opt that choose it, and a dtype: "--tp=8 --pp=2 ...", in the order in which tgpt-opt notes them in
/// a plan. Those that have no effect are left out.
std::string flagsOf(const Candidate &candidate, const std::string &dtype = "");
/// "tp=8 sp pp=2 vpp=4 dp=4 zero=1 recompute=full, 32 micro-batches of 1".
std::string shortText(const Candidate &candidate);

} // namespace tgpt::search

#endif // TGPT_COMPILER_SEARCH_CANDIDATE_H
