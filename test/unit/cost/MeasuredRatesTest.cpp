//===- MeasuredRatesTest.cpp - times from measured rates ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/MeasuredRates.h"
#include <gtest/gtest.h>

using namespace tgpt::cost;

namespace {

MeasuredRates rates() {
  MeasuredRates rates;
  rates.stepSeconds = 10;
  rates.stepRankSeconds = 2;
  rates.kernels["linear"][static_cast<size_t>(Dtype::F32)] = KernelRate{1, 2, 3, 4};
  rates.exchanges["all_reduce"] = {{2, 1, 0.5}, {8, 4, 1}};
  return rates;
}

TEST(MeasuredRates, AKernelIsASumOfItsParts) {
  EXPECT_EQ(rates().kernelSeconds("linear", Dtype::F32, {10, 100, 1000}), 1 + 20 + 300 + 4000);
  EXPECT_EQ(rates().kernelSeconds("linear", Dtype::BF16, {10, 100, 1000}), std::nullopt);
  EXPECT_EQ(rates().kernelSeconds("gelu", Dtype::F32, {}), std::nullopt);
}

TEST(MeasuredRates, ExchangesBetweenAndBeyondTheMeasuredRanks) {
  EXPECT_DOUBLE_EQ(*rates().exchangeSeconds("all_reduce", 2, 10), 6);
  EXPECT_DOUBLE_EQ(*rates().exchangeSeconds("all_reduce", 4, 10), 10); // half way from 2 to 8 in the logarithm
  EXPECT_DOUBLE_EQ(*rates().exchangeSeconds("all_reduce", 8, 10), 14);
  EXPECT_DOUBLE_EQ(*rates().exchangeSeconds("all_reduce", 16, 10), 28);
  EXPECT_EQ(rates().exchangeSeconds("send", 2, 10), std::nullopt);
}

TEST(MeasuredRates, AStepOfManyRanksStartsThemAll) {
  EXPECT_EQ(rates().secondsOfStep(1), 10);
  EXPECT_EQ(rates().secondsOfStep(4), 16);
}

TEST(MeasuredRates, KernelsAreSlowerTheMoreCoresCompute) {
  MeasuredRates rates;
  EXPECT_EQ(rates.rateOfBusyCores(4, 4), 1);
  rates.busyCoresShare = 0.25;
  EXPECT_EQ(rates.rateOfBusyCores(1, 5), 1);
  EXPECT_DOUBLE_EQ(rates.rateOfBusyCores(3, 5), 1 / 1.125);
  EXPECT_DOUBLE_EQ(rates.rateOfBusyCores(5, 5), 0.8);
  EXPECT_DOUBLE_EQ(rates.rateOfBusyCores(50, 5), 0.8); // they take turns, which is not this figure's
  EXPECT_EQ(rates.rateOfBusyCores(2, 1), 1);
}

} // namespace
