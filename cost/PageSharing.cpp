//===- PageSharing.cpp - bytes that micro-batches in flight need together ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/PageSharing.h"
#include <algorithm>
#include <map>
#include <set>

namespace tgpt::cost {

int64_t bytesWithPages(const std::vector<SlotGroup> &chunks, int64_t pages, int64_t pageBytes) {
  int64_t sum = pages * pageBytes;
  for (const SlotGroup &chunk : chunks)
    sum += chunk.slots * std::max<int64_t>(chunk.bytes - pageBytes, 0);
  return sum;
}

// A byte more of every page is a byte less of every slot that is not in pages whole. So it is worth it as long as these
// are more than there are pages, and they only become fewer.
int64_t bestPageBytes(const std::vector<SlotGroup> &chunks, int64_t pages) {
  std::vector<std::pair<int64_t, int64_t>> bySize; // bytes, slots
  int64_t slots = 0;
  for (const SlotGroup &chunk : chunks) {
    bySize.emplace_back(chunk.bytes, chunk.slots);
    slots += chunk.slots;
  }
  std::sort(bySize.begin(), bySize.end());
  int64_t best = 0;
  for (auto [bytes, ofChunk] : bySize) {
    if (slots <= pages)
      break;
    best = bytes;
    slots -= ofChunk;
  }
  return best;
}

DealtPages dealOutPages(const std::vector<std::optional<PageHolder>> &holders) {
  DealtPages dealt;
  std::map<PageHolder, std::size_t> lastRun;
  for (std::size_t run = 0; run < holders.size(); ++run)
    if (holders[run])
      lastRun[*holders[run]] = run;
  std::map<PageHolder, int64_t> pageOf;
  std::set<int64_t> free;
  for (std::size_t run = 0; run < holders.size(); ++run) {
    dealt.pageOfRun.push_back(0);
    if (!holders[run])
      continue;
    auto [found, isNew] = pageOf.try_emplace(*holders[run], 0);
    if (isNew && free.empty())
      free.insert(++dealt.pages);
    if (isNew)
      found->second = free.extract(free.begin()).value();
    dealt.pageOfRun.back() = found->second;
    if (lastRun[*holders[run]] == run)
      free.insert(found->second);
  }
  return dealt;
}

} // namespace tgpt::cost
