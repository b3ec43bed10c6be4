//===- CutTest.cpp - a part of a tensor has the bits of the whole ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What --reduction=canonical rests on. A kernel's operands are cut into 2 and 4 parts
// as ranks and micro-batches would hold them: what is cut of an output must be that part
// of the whole output, and what is summed must give it when the parts are added in a
// tree (api/SumTree.h), to the last bit. Where the chunks of a part are no power of two,
// that holds for its nodes (cost/SumNodes.h). Without the attribute `chunks` it must not, or
// the test could not fail.
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/CutRun.h"

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {
class CutTest : public testing::TestWithParam<CutCall> {};
/// Calls whose order of additions is another one without chunks.
class UnorderedCutTest : public CutTest {};
} // namespace

TEST_P(CutTest, PartsHaveTheBitsOfTheWhole) {
  CutRun run(GetParam());
  for (const CpuKernelBuild *build : buildsOf(GetParam().kernel))
    for (DType dtype : {DType::F32, DType::F64})
      for (int64_t parts : {2, 4})
        EXPECT_EQ(run.countDifferent(*findKernel(build->table, GetParam().kernel), dtype, true, parts), 0)
            << build->name << " " << name(dtype) << ", " << parts << " parts";
}

TEST_P(UnorderedCutTest, PartsHaveOtherBits) {
  CutRun run(GetParam());
  int64_t different = 0;
  for (int64_t parts : {2, 4})
    different += run.countDifferent(*findKernel(KernelBackend::Cpu, GetParam().kernel), DType::F32, false, parts);
  EXPECT_GT(different, 0);
}

INSTANTIATE_TEST_SUITE_P(Calls, CutTest, testing::ValuesIn(cutCalls()), cutCallName);

static std::vector<CutCall> unorderedCalls() {
  std::vector<CutCall> unordered;
  for (const CutCall &call : cutCalls())
    if (call.isSummed() && call.outputs.size() == 1 && call.kernel != std::string("linear_dgrad_sum"))
      unordered.push_back(call);
  return unordered;
}

INSTANTIATE_TEST_SUITE_P(Calls, UnorderedCutTest, testing::ValuesIn(unorderedCalls()), cutCallName);
