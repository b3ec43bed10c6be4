//===- OpCostTest.cpp - flops and bytes against sums counted another way ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expected values are counted by loops over the op's definition where it has a
// contraction, and written as operations per element elsewhere (dialects/tgpt/
// OpCost.h has the convention). All sizes of the program differ.
//
//===----------------------------------------------------------------------===//

#include "OpProgram.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tgpt;
using namespace tgpt::test;

namespace {

constexpr int64_t tokens = OpProgram::tokens, width = OpProgram::width, features = OpProgram::features;
constexpr int64_t vocabulary = OpProgram::vocabulary, elements = tokens * width;

// A multiplication and an addition for each term of x w^T.
int64_t matmulFlops() {
  int64_t flops = 0;
  for (int64_t row = 0; row < tokens; ++row)
    for (int64_t feature = 0; feature < features; ++feature)
      for (int64_t term = 0; term < width; ++term)
        flops += 2;
  return flops;
}

// `flopsOfPair` for each column that each query row of each head sees.
int64_t attentionFlops(bool causal, int64_t flopsOfPair) {
  int64_t flops = 0;
  for (int64_t head = 0; head < OpProgram::batch * OpProgram::queryHeads; ++head)
    for (int64_t row = 0; row < OpProgram::sequence; ++row)
      for (int64_t column = 0; column < OpProgram::sequence; ++column)
        flops += !causal || column <= row ? flopsOfPair : 0;
  return flops;
}

struct Cost {
  const char *mnemonic, *label;
  int64_t flops;
};

class FlopsTest : public testing::TestWithParam<Cost> {};

TEST_P(FlopsTest, EqualTheCount) {
  OpProgram program;
  auto op = cast<CostOpInterface>(program.find(GetParam().mnemonic, GetParam().label));
  EXPECT_EQ(op.getFlops(), GetParam().flops);
}

constexpr int64_t c = OpProgram::headDim;
constexpr int64_t parts = vocabulary; // of a column each

INSTANTIATE_TEST_SUITE_P(
    EveryOp, FlopsTest,
    testing::Values(
        Cost{"embedding", "", 0}, Cost{"embedding_grad", "", elements}, Cost{"linear", "", matmulFlops()},
        Cost{"linear", "bias", matmulFlops() + tokens *features}, Cost{"linear_dgrad", "", matmulFlops()},
        Cost{"linear_dgrad_sum", "", 2 * matmulFlops()}, Cost{"sum_positions", "", elements},
        Cost{"linear_wgrad", "", matmulFlops()}, Cost{"sum_leading", "", elements},
        Cost{"rms_norm", "", tokens *(4 * width + 4)}, Cost{"rms_norm_grad", "", tokens *(9 * width + 1)},
        Cost{"layer_norm", "", tokens *(8 * width + 5)}, Cost{"layer_norm_grad", "", tokens *(13 * width + 2)},
        Cost{"head_norm", "", elements / c *(4 * c + 4)}, Cost{"head_norm_grad", "", elements / c *(11 * c + 5)},
        Cost{"dropout", "", 2 * elements}, Cost{"loss_statistics", "smoothed", tokens *(5 * vocabulary + 3 * parts)},
        Cost{"token_loss", "smoothed", tokens *(5 + 3 * parts)}, Cost{"rope", "", elements / 2 * 6},
        Cost{"attention", "", attentionFlops(true, 2 * c + 2 * c + 5) + elements},
        Cost{"attention", "full", attentionFlops(false, 2 * c + 2 * c + 5) + elements},
        Cost{"attention", "dropout", attentionFlops(true, 2 * c + 2 * c + 7) + elements},
        Cost{"attention_grad", "dropout", attentionFlops(true, 5 * 2 * c + 9) + 2 * elements},
        Cost{"attention_grad", "", attentionFlops(true, 5 * 2 * c + 6) + 2 * elements}, Cost{"gelu", "", 9 * elements},
        Cost{"gelu_grad", "", 18 * elements}, Cost{"swiglu", "", 6 * elements}, Cost{"swiglu_grad", "", 12 * elements},
        Cost{"add", "", elements}, Cost{"add", "broadcast", elements}, Cost{"add_n", "", 2 * elements},
        Cost{"cast", "", 0}, Cost{"cross_entropy", "", tokens *(4 * vocabulary + 5)},
        Cost{"cross_entropy_grad", "", tokens *(3 * vocabulary + 1)},
        Cost{"loss_statistics", "", tokens *(4 * vocabulary + 2 * parts)},
        Cost{"token_loss", "", tokens *(5 + 3 * parts)}, Cost{"sum_squares", "", 2 * elements},
        Cost{"clip_scale", "", 6}, Cost{"divide", "", 1}, Cost{"clip_scale", "scaled", 7},
        Cost{"adjust_loss_scale", "", 4}, Cost{"adamw", "", 17 * elements}, Cost{"join_nodes", "", 0},
        Cost{"sum_nodes", "", elements}, Cost{"fill", "", 0}, Cost{"accumulate", "", elements}),
    [](const auto &info) { return std::string(info.param.mnemonic) + "_" + info.param.label; });

// Every op of the dialect that has a cost is in the table above (wider is a linear again).
TEST(FlopsTable, IsComplete) {
  OpProgram program;
  EXPECT_EQ(program.all<CostOpInterface>().size(), 47u);
  unsigned registered = 0;
  for (RegisteredOperationName name : program.context()->getRegisteredOperationsByDialect("tgpt"))
    registered += name.hasInterface<CostOpInterface>();
  llvm::StringSet<> names;
  for (CostOpInterface op : program.all<CostOpInterface>())
    names.insert(op->getName().getStringRef());
  EXPECT_EQ(names.size(), registered);
}

TEST(Bytes, EveryOperandOnceUnlessTheOpReadsLess) {
  OpProgram program;
  auto linear = cast<CostOpInterface>(program.find("linear", "bias"));
  EXPECT_EQ(linear.getBytesRead(), 4 * (elements + features * width + features));
  EXPECT_EQ(linear.getBytesWritten(), 4 * tokens * features);
  auto wider = cast<CostOpInterface>(program.find("linear", "wider"));
  EXPECT_EQ(wider.getBytesRead(), 2 * (elements + features * width));
  EXPECT_EQ(wider.getBytesWritten(), 4 * tokens * features);
  // Only the rows that are looked up.
  auto embedding = cast<CostOpInterface>(program.find("embedding"));
  EXPECT_EQ(embedding.getBytesRead(), 4 * tokens + 4 * elements);
  // The state is read as well as the value.
  auto accumulate = cast<CostOpInterface>(program.find("accumulate"));
  EXPECT_EQ(accumulate.getBytesRead(), 2 * 4 * elements);
  EXPECT_EQ(accumulate.getBytesWritten(), 4 * elements);
}

} // namespace
