//===- PageSharing.h - bytes that micro-batches in flight need together ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chunk has a slot for each of its micro-batches that are ever in flight, but the chunks of
// a stage are not full at the same time. Pages are what micro-batches of all chunks take in
// turn, so there are only as many as ever have one together. From what a micro-batch of
// each chunk keeps and who holds a page when to bytes: for plan-assign-memory, which has
// buffers, for cuts into stages, which have sums over layers, and for the closed forms.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_PAGESHARING_H
#define TGPT_COST_PAGESHARING_H

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tgpt::cost {

/// The slots of one chunk, and what a micro-batch keeps of it.
struct SlotGroup {
  int64_t slots = 1;
  int64_t bytes = 0;
};

/// Bytes of all slots and pages, were a page to take the first `pageBytes` of what a micro-batch keeps and its slot the
/// rest. Where buffers cannot be divided a page is never as full, so no placement has less than the best of these.
int64_t bytesWithPages(const std::vector<SlotGroup> &chunks, int64_t pages, int64_t pageBytes);

/// The size of a page with which that is least, the smallest of several. 0: slots alone.
int64_t bestPageBytes(const std::vector<SlotGroup> &chunks, int64_t pages);

/// A chunk and a micro-batch of it.
using PageHolder = std::pair<int64_t, int64_t>;

struct DealtPages {
  std::vector<int64_t> pageOfRun; ///< from 1; 0: none
  int64_t pages = 0;
};

/// Pages along a schedule, the lowest free one first: as few as there are holders at the same time. `holders` says
/// whose page a run uses, who holds it from the first of its runs to the last.
DealtPages dealOutPages(const std::vector<std::optional<PageHolder>> &holders);

} // namespace tgpt::cost

#endif // TGPT_COST_PAGESHARING_H
