//===- ZeroBubble.cpp - weight gradients fill the gaps ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ZB-H1 of arXiv 2401.10241. The backward that hands a gradient on (B) is done first, and
// the gradients of the stage's own weights (W) when there is nothing else to do, or when
// holding more would need more memory than one-forward-one-backward does on its first
// stage. For 3 stages and 4 micro-batches, F, B and W each one time unit long:
//
//   stage 0  F0 F1 F2 .  .  B0 W0 F3 B1 W1 B2 W2 B3 W3
//   stage 1  .  F0 F1 .  B0 F2 B1 W0 F3 B2 W1 B3 W2 W3
//   stage 2  .  .  F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3
//
// With at least as many micro-batches as stages the first stage idles for
// (stages - 1) * (tF + tB - tW) in all. Chunks go as in Interleaved.cpp.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/schedule/GreedyOrder.h"
#include <algorithm>
#include <functional>
#include <numeric>

using namespace tgpt;

static int64_t sumOf(const std::vector<int64_t> &numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), int64_t(0));
}

/// Adds up to `more` slots to the chunks that have some.
static void dealOut(int64_t more, std::vector<int64_t> &slots) {
  for (size_t chunk = 0; more > 0 && sumOf(slots) > 0; chunk = (chunk + 1) % slots.size())
    if (slots[chunk] > 0) {
      ++slots[chunk];
      --more;
    }
}

/// Per stage and chunk, slots that zero-bubble may use: those of the stage that is fullest in
/// one-forward-one-backward. Where they are too few for a chunk of another stage, because some
/// have no work, the stage's own and what is left of the sum.
static std::vector<std::vector<int64_t>> slotsAllowed(const PipelineShape &shape) {
  std::vector<std::vector<int64_t>> slots;
  for (WorkOrder &order : orderInterleaved(shape))
    slots.push_back(assignSlots(order.entries, shape.chunks));
  std::vector<int64_t> fullest =
      *std::max_element(slots.begin(), slots.end(), [](const auto &a, const auto &b) { return sumOf(a) < sumOf(b); });
  for (std::vector<int64_t> &ofStage : slots) {
    if (std::equal(ofStage.begin(), ofStage.end(), fullest.begin(), std::less_equal<>()))
      ofStage = fullest;
    else
      dealOut(sumOf(fullest) - sumOf(ofStage), ofStage);
  }
  return slots;
}

/// Whether each stage holds no more than is allowed in all.
static bool fits(const std::vector<WorkOrder> &orders, int64_t chunks, const std::vector<std::vector<int64_t>> &slots) {
  for (size_t stage = 0; stage < orders.size(); ++stage) {
    std::vector<ScheduleEntry> entries = orders[stage].entries;
    if (sumOf(assignSlots(entries, chunks)) > sumOf(slots[stage]))
      return false;
  }
  return true;
}

std::vector<WorkOrder> tgpt::orderZeroBubble(const PipelineShape &shape) {
  std::optional<GreedyResult> best;
  std::vector<std::vector<int64_t>> slots = slotsAllowed(shape);
  for (const std::vector<int64_t> &groups : groupings(shape)) {
    ChunkOrder order(shape, groups);
    GreedyLimits limits;
    limits.mostAhead = interleavedAhead(shape, order);
    limits.splitsBackward = true;
    limits.mostHeld = slots;
    GreedyResult result = orderGreedily(shape, order, limits);
    // The groups that orderInterleaved chose fit, so there is a best one.
    if ((!best || result.units < best->units) && fits(result.stages, shape.chunks, slots))
      best = std::move(result);
  }
  return std::move(best->stages);
}
