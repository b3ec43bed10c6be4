//===- FitRateTest.cpp - rates from measured calls -------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/calibration/FitRate.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace tgpt;
using namespace tgpt::runtime::calibration;

namespace {

/// Calls of many sizes whose times are exactly those of `rate`.
std::vector<Observation> callsOf(const cost::KernelRate &rate) {
  std::vector<Observation> observations;
  for (double size : {1e3, 1e5, 3e6})
    for (double part : {0.1, 1.0, 10.0}) {
      cost::CallSize call{size * 100, size, size / 50 * part};
      observations.push_back(observe(call, rate.seconds(call)));
    }
  return observations;
}

void expectNear(const cost::KernelRate &expected, const cost::KernelRate &fitted) {
  EXPECT_NEAR(fitted.callSeconds, expected.callSeconds, 1e-6 * expected.callSeconds + 1e-15);
  EXPECT_NEAR(fitted.secondsPerOperation, expected.secondsPerOperation, 1e-5 * expected.secondsPerOperation + 1e-19);
  EXPECT_NEAR(fitted.secondsPerItem, expected.secondsPerItem, 1e-5 * expected.secondsPerItem + 1e-16);
}

TEST(FitRate, FindsTheRateThatMadeTheTimes) {
  // Operations and bytes are in proportion here, so bytes have no part of their own.
  cost::KernelRate rate{2e-7, 1e-11, 0, 3e-9};
  std::vector<Observation> observations = callsOf(rate);
  std::array<double, 4> factors = fitFactors(observations);
  EXPECT_LT(meanError(factors, observations), 1e-9);
  cost::KernelRate fitted = rateOf(factors);
  // Whichever of the two it takes, together they are as fast.
  fitted.secondsPerOperation += fitted.secondsPerByte / 100;
  expectNear(rate, fitted);
}

TEST(FitRate, NoPartIsNegative) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0.1, 10);
  for (int round = 0; round < 200; ++round) {
    std::vector<Observation> observations;
    for (int i = 0; i < 8; ++i)
      observations.push_back({{1, uniform(random), uniform(random), uniform(random)}, uniform(random)});
    std::array<double, 4> factors = fitFactors(observations);
    // The best constant alone is one of the sets, so nothing may be worse.
    double sum = 0, squares = 0;
    for (const Observation &observation : observations)
      sum += 1 / observation.seconds, squares += 1 / observation.seconds / observation.seconds;
    double constant = 0, fitted = 0;
    for (const Observation &observation : observations) {
      double predicted = 0;
      for (int i = 0; i < 4; ++i) {
        EXPECT_GE(factors[i], 0);
        predicted += factors[i] * observation.parts[i];
      }
      fitted += std::pow(predicted / observation.seconds - 1, 2);
      constant += std::pow(sum / squares / observation.seconds - 1, 2);
    }
    EXPECT_LE(fitted, constant * (1 + 1e-9));
  }
}

// A line that falls below 0 for small sizes: the constant part is 0, not negative.
TEST(FitRate, AFallingStartIsNone) {
  std::array<double, 4> factors = fitFactors({{{1, 0, 1, 0}, 0.5}, {{1, 0, 2, 0}, 2}, {{1, 0, 4, 0}, 5}});
  EXPECT_EQ(factors[0], 0);
  EXPECT_GT(factors[2], 0);
}

TEST(FitRate, OneCallIsItsTime) {
  std::array<double, 4> factors = fitFactors({{{1, 0, 100, 0}, 5}});
  EXPECT_NEAR(factors[0] + 100 * factors[2], 5, 1e-12);
}

} // namespace
