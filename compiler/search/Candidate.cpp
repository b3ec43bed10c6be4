//===- Candidate.cpp - one configuration of a training run ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/search/Candidate.h"

namespace tgpt::search {

const char *nameOf(cost::Recompute mode) {
  for (std::size_t i = 0; i < recomputeModes.size(); ++i)
    if (recomputeModes[i] == mode)
      return recomputeNames[i];
  return "";
}

const char *nameOf(const RankOrder &order) {
  for (const NamedRankOrder &named : rankOrders)
    if (named.order == order)
      return named.name;
  return "";
}

static const char *nameOf(PipelineOrder order) {
  return pipelineOrderNames[static_cast<std::size_t>(order)];
}

static cost::Schedule scheduleOf(const Candidate &candidate) {
  switch (candidate.schedule) {
  case PipelineOrder::GPipe: return cost::Schedule::GPipe;
  case PipelineOrder::ZeroBubble: return cost::Schedule::ZeroBubbleH1;
  case PipelineOrder::OneF1B: break;
  }
  return candidate.vpp > 1 ? cost::Schedule::Interleaved : cost::Schedule::OneF1B;
}

cost::Execution executionOf(const Candidate &candidate, cost::OperandType operands, double elementBytes) {
  cost::Execution run;
  run.rankOrder = candidate.order;
  run.tp = static_cast<double>(candidate.tp);
  run.dp = static_cast<double>(candidate.dp);
  run.pp = static_cast<double>(candidate.pp);
  run.chunks = static_cast<double>(candidate.vpp);
  run.sequenceParallel = candidate.sp;
  run.zero = candidate.zero;
  run.zeroRanks = static_cast<double>(candidate.zeroGroup);
  run.schedule = scheduleOf(candidate);
  run.recompute = candidate.recompute;
  run.microBatch = static_cast<double>(candidate.microBatchSamples);
  run.microBatches = static_cast<double>(candidate.microBatches);
  run.operands = operands;
  run.elementBytes = elementBytes;
  run.gathersAhead = candidate.overlap ? static_cast<double>(candidate.prefetch) : 0;
  run.evenStages = true;
  run.keepsForWeightGradients = candidate.schedule == PipelineOrder::ZeroBubble;
  run.flatTensorInPipeline = candidate.sp;
  run.countsPassing = true;
  return run;
}

CompileOptions compileOptionsOf(const Candidate &candidate, CompileOptions options) {
  options.tp = candidate.tp;
  options.pp = candidate.pp;
  options.vpp = candidate.vpp;
  options.dp = candidate.dp;
  options.sequenceParallel = candidate.sp;
  options.zero = candidate.zero;
  options.zeroGroup = candidate.zeroGroup;
  options.overlap = candidate.overlap;
  options.bucketMib = candidate.bucketMib;
  options.prefetch = candidate.prefetch;
  options.schedule = nameOf(candidate.schedule);
  options.recompute = nameOf(candidate.recompute);
  options.microBatchSamples = candidate.microBatchSamples;
  options.microBatches = candidate.microBatches;
  options.rankOrder = nameOf(candidate.order);
  return options;
}

std::string flagsOf(const Candidate &candidate, const std::string &dtype) {
  std::string text;
  auto add = [&](const std::string &flag) { text += (text.empty() ? "--" : " --") + flag; };
  auto addNumber = [&](const char *name, int64_t value, int64_t byDefault) {
    if (value != byDefault)
      add(std::string(name) + "=" + std::to_string(value));
  };
  addNumber("tp", candidate.tp, 1);
  addNumber("pp", candidate.pp, 1);
  addNumber("vpp", candidate.vpp, 1);
  if (candidate.schedule != PipelineOrder::OneF1B)
    add(std::string("schedule=") + nameOf(candidate.schedule));
  addNumber("dp", candidate.dp, 1);
  if (candidate.sp)
    add("sp");
  addNumber("zero", candidate.zero, 0);
  if (candidate.hasBuckets())
    addNumber("bucket-mib", candidate.bucketMib, Candidate().bucketMib);
  addNumber("zero-group", candidate.zeroGroup, 0);
  if (!(candidate.order == rankOrders[0].order))
    add(std::string("rank-order=") + nameOf(candidate.order));
  add("micro-batches=" + std::to_string(candidate.microBatches));
  add("micro-batch-samples=" + std::to_string(candidate.microBatchSamples));
  if (!dtype.empty())
    add("dtype=" + dtype);
  if (candidate.recompute != cost::Recompute::None)
    add(std::string("recompute=") + nameOf(candidate.recompute));
  if (candidate.overlap)
    add("overlap");
  if (candidate.overlap && candidate.gathersParameters())
    addNumber("prefetch", candidate.prefetch, Candidate().prefetch);
  return text;
}

std::string shortText(const Candidate &candidate) {
  std::string text =
      "tp=" + std::to_string(candidate.tp) + (candidate.sp ? " sp" : "") + " pp=" + std::to_string(candidate.pp);
  if (candidate.vpp > 1)
    text += " vpp=" + std::to_string(candidate.vpp);
  if (candidate.schedule != PipelineOrder::OneF1B)
    text += std::string(" ") + nameOf(candidate.schedule);
  text += " dp=" + std::to_string(candidate.dp);
  if (candidate.zero > 0)
    text += " zero=" + std::to_string(candidate.zero);
  if (candidate.zeroGroup > 0)
    text += " zero-group=" + std::to_string(candidate.zeroGroup);
  if (candidate.recompute != cost::Recompute::None)
    text += std::string(" recompute=") + nameOf(candidate.recompute);
  if (!(candidate.order == rankOrders[0].order))
    text += std::string(" ranks ") + nameOf(candidate.order);
  if (candidate.hasBuckets() && candidate.bucketMib != Candidate().bucketMib)
    text += " bucket-mib=" + std::to_string(candidate.bucketMib);
  if (!candidate.overlap)
    text += " overlap=off";
  else if (candidate.gathersParameters() && candidate.prefetch != Candidate().prefetch)
    text += " prefetch=" + std::to_string(candidate.prefetch);
  return text + ", " + std::to_string(candidate.microBatches) +
         (candidate.microBatches == 1 ? " micro-batch of " : " micro-batches of ") +
         std::to_string(candidate.microBatchSamples);
}

} // namespace tgpt::search
