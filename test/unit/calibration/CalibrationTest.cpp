//===- CalibrationTest.cpp - a quick calibration of this machine -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/cluster/ClusterFile.h"
#include "cost/cluster/WriteCluster.h"
#include "runtime/calibration/CalibrationFile.h"
#include "runtime/calibration/ExchangeSamples.h"
#include "runtime/calibration/KernelSamples.h"
#include "runtime/calibration/ProbeCalls.h"
#include "runtime/kernels/api/Registry.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::calibration;

namespace {

/// One for all tests.
const Calibration &quickCalibration() {
  static const Calibration calibration = calibrate({.cores = 3, .isQuick = true, .reservedBytes = 1e6});
  return calibration;
}

TEST(Calibration, TheFileIsReadAsWhatWasMeasured) {
  const Calibration &calibration = quickCalibration();
  std::string text = calibrationText(calibration);
  cost::Cluster read = cost::parseCluster(text, "here.yaml");
  EXPECT_EQ(cost::clusterText(read), cost::clusterText(calibration.cluster));
  EXPECT_EQ(read.device, calibration.cluster.device);
  EXPECT_EQ(read.measured, calibration.cluster.measured);
  EXPECT_EQ(read.topology, calibration.cluster.topology);
  EXPECT_EQ(read.coresPerNode, 3);
}

TEST(Calibration, EveryMeasuredFigureHasASource) {
  std::string text = calibrationText(quickCalibration()), before;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.find("seconds") != std::string::npos && line.find('#') == std::string::npos &&
        text.find("measured:") < begin) {
      EXPECT_NE(before.find("# measured by tgpt-run --calibrate on "), std::string::npos) << line;
      EXPECT_NE(before.find("medians of at least "), std::string::npos) << before;
    }
    before = line;
  }
}

/// Kernels that only special plans call: what canonical order and f16's loss scale add.
bool isLeftOut(std::string_view kernel) {
  static constexpr std::string_view leftOut[] = {"accumulate_nodes", "accumulate_tree", "adjust_loss_scale",
                                                 "linear_dgrad_sum", "stack_nodes",     "sum_nodes",
                                                 "sum_positions"};
  return std::find(std::begin(leftOut), std::end(leftOut), kernel) != std::end(leftOut);
}

TEST(Calibration, HasEveryKernelInEveryDtypeThatItIsCalledIn) {
  const cost::MeasuredRates &rates = *quickCalibration().cluster.measured;
  for (std::string_view kernel : kernelNames()) {
    auto found = rates.kernels.find(kernel);
    if (isLeftOut(kernel)) {
      EXPECT_EQ(found, rates.kernels.end()) << kernel << " is measured: take it off the list";
      continue;
    }
    ASSERT_NE(found, rates.kernels.end()) << kernel;
    EXPECT_TRUE(found->second[static_cast<size_t>(cost::Dtype::F32)]) << kernel;
  }
  for (const char *kernel : {"linear", "linear_dgrad", "linear_wgrad", "attention", "attention_grad", "swiglu"})
    for (const std::optional<cost::KernelRate> &rate : rates.kernels.at(kernel)) {
      ASSERT_TRUE(rate) << kernel;
      EXPECT_GT(rate->seconds({1e6, 1e4, 1e3}), 0);
    }
}

TEST(Calibration, HasEveryExchange) {
  const cost::MeasuredRates &rates = *quickCalibration().cluster.measured;
  for (const std::string &name : cost::exchangeNames()) {
    const std::vector<cost::ExchangeRate> &ofRanks = rates.exchanges.at(name);
    EXPECT_EQ(ofRanks.size(), name == "send" ? 1u : 3u) << name; // 2, 4 and 8 ranks
    for (const cost::ExchangeRate &rate : ofRanks)
      EXPECT_GT(rate.latencySeconds + rate.secondsPerByte, 0) << name;
  }
}

// Four times the work takes longer: whatever else a machine does, a median of a kernel's own time shows that.
TEST(KernelSamples, MoreTakesLonger) {
  std::vector<Workload> products = squareProducts(DType::F32, /*isQuick=*/true);
  SampleBudget budget{.seconds = 0.005};
  EXPECT_LT(sampleKernel(products.front(), budget).seconds, sampleKernel(products.back(), budget).seconds);
}

TEST(KernelSamples, ACallThatItsKernelRefusesIsAnError) {
  Workload product = squareProducts(DType::F32, true).front();
  product.outputs.front().shape = {3, 3};
  EXPECT_THROW(sampleKernel(product, {}), Error);
  product.kernel = "lineal";
  EXPECT_THROW(sampleKernel(product, {}), Error);
}

TEST(ExchangeSamples, MoreRanksThanCores) {
  Sample sample = sampleExchange("all_reduce", 8, 4096, {.seconds = 0.002});
  EXPECT_GT(sample.seconds, 0);
  EXPECT_GE(sample.count, 5);
}

} // namespace
