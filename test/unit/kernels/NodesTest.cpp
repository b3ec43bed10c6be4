//===- NodesTest.cpp - the nodes of a part have the bits of the whole ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As CutTest.cpp, where a part's sum is no node of the tree.
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/CutRun.h"

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {
/// Chunks of which a half or a quarter is no power of two.
class NodesTest : public testing::TestWithParam<CutCall> {};
} // namespace

TEST_P(NodesTest, NodesHaveTheBitsOfTheWhole) {
  CutRun run(GetParam());
  for (const CpuKernelBuild &build : judgedBuilds())
    for (DType dtype : {DType::F32, DType::F64})
      for (int64_t parts : {2, 4})
        EXPECT_EQ(run.countDifferentNodes(*findKernel(build.table, GetParam().kernel),
                                          *findKernel(build.table, "sum_nodes"), dtype, parts),
                  0)
            << build.name << " " << name(dtype) << ", " << parts << " parts";
}

static std::vector<CutCall> nodeCalls() {
  std::vector<CutCall> nodes = {
      {"linear_wgrad", {{20, 3, 37}, {20, 3, 29}}, {0, 0}, {{37, 29}}, {summed}, 20},
      {"sum_leading", {{24, 5, 37}}, {0}, {{5, 37}}, {summed}, 24},
      {"embedding_grad", {{28, 5}, {28, 5, 37}}, {0, 0}, {{16, 37}}, {summed}, 28, {}, {0}},
      {"head_norm_grad",
       {{3, 10, 108}, {3, 10, 108}, {9}},
       {2, 2, whole},
       {{3, 10, 108}, {3, 9}},
       {2, summed},
       12,
       [](Attributes &attributes, int64_t, int64_t) { attributes.set("epsilon", 1e-5); }},
  };
  for (CutCall call : cutCalls()) {
    int64_t size = call.inputs[0][std::max(call.inputDims[0], 0)];
    if (!call.isSummed() || size % 20 * (size % 24) != 0 || call.kernel == std::string("head_norm_grad"))
      continue;
    call.chunks = call.kernel == std::string("attention_grad") ? 12 : size % 24 == 0 ? 24 : 20;
    nodes.push_back(call);
  }
  return nodes;
}

INSTANTIATE_TEST_SUITE_P(Calls, NodesTest, testing::ValuesIn(nodeCalls()), cutCallName);
