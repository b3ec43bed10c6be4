//===- ClusterFields.cpp - the figures of a cluster file, and what each may be ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/cluster/ClusterFields.h"
#include <cmath>

namespace tgpt::cost {

const std::vector<ClusterField<Level>> &levelFields() {
  static const std::vector<ClusterField<Level>> fields = {
      {"ranks", "consecutive ranks that one unit joins", &Level::ranks, FigureRange::Count, true},
      {"links", "by which a unit below hangs from the level", &Level::links, FigureRange::Count, true},
      {"bytes_per_second", "one way, of one link", &Level::bytesPerSecond, FigureRange::Positive},
      {"reducing_bytes_per_second", "of an all_reduce, where the switch adds up", &Level::reducingBytesPerSecond,
       FigureRange::Amount, true},
      {"latency_seconds", "of a collective", &Level::latencySeconds},
      {"hop_seconds", "of each hop over the level", &Level::hopSeconds},
      {"fill_seconds", "of one chunk", &Level::fillSeconds},
      {"send_fill_seconds", "of one chunk of a send", &Level::sendFillSeconds},
      {"carries_outer", "what goes on to an outer level crosses the level too", &Level::carriesOuter,
       FigureRange::Amount, true},
  };
  return fields;
}

const std::vector<ClusterField<CommunicatorMemory>> &communicatorFields() {
  static const std::vector<ClusterField<CommunicatorMemory>> fields = {
      {"bytes", "of each communicator", &CommunicatorMemory::bytes},
      {"bytes_per_peer", "of each rank that sends go to or come from", &CommunicatorMemory::bytesPerPeer},
  };
  return fields;
}

const std::vector<ClusterField<Software>> &softwareFields() {
  constexpr bool optional = true;
  using enum FigureRange;
  static const std::vector<ClusterField<Software>> fields = {
      {"elementwise_traffic", "bytes of elementwise kernels, over those of fused ones", &Software::elementwiseTraffic,
       Positive, optional},
      {"loss_forward_bytes", "moved for a logit in 16 bits", &Software::lossForwardBytes, Positive, optional},
      {"loss_backward_bytes", "the same backward", &Software::lossBackwardBytes, Positive, optional},
      {"attention_rate", "of the device's fused attention", &Software::attentionRate, Positive, optional},
      {"tensor_overlap", "share of tp communication that is hidden", &Software::tensorOverlap, Share, optional},
      {"reduce_overlap", "share of the last backward that hides gradients' sums", &Software::reduceOverlap, Share,
       optional},
      {"gather_overlap", "share of the first forward that hides parameters' gathers", &Software::gatherOverlap, Share,
       optional},
      {"shard_overlap", "share of a layer that hides ZeRO-3's communication", &Software::shardOverlap, Share, optional},
      {"pipeline_overlap", "share of sends that is hidden", &Software::pipelineOverlap, Share, optional},
      {"send_start_seconds", "host synchronisation around a send", &Software::sendStartSeconds, Amount, optional},
      {"data_bandwidth", "share of the links' rate that dp collectives reach", &Software::dataBandwidth, Positive,
       optional},
      {"overlap_slowdown", "computation lost per second of communication beside it", &Software::overlapSlowdown, Share,
       optional},
      {"gradient_bytes", "of a gradient element on the wire", &Software::gradientBytes, Positive, optional},
      {"kernels_per_layer", "launched in one forward", &Software::kernelsPerLayer, Amount, optional},
      {"step_seconds", "data, logging, host work of a step", &Software::stepSeconds, Amount, optional},
      {"recompute_stops_early", "no more is computed again than backward needs", &Software::recomputeStopsEarly, Amount,
       optional},
      {"cast_traffic", "bytes per element to make 8- or 4-bit operands", &Software::castTraffic, Amount, optional},
  };
  return fields;
}

const char *wordsOf(FigureRange range) {
  switch (range) {
  case FigureRange::Positive: return "a number from 1e-12 to 1e24";
  case FigureRange::Amount: return "0 or a number from 1e-12 to 1e24";
  case FigureRange::Share: return "a number from 0 to 1";
  case FigureRange::Count: return "a whole number from 1 to 1073741824";
  }
  return "";
}

bool isWithin(FigureRange range, double figure) {
  if (!std::isfinite(figure))
    return false;
  bool isPositive = figure >= 1e-12 && figure <= 1e24;
  switch (range) {
  case FigureRange::Positive: return isPositive;
  case FigureRange::Amount: return figure == 0 || isPositive;
  case FigureRange::Share: return figure >= 0 && figure <= 1;
  case FigureRange::Count: return figure >= 1 && figure <= 0x1p30 && std::floor(figure) == figure;
  }
  return false;
}

} // namespace tgpt::cost
