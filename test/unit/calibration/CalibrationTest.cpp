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
#include "runtime/kernels/api/CallSize.h"
#include "runtime/kernels/api/Registry.h"
#include "runtime/kernels/bench/CallOperands.h"
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

/// Seconds of the calls of a step, by a rate of which every part counts.
double secondsOf(const ModelSizes &sizes, std::string_view kernel) {
  const cost::KernelRate rate{1e-6, 1e-11, 1e-10, 1e-9};
  double seconds = 0;
  for (const Workload &workload : trainingStepWorkloads(sizes, DType::F32))
    if (CallViews views(workload); workload.kernel == kernel)
      seconds += rate.seconds(callSize(kernel, views.call()));
  return seconds;
}

// Attention begins anew for each KV head of a sample; a product of more rows does not.
TEST(CallSize, SamplesAndKvHeadsArePiecesOfAttention) {
  ModelSizes one{.batch = 1, .sequence = 64, .width = 64, .heads = 8, .kvHeads = 4, .hidden = 128}, many = one;
  many.batch = 16;
  for (const char *kernel : {"attention", "attention_grad"})
    EXPECT_NEAR(secondsOf(many, kernel), 16 * secondsOf(one, kernel), 1e-12) << kernel;
  EXPECT_LT(secondsOf(many, "linear"), 16 * secondsOf(one, "linear") - 1e-6);
  ModelSizes fewer = one;
  fewer.kvHeads = 1;
  EXPECT_GT(secondsOf(one, "attention") - secondsOf(fewer, "attention"), 3e-6);
}

// Whatever the size, the values of operands are those of one element after the other.
TEST(CallOperands, ValuesRepeatHoweverManyThereAre) {
  for (DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F16, DType::I32})
    for (int64_t elements : {0, 1, 975, 976, 977, 5000}) {
      std::vector<char> bytes(static_cast<size_t>(elements) * sizeInBytes(dtype) + 1, 'x');
      TensorView view = viewOf({dtype, {elements}});
      view.data = bytes.data();
      fillWithValues(view);
      EXPECT_EQ(bytes.back(), 'x');
      const size_t period = 976 * sizeInBytes(dtype);
      for (size_t i = period; i + 1 < bytes.size(); ++i)
        ASSERT_EQ(bytes[i], bytes[i - period]) << i;
      if (dtype == DType::F64 && elements > 61) {
        EXPECT_EQ(view.as<double>()[61], 0.25);
      }
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
