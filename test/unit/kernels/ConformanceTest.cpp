//===- ConformanceTest.cpp - every cpu kernel against its reference ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/Coverage.h"
#include "test/unit/kernels/ErrorBounds.h"

#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <utility>

using namespace tgpt::runtime;
using namespace tgpt::test;

double tgpt::test::worstRatio(const Tensor &got, const Tensor &expected, const std::vector<double> &bounds) {
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

double tgpt::test::worstAgainstReference(const Case &kase, const std::vector<Tensor> &got) {
  std::vector<Tensor> expected = kase.run(*findKernel(KernelBackend::Reference, kase.kernel));
  auto bounds = errorBounds(kase, expected);
  double worst = 0;
  for (size_t o = 0; o < expected.size(); ++o)
    worst = std::max(worst, worstRatio(got[o], expected[o], bounds[o]));
  return worst;
}

namespace {
/// What was judged of a kernel in one dtype.
struct Covered {
  int64_t cases = 0, leastElements = INT64_MAX, mostElements = 0;
  double worst = 0; ///< error as a multiple of its bound
};

/// Prints at the end of the program what was judged.
class CoverageTable : public testing::Environment {
public:
  void add(const std::string &name, const Case &kase, double worst) {
    int64_t elements = 0;
    for (const std::vector<Tensor> *operands : {&kase.inputs, &kase.outputs})
      for (const Tensor &tensor : *operands)
        elements = std::max(elements, tensor.elements());
    Covered &covered = judged[name][kase.compute];
    ++covered.cases;
    covered.leastElements = std::min(covered.leastElements, elements);
    covered.mostElements = std::max(covered.mostElements, elements);
    covered.worst = std::max(covered.worst, worst);
  }
  void TearDown() override {
    if (judged.empty())
      return;
    std::printf("judged by the reference: cases, elements of the largest operand, largest error / bound\n");
    for (const auto &[kernel, dtypes] : judged)
      for (const auto &[dtype, covered] : dtypes)
        std::printf("  %-20s %-5s %3lld  %lld..%lld  %.2f\n", kernel.c_str(), std::string(name(dtype)).c_str(),
                    (long long)covered.cases, (long long)covered.leastElements, (long long)covered.mostElements,
                    covered.worst);
  }

private:
  std::map<std::string, std::map<DType, Covered>> judged;
};
} // namespace

static auto *coverage = static_cast<CoverageTable *>(testing::AddGlobalTestEnvironment(new CoverageTable));

void tgpt::test::cover(const std::string &name, const Case &kase, double worst) {
  coverage->add(name, kase, worst);
}

static void judge(const Case &kase) {
  const Kernel *reference = findKernel(KernelBackend::Reference, kase.kernel);
  ASSERT_TRUE(reference) << kase.kernel;
  std::vector<Tensor> expected = kase.run(*reference);
  double worst = 0;
  for (const CpuKernelBuild *build : buildsOf(kase.kernel)) {
    auto bounds = errorBounds(kase, expected, roundsShares(*build));
    std::vector<Tensor> got = kase.run(*findKernel(build->table, kase.kernel));
    for (size_t o = 0; o < got.size(); ++o) {
      double ratio = worstRatio(got[o], expected[o], bounds[o]);
      EXPECT_LE(ratio, 1.0) << build->name << " " << kase.label << ": output " << o
                            << ", error as a multiple of its bound";
      worst = std::max(worst, ratio);
    }
  }
  cover(kase.kernel, kase, worst);
}

class Conformance : public testing::TestWithParam<std::string> {};

TEST_P(Conformance, EveryBuildIsWithinTheBound) {
  for (const Case &kase : allCases())
    if (kase.kernel == GetParam() && isJudged(kase))
      judge(kase);
}

static std::vector<std::string> names() {
  std::vector<std::string> names;
  for (std::string_view name : kernelNames())
    names.emplace_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Conformance, testing::ValuesIn(names()), [](const auto &info) { return info.param; });

TEST(Registry, BackendsHaveTheSameKernels) {
  std::vector<std::string_view> reference = kernelNames(KernelBackend::Reference);
  for (const CpuKernelBuild &build : judgedBuilds()) {
    std::vector<std::string_view> judged;
    for (const KernelEntry &entry : build.table)
      judged.push_back(entry.name);
    EXPECT_EQ(judged, reference) << build.name;
  }
  EXPECT_EQ(kernelNames(KernelBackend::Cpu), kernelNames(KernelBackend::Reference));
  EXPECT_EQ(findKernel(KernelBackend::Cpu, "no_such_kernel"), nullptr);
}

/// Cases that a program has no time for leave none of a kernel's dtypes out.
TEST(Registry, EveryDtypeOfAKernelIsJudged) {
  using Pair = std::pair<std::string, DType>;
  std::set<Pair> all, judged;
  for (const Case &kase : allCases()) {
    all.emplace(kase.kernel, kase.compute);
    if (isJudged(kase))
      judged.emplace(kase.kernel, kase.compute);
  }
  for (const Pair &pair : all)
    EXPECT_TRUE(judged.count(pair)) << pair.first << " in " << name(pair.second);
}

TEST(Registry, EveryKernelHasCases) {
  std::set<std::string> covered;
  for (const Case &kase : allCases())
    if (isJudged(kase))
      covered.insert(kase.kernel);
  for (std::string_view name : kernelNames())
    EXPECT_TRUE(covered.count(std::string(name))) << name;
}
