//===- HeldMicroBatches.cpp - activations that stages hold at once ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chunk has a slot for each micro-batch that it ever holds at once, and chunks share pages
// (cost/PageSharing.h), as they are not full at the same time: stage s of p runs
// 2 (p - s - 1) + (chunks - 1) p forwards ahead, in groups of p micro-batches through
// chunk after chunk, and then a forward and a backward in turn (passes/pipeline/schedule;
// a test compares). Beyond a few groups nothing changes.
//
//===----------------------------------------------------------------------===//

#include "compiler/search/Grid.h"
#include "cost/PageSharing.h"
#include <algorithm>

namespace tgpt::search {
namespace {

/// The chunk of a stage's n-th forward, or, counted from the last chunk, of its n-th backward.
int64_t chunkOf(int64_t n, int64_t group, int64_t chunks, int64_t microBatches) {
  int64_t round = n / (group * chunks), begun = round * group;
  int64_t size = std::min(group, microBatches - begun);
  return (n - begun * chunks) / size;
}

/// In the mean over the layers of the stage, of which the last chunks have one more where chunks do not divide them.
double heldByChunks(int64_t layers, int64_t stage, int64_t stages, int64_t chunks, int64_t microBatches) {
  int64_t group = std::min(stages, microBatches);
  int64_t all = microBatches * chunks;
  int64_t ahead = std::min(all, 2 * (stages - stage - 1) + (chunks - 1) * group + 1);
  int64_t forwards = std::min(all, ahead + 2 * group * chunks);
  std::vector<int64_t> held(chunks, 0);
  std::vector<cost::SlotGroup> groups(chunks, {0, 0});
  int64_t pages = 0, sum = 0;
  for (int64_t n = 0; n < forwards; ++n) {
    int64_t chunk = chunkOf(n, group, chunks, microBatches);
    groups[chunk].slots = std::max(groups[chunk].slots, ++held[chunk]);
    pages = std::max(pages, ++sum);
    if (int64_t backward = n + 1 - ahead; backward >= 0) {
      --held[chunks - 1 - chunkOf(backward, group, chunks, microBatches)];
      --sum;
    }
  }
  layers = std::max(layers, chunks);
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    groups[chunk].bytes = layers / chunks + (chunk >= chunks - layers % chunks);
  return static_cast<double>(cost::bytesWithPages(groups, pages, cost::bestPageBytes(groups, pages))) /
         static_cast<double>(layers);
}

} // namespace

cost::HeldMicroBatches heldBy(const Candidate &candidate, int64_t layers) {
  int64_t pp = candidate.pp, count = candidate.microBatches;
  auto held = [&](int64_t stage) -> cost::HeldMicroBatches::OfStage {
    switch (candidate.schedule) {
    case PipelineOrder::GPipe: return {static_cast<double>(count), 0};
    // Weight gradients may wait where the first stage has as many slots: the later the stage, the more of them.
    case PipelineOrder::ZeroBubble:
      return {static_cast<double>(std::min(count, pp)), static_cast<double>(std::min(count, stage + 1))};
    case PipelineOrder::OneF1B: break;
    }
    double kept = candidate.vpp > 1 ? heldByChunks((layers + pp - 1 - stage) / pp, stage, pp, candidate.vpp, count)
                                    : static_cast<double>(std::min(count, pp - stage));
    return {kept, 0};
  };
  return {held(0), held(std::min<int64_t>(1, pp - 1)), held(pp - 1)};
}

} // namespace tgpt::search
