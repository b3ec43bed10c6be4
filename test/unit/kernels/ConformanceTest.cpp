//===- ConformanceTest.cpp - every cpu kernel against its reference ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/ErrorBounds.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace tgpt::runtime;
using namespace tgpt::test;

/// The largest |error| / bound of an output, 0 where both are 0.
static double worstRatio(const Tensor &got, const Tensor &expected, const std::vector<double> &bounds) {
  double worst = 0;
  for (int64_t i = 0; i < got.elements(); ++i) {
    if (got.get(i) == expected.get(i)) // infinities too
      continue;
    double error = std::abs(got.get(i) - expected.get(i));
    if (error != 0)
      worst = std::isnan(error) ? INFINITY : std::max(worst, error / bounds[i]);
  }
  return worst;
}

static void judge(const Case &kase, const CpuKernelBuild &build) {
  const Kernel *reference = findKernel(KernelBackend::Reference, kase.kernel);
  const Kernel *kernel = findKernel(build.table, kase.kernel);
  ASSERT_TRUE(reference && kernel) << kase.kernel;
  std::vector<Tensor> expected = kase.run(*reference), got = kase.run(*kernel);
  auto bounds = errorBounds(kase, expected);
  for (size_t o = 0; o < got.size(); ++o)
    EXPECT_LE(worstRatio(got[o], expected[o], bounds[o]), 1.0)
        << build.name << " " << kase.label << ": output " << o << ", error as a multiple of its bound";
}

class Conformance : public testing::TestWithParam<std::string> {};

TEST_P(Conformance, EveryBuildIsWithinTheBound) {
  for (const Case &kase : allCases())
    if (kase.kernel == GetParam())
      for (const CpuKernelBuild &build : cpuKernelBuilds())
        judge(kase, build);
}

static std::vector<std::string> names() {
  std::vector<std::string> names;
  for (std::string_view name : kernelNames())
    names.emplace_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Conformance, testing::ValuesIn(names()), [](const auto &info) { return info.param; });

TEST(Registry, BackendsHaveTheSameKernels) {
  EXPECT_EQ(kernelNames(KernelBackend::Cpu), kernelNames(KernelBackend::Reference));
  EXPECT_EQ(findKernel(KernelBackend::Cpu, "no_such_kernel"), nullptr);
}

TEST(Registry, EveryKernelHasCases) {
  std::set<std::string> covered;
  for (const Case &kase : allCases())
    covered.insert(kase.kernel);
  for (std::string_view name : kernelNames())
    EXPECT_TRUE(covered.count(std::string(name))) << name;
}
