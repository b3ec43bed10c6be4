//===- CollectiveTime.h - seconds of a collective ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// alpha-beta with the pipeline of chunks made explicit: a collective that moves `wire`
// bytes over each rank's link at B bytes a second, cut into the best number of chunks,
// takes latency + wire / B + 2 sqrt(fill wire / B). From 64 KiB to 16 GiB, one operation on
// one number of ranks follows it within 5 to 10 per cent; one set of constants for all of
// them is within 10 to 25 (docs/time-model.md).
//
//   all_reduce                  wire = 2 (n - 1) / n  of the bytes of the whole tensor
//   all_gather, reduce_scatter  wire =   (n - 1) / n
//   all_to_all                  wire =   (n - 1) / n
//   send                        wire = the bytes, fewer channels
//
// (Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in MPICH, 2005.)
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_COLLECTIVETIME_H
#define TGPT_COST_COLLECTIVETIME_H

#include "cost/Topology.h"

namespace tgpt::cost {

/// What the rings of an axis get of the topology, whatever they move.
struct RingLinks {
  double ranks = 1;
  double bytesPerSecond = 0;         ///< of the slowest link that the worst-off group crosses, shared links counted
  double reducingBytesPerSecond = 0; ///< the same of an all_reduce, where switches add up
  double latencySeconds = 0;
  double ringSeconds = 0, treeSeconds = 0; ///< hops of a ring; of an all_reduce's tree, up and down
  double fillSeconds = 0;                  ///< of a chunk
  int outermost = 0;                       ///< level that the group's ranks meet in
};

RingLinks ringLinks(const Topology &topology, const Group &group);

/// `bytes` is the whole tensor: what every rank holds after an all_gather, or before a reduce_scatter.
double allReduceSeconds(const RingLinks &ring, double bytes);
double allGatherSeconds(const RingLinks &ring, double bytes);
double allReduceSeconds(const Topology &topology, const Group &group, double bytes);
double allGatherSeconds(const Topology &topology, const Group &group, double bytes);
double reduceScatterSeconds(const Topology &topology, const Group &group, double bytes);
/// `bytes` is what each rank holds.
double allToAllSeconds(const Topology &topology, const Group &group, double bytes);
/// From a rank to the one `distance` further on, all ranks doing the same.
double sendSeconds(const Topology &topology, double distance, double bytes);

} // namespace tgpt::cost

#endif // TGPT_COST_COLLECTIVETIME_H
