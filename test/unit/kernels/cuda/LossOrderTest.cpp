//===- LossOrderTest.cpp - a gradient over the logits of its loss -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What only emulation shows of a loss with its gradient: any order of threads, and faults.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/KernelTable.h"
#include "test/unit/kernels/LossCase.h"
#include "test/unit/kernels/cuda/EmulatedBuilds.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {
/// Two tokens of equal logits, 1, on which their gradient comes to lie; dloss is 1.
struct LossInPlace {
  LossInPlace(int32_t secondLabel, int64_t width) : kase(lossCase(1, {3, secondLabel}, width)), one(DType::F32, {}) {
    one.set(0, 1);
  }
  KernelStatus run(emulation::Order order) {
    std::vector<TensorView> inputs = {kase.inputs[0].view(), kase.inputs[1].view(), one.view()}, outputs;
    for (Tensor *tensor : {&kase.outputs[0], &kase.outputs[1], &kase.outputs[2], &kase.inputs[0]})
      outputs.push_back(tensor->view());
    return runEmulated(cuda::kernelOf(cuda::emulated::kernelTable(), "cross_entropy"), order,
                       {inputs, outputs, &kase.attributes});
  }
  double gradient(int64_t token, int64_t j) const { return kase.inputs[0].get(token * kase.inputs[0].dim(-1) + j); }
  Case kase;
  Tensor one;
};
} // namespace

namespace {
/// The same two tokens where the loss comes of the statistics of two parts of the vocabulary, all of which is here.
struct MergedLossInPlace : LossInPlace {
  MergedLossInPlace(int32_t secondLabel, int64_t width)
      : LossInPlace(secondLabel, width), statistics(DType::F32, {2, 2, 2}) {
    for (int64_t token : {0, 1}) {
      int64_t ofLabel = kase.inputs[1].get(token) < double(width / 2) ? 0 : 1, sizes[] = {width / 2, width - width / 2};
      for (int64_t part : {0, 1}) {
        statistics.set(4 * part + token, 1 + std::log(double(sizes[part])));
        statistics.set(4 * part + 2 + token, part == ofLabel ? 1 : 0);
      }
    }
  }
  KernelStatus run(emulation::Order order) {
    std::vector<TensorView> inputs, outputs;
    for (Tensor *tensor : {&kase.inputs[1], &statistics, &kase.inputs[0], &one})
      inputs.push_back(tensor->view());
    for (Tensor *tensor : {&kase.outputs[0], &kase.outputs[1], &kase.outputs[2], &kase.inputs[0]})
      outputs.push_back(tensor->view());
    return runEmulated(cuda::kernelOf(cuda::emulated::kernelTable(), "token_loss"), order,
                       {inputs, outputs, &kase.attributes});
  }
  Tensor statistics;
};
} // namespace

static constexpr emulation::Order orders[] = {emulation::Order::Ascending, emulation::Order::Descending};

template <typename Loss> static void expectLossAndGradient(emulation::Order order, int32_t width) {
  Loss loss(width - 1, width);
  EXPECT_TRUE(loss.run(order).ok());
  EXPECT_NEAR(loss.kase.outputs[0].get(0), 2 * std::log(width), 1e-5);
  EXPECT_EQ(loss.kase.outputs[1].get(0), 2);
  for (int64_t j = 0; j < width; ++j) {
    ASSERT_NEAR(loss.gradient(0, j), 1.0 / width - (j == 3), 1e-6) << j;
    ASSERT_NEAR(loss.gradient(1, j), 1.0 / width - (j == width - 1), 1e-6) << j;
  }
}

/// The loss reads a logit of the label's, and no thread may write there before.
TEST(LossOrder, LossWithItsGradientReadsBeforeItWrites) {
  for (emulation::Order order : orders)
    for (int32_t width : {16, 1000, 1001}) {
      expectLossAndGradient<LossInPlace>(order, width);
      expectLossAndGradient<MergedLossInPlace>(order, width);
    }
}

TEST(LossOrder, LabelBeyondTheVocabularyHasNoGradient) {
  for (emulation::Order order : orders)
    for (int32_t width : {16, 1000, 1001}) {
      LossInPlace loss(width, width);
      EXPECT_STREQ(loss.run(order).error, "cross_entropy: a label is not below the vocabulary size");
      for (int64_t j = 0; j < width; ++j) {
        ASSERT_NEAR(loss.gradient(0, j), 1.0 / width - (j == 3), 1e-6) << j;
        ASSERT_EQ(loss.gradient(1, j), 1) << j;
      }
      EXPECT_TRUE(loss.kase.inputs[0].guardIntact());
    }
}
