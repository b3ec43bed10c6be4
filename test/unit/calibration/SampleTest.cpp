//===- SampleTest.cpp - medians and spreads --------------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/calibration/Sample.h"

#include <gtest/gtest.h>

using namespace tgpt::runtime::calibration;

namespace {

TEST(Sample, OneSlowMeasurementChangesNothing) {
  Sample sample = sampleOf({3, 1, 2, 1000, 2});
  EXPECT_EQ(sample.seconds, 2);
  EXPECT_EQ(sample.spread, (3.0 - 2.0) / 2 / 2); // quartiles 2 and 3
  EXPECT_EQ(sample.count, 5);
}

TEST(Sample, TheLowerQuartileIsThatOfUndisturbedMeasurements) {
  Sample sample = lowerQuartileOf({3, 1, 2, 1000, 2});
  EXPECT_EQ(sample.seconds, 2);
  EXPECT_EQ(lowerQuartileOf({4, 2}).seconds, 2.5);
  EXPECT_EQ(lowerQuartileOf({50, 1, 70, 60, 1}).seconds, 1); // disturbed more often than not
}

TEST(Sample, BetweenTwoMeasurementsItIsLinear) {
  Sample sample = sampleOf({4, 2});
  EXPECT_EQ(sample.seconds, 3);
  EXPECT_EQ(sample.spread, (3.5 - 2.5) / 2 / 3);
}

TEST(Sample, OfOneMeasurement) {
  Sample sample = sampleOf({5});
  EXPECT_EQ(sample.seconds, 5);
  EXPECT_EQ(sample.spread, 0);
}

} // namespace
