//===- InPlaceTest.cpp - outputs that are an input's buffer -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/Case.h"

#include <gtest/gtest.h>
#include <map>

using namespace tgpt::runtime;
using namespace tgpt::test;

/// "= in i" of KERNELS.md: output -> input.
static const std::map<std::string, std::map<size_t, size_t>> sharedBuffers = {
    {"adamw", {{0, 0}, {1, 2}, {2, 3}}},
    {"add", {{0, 0}}},
    {"add_n", {{0, 0}}},
    {"adjust_loss_scale", {{0, 1}, {1, 2}, {2, 3}}},
    {"cross_entropy_grad", {{0, 0}}},
    {"gelu_grad", {{0, 0}}},
    {"copy", {{0, 0}}},
    {"swiglu_grad", {{0, 1}, {1, 2}}},
    {"dropout", {{0, 0}}}};

static std::vector<std::vector<char>> runInPlace(const Case &kase, const Kernel &kernel,
                                                 const std::map<size_t, size_t> &shared) {
  std::vector<Tensor> in = kase.inputs, out = kase.outputs;
  std::vector<TensorView> inputs, outputs;
  for (Tensor &tensor : in)
    inputs.push_back(tensor.view());
  for (size_t i = 0; i < out.size(); ++i)
    outputs.push_back(shared.count(i) ? inputs[shared.at(i)] : out[i].view());
  EXPECT_TRUE(kernel.function({inputs, outputs, &kase.attributes}).ok()) << kase.label;
  std::vector<std::vector<char>> bits;
  for (const TensorView &output : outputs)
    bits.emplace_back(output.as<char>(), output.as<char>() + output.bytes());
  return bits;
}

TEST(InPlace, SameBitsAsWithABufferOfItsOwn) {
  int64_t tested = 0;
  for (const Case &kase : allCases()) {
    auto shared = sharedBuffers.find(kase.kernel);
    if (shared == sharedBuffers.end() || !isJudged(kase))
      continue;
    for (const CpuKernelBuild *build : buildsOf(kase.kernel)) {
      const Kernel &kernel = *findKernel(build->table, kase.kernel);
      std::vector<std::vector<char>> apart;
      for (const Tensor &output : kase.run(kernel))
        apart.push_back(output.bytes());
      EXPECT_EQ(runInPlace(kase, kernel, shared->second), apart) << build->name << " " << kase.label;
      ++tested;
    }
  }
  EXPECT_GT(tested, 50);
}
