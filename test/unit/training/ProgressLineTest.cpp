//===- test/unit/training/ProgressLineTest.cpp - what people read while they wait -----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/ProgressLine.h"

#include <cmath>
#include <gtest/gtest.h>
#include <sstream>

using namespace tgpt::runtime;

static StepReport reportOf(int64_t step) {
  return {.step = step,
          .loss = 5.25,
          .gradNorm = 1.5,
          .learningRate = 1e-3,
          .tokensSeen = 0,
          .stepSeconds = 2,
          .tokensPerSecond = 12345,
          .flopsShare = 0.314};
}

TEST(ProgressLine, SaysWhatMatters) {
  std::ostringstream out;
  ProgressLine(out, false, false, 10, 100).show(reportOf(40));
  EXPECT_EQ(out.str(), "step  40/100  loss 5.2500  grad norm 1.500  lr 1.00e-03  12.3k tokens/s  31.4% of GEMM peak  "
                       "2m00s left\n");
}

TEST(ProgressLine, ShowsTheLossScaleAndSkippedSteps) {
  std::ostringstream out;
  StepReport report = reportOf(40);
  report.gradNorm = -NAN, report.lossScale = 65536, report.skippedSteps = 3;
  ProgressLine(out, false, false, 10, 100).show(report);
  EXPECT_NE(out.str().find("grad norm nan "), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("tokens/s  scale 65536  3 skipped  31.4%"), std::string::npos) << out.str();
}

TEST(ProgressLine, TheTimeLeftIsByTheMeanOfAllStepsButTheFirst) {
  std::ostringstream out;
  ProgressLine progress(out, false, false, 1, 10);
  double seconds[] = {100, 2, 4};
  for (int64_t step = 1; step <= 3; ++step) {
    StepReport report = reportOf(step);
    report.stepSeconds = seconds[step - 1];
    out.str("");
    progress.show(report);
  }
  EXPECT_NE(out.str().find("  21s left"), std::string::npos) << out.str();
}

TEST(ProgressLine, AFileGetsALineEveryFewSteps) {
  std::ostringstream out;
  ProgressLine progress(out, false, false, 4, 10);
  std::string steps;
  for (int64_t step = 1; step <= 10; ++step) {
    out.str("");
    progress.show(reportOf(step));
    steps += out.str().empty() ? '.' : 'x';
  }
  EXPECT_EQ(steps, "x..x...x.x");
}

TEST(ProgressLine, ATerminalLineIsRewritten) {
  std::ostringstream out;
  ProgressLine progress(out, true, true, 10, 100);
  progress.show(reportOf(1));
  out.str("");
  progress.show(reportOf(2));
  EXPECT_EQ(out.str().front(), '\r');
  EXPECT_EQ(out.str().find('\n'), std::string::npos);
  EXPECT_NE(out.str().find("\x1b[1;32m5.2500\x1b[0m"), std::string::npos);
  out.str("");
  progress.note("saved");
  EXPECT_EQ(out.str(), "\rsaved\x1b[K\n");
}

TEST(ProgressLine, ShortCountsKeepThreeDigits) {
  EXPECT_EQ(shortCount(0), "0");
  EXPECT_EQ(shortCount(950), "950");
  EXPECT_EQ(shortCount(1234), "1.23k");
  EXPECT_EQ(shortCount(12345), "12.3k");
  EXPECT_EQ(shortCount(999.6e3), "1.00M");
  EXPECT_EQ(shortCount(124e6), "124M");
  EXPECT_EQ(shortCount(4.05e11), "405G");
}
