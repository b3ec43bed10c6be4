//===- PageSharingTest.cpp - slots and pages against every size ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/PageSharing.h"
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace tgpt::cost;

namespace {

std::mt19937_64 generator(20261);

int64_t draw(int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(generator);
}

TEST(PageSharingTest, theSizeIsTheBestOfAll) {
  int64_t withPages = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<SlotGroup> chunks;
    for (int64_t count = draw(1, 5); count > 0; --count)
      chunks.push_back({draw(1, 6), draw(0, 40)});
    int64_t pages = draw(1, 20), best = bytesWithPages(chunks, pages, 0), bestSize = 0;
    for (int64_t size = 1; size <= 40; ++size)
      if (int64_t bytes = bytesWithPages(chunks, pages, size); bytes < best) {
        best = bytes;
        bestSize = size;
      }
    int64_t chosen = bestPageBytes(chunks, pages);
    ASSERT_EQ(bytesWithPages(chunks, pages, chosen), best) << "round " << round;
    ASSERT_EQ(chosen, bestSize) << "round " << round;
    withPages += chosen > 0;
  }
  EXPECT_GT(withPages, 500);
  EXPECT_LT(withPages, 2500);
}

// No two holders have a page at once, a holder has one, and no fewer pages would do.
TEST(PageSharingTest, pagesAreThoseOfOverlappingHolders) {
  for (int round = 0; round < 500; ++round) {
    std::vector<std::optional<PageHolder>> holders;
    for (int64_t count = draw(0, 40); count > 0; --count)
      holders.push_back(draw(0, 4) == 0 ? std::nullopt : std::optional(PageHolder(draw(0, 2), draw(0, 4))));
    DealtPages dealt = dealOutPages(holders);
    ASSERT_EQ(dealt.pageOfRun.size(), holders.size());
    std::map<PageHolder, std::pair<size_t, size_t>> spans;
    std::map<PageHolder, std::set<int64_t>> pagesOf;
    for (size_t run = 0; run < holders.size(); ++run) {
      ASSERT_EQ(dealt.pageOfRun[run] > 0, holders[run].has_value());
      if (!holders[run])
        continue;
      spans.try_emplace(*holders[run], run, run).first->second.second = run;
      pagesOf[*holders[run]].insert(dealt.pageOfRun[run]);
    }
    size_t most = 0;
    for (size_t run = 0; run < holders.size(); ++run) {
      std::set<int64_t> taken;
      size_t count = 0;
      for (const auto &[holder, span] : spans)
        if (span.first <= run && run <= span.second) {
          ++count;
          taken.insert(*pagesOf[holder].begin());
        }
      ASSERT_EQ(taken.size(), count);
      most = std::max(most, count);
    }
    for (const auto &[holder, pages] : pagesOf)
      ASSERT_EQ(pages.size(), 1U);
    ASSERT_EQ(dealt.pages, static_cast<int64_t>(most));
  }
}

} // namespace
