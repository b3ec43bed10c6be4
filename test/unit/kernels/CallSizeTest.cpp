//===- CallSizeTest.cpp - the sizes of calls, counted by hand ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/CallSize.h"

#include <gtest/gtest.h>

using namespace tgpt::runtime;
using tgpt::cost::CallSize;
using tgpt::cost::Dtype;

namespace {

TensorView tensor(DType dtype, std::initializer_list<int64_t> shape) {
  TensorView view;
  view.dtype = dtype;
  view.rank = uint8_t(shape.size());
  std::copy(shape.begin(), shape.end(), view.shape.begin());
  return view;
}

void expectSize(std::string_view kernel, std::vector<TensorView> inputs, std::vector<TensorView> outputs,
                const CallSize &expected, const Attributes &attributes = {}) {
  CallSize size = callSize(kernel, {inputs, outputs, &attributes});
  EXPECT_EQ(size.operations, expected.operations) << kernel;
  EXPECT_EQ(size.bytes, expected.bytes) << kernel;
  EXPECT_EQ(size.items, expected.items) << kernel;
}

// Rows 6, k 5, n 7.
TEST(CallSize, TheThreeProductsOfALinearLayer) {
  TensorView x = tensor(DType::F32, {2, 3, 5}), w = tensor(DType::F32, {7, 5}), y = tensor(DType::F32, {2, 3, 7});
  double bytes = 4 * (30 + 35 + 42), operations = 2 * 6 * 5 * 7;
  expectSize("linear", {x, w}, {y}, {operations, bytes, 42});
  expectSize("linear_dgrad", {y, w}, {x}, {operations, bytes, 30});
  expectSize("linear_wgrad", {y, x}, {w}, {operations, bytes, 35});
  expectSize("linear", {x, w, tensor(DType::F32, {7})}, {y}, {operations, bytes + 28, 42});
}

TEST(CallSize, SumsInChunksHaveRatesOfTheirOwn) {
  Attributes any, inChunks;
  inChunks.set("chunks", int64_t(1)); // one chunk is an order as well
  EXPECT_EQ(rateName("linear", {{}, {}, &any}), "linear");
  EXPECT_EQ(rateName("linear", {{}, {}, &inChunks}), "linear_in_chunks");
}

TEST(CallSize, ASumOfProducts) {
  TensorView dx = tensor(DType::F64, {6, 5});
  expectSize(
      "linear_dgrad_sum",
      {tensor(DType::F64, {6, 7}), tensor(DType::F64, {6, 2}), tensor(DType::F64, {7, 5}), tensor(DType::F64, {2, 5})},
      {dx}, {2 * 6 * 5 * (7 + 2), 8 * (42 + 12 + 35 + 10 + 30), 30});
}

// Two samples, 3 positions, 4 heads of 8 channels over 2 KV heads: 2 * 4 * 6 scores where it is causal, else 2 * 4 * 9.
TEST(CallSize, Attention) {
  TensorView q = tensor(DType::BF16, {2, 3, 32}), kv = tensor(DType::BF16, {2, 3, 16});
  TensorView lse = tensor(DType::F32, {2, 4, 3});
  Attributes causal, whole;
  for (Attributes *attributes : {&causal, &whole})
    attributes->set("head_dim", int64_t(8));
  causal.set("causal", int64_t(1));
  double bytes = 2 * (192 + 2 * 96 + 192) + 4 * 24;
  expectSize("attention", {q, kv, kv}, {q, lse}, {4 * 8 * 48, bytes, 48}, causal);
  expectSize("attention", {q, kv, kv}, {q, lse}, {4 * 8 * 72, bytes, 72}, whole);
  expectSize("attention_grad", {q, q, kv, kv, q, lse}, {q, kv, kv}, {10 * 8 * 48, 2 * (4 * 192 + 4 * 96) + 4 * 24, 48},
             causal);
}

// Two samples, 3 positions, 4 heads of 8 channels: a head costs what it does however many lie in a row.
TEST(CallSize, HeadsOfAllPositions) {
  TensorView x = tensor(DType::F32, {2, 3, 32}), w = tensor(DType::F32, {8});
  Attributes attributes;
  attributes.set("head_dim", int64_t(8));
  expectSize("rope", {x}, {x}, {0, 4 * 2 * 192, 24}, attributes);
  expectSize("head_norm", {x, w}, {x}, {0, 4 * (2 * 192 + 8), 24});
  expectSize("head_norm_grad", {x, x, w}, {x, w}, {0, 4 * (3 * 192 + 2 * 8), 24});
}

TEST(CallSize, TablesAreReadByTheRow) {
  TensorView ids = tensor(DType::I32, {1, 4}), table = tensor(DType::F32, {1000, 8}), y = tensor(DType::F32, {1, 4, 8});
  expectSize("embedding", {ids, table}, {y}, {0, 4 * 4 + 2 * 4 * 32, 1000});
  expectSize("embedding_grad", {ids, y}, {table}, {0, 4 * 4 + 3 * 4 * 32, 1000});
}

TEST(CallSize, EverythingElseHasRows) {
  TensorView x = tensor(DType::F16, {2, 3, 4});
  expectSize("rms_norm", {x, tensor(DType::F16, {4})}, {x, tensor(DType::F32, {2, 3})},
             {0, 2 * (24 + 4 + 24) + 4 * 6, 6});
  expectSize("fill", {}, {tensor(DType::F32, {})}, {0, 4, 1});
}

TEST(CallSize, TheFirstRealsSayHowFast) {
  std::vector<TensorView> ids = {tensor(DType::I32, {4})}, narrow = {tensor(DType::BF16, {4})};
  std::vector<TensorView> wide = {tensor(DType::F32, {4, 4})};
  EXPECT_EQ(rateDtype({narrow, wide, nullptr}), Dtype::BF16);
  EXPECT_EQ(rateDtype({ids, narrow, nullptr}), Dtype::BF16);
  EXPECT_EQ(rateDtype({ids, ids, nullptr}), Dtype::F32);
}

} // namespace
