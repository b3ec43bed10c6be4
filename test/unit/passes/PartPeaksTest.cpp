//===- PartPeaksTest.cpp - what is live while a part runs, counted by hand ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/PartPeaks.h"
#include <gtest/gtest.h>

using namespace tgpt;

namespace {

// A part of two ops forward, two backward and one for weights; another one that runs between.
TEST(PartPeaksTest, countsWhatIsLiveWhileAPartRuns) {
  using enum PartPhase;
  PartPeaks peaks(
      {{0, Forward}, {0, Forward}, {1, Forward}, {1, Backward}, {0, Backward}, {0, Backward}, {0, WeightGradient}}, 2);
  peaks.addScratch(startOf(0), endOf(1), 10);   // from op 0 to op 1
  peaks.addScratch(endOf(1), endOf(2), 7);      // overwrites it: not live with it
  peaks.addKept(0, startOf(1), endOf(4), 100);  // from op 1 until its first backward has used it
  peaks.addKept(0, startOf(4), endOf(6), 1000); // for the weights
  peaks.addKept(1, startOf(2), endOf(3), 5);
  peaks.addScratch(startOf(5), PartPeaks::never, 1);        // never freed
  peaks.addScratch(PartPeaks::never, PartPeaks::never, 99); // never made
  auto found = peaks.peaks();
  EXPECT_EQ(found[0][0].liveBytes, 110);
  EXPECT_EQ(found[0][0].keptBytes, 100);
  EXPECT_EQ(found[0][1].liveBytes, 1100);
  EXPECT_EQ(found[0][1].keptBytes, 1100);
  EXPECT_EQ(found[0][2].liveBytes, 1001);
  EXPECT_EQ(found[1][0].liveBytes, 12);
  EXPECT_EQ(found[1][1].liveBytes, 5);
  EXPECT_EQ(found[1][2].liveBytes, 0);
  EXPECT_EQ(peaks.startOfPart(0, Backward), startOf(4));
  EXPECT_EQ(peaks.startOfPart(1, WeightGradient), PartPeaks::never);
}

} // namespace
