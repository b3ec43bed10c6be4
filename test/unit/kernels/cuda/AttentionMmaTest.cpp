//===- AttentionMmaTest.cpp - attention on tensor cores --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes around the tiles of 64 rows, against the reference within the suite's bounds, in
// both orders of threads. What a product by mma.sync is, element by element, comes first.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/AttentionTile.h"
#include "runtime/kernels/cuda/Mma.h"
#include "test/unit/kernels/CaseBuilder.h"
#include "test/unit/kernels/ErrorBounds.h"
#include "test/unit/kernels/cuda/EmulatedBuilds.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda::emulated;
using namespace tgpt::test;

/// c[16,16] += a[16,16] b[16,16], b given as it is, or transposed.
template <typename T> __global__ void multiply16(const T *a, const T *b, float *c, bool isTransposed) {
  constexpr int stride = 24;
  TGPT_SHARED(T, left, 16 * stride);
  TGPT_SHARED(T, right, 16 * stride);
  for (int i = int(threadIdx.x); i < 256; i += 32) {
    left[i / 16 * stride + i % 16] = a[i];
    right[i / 16 * stride + i % 16] = b[i];
  }
  __syncthreads();
  FragmentA rows;
  FragmentB columns[2];
  loadA<T>(left, stride, 0, 0, rows);
  isTransposed ? loadB<T>(right, stride, 0, 0, columns) : loadBOfRows<T>(right, stride, 0, 0, columns);
  int g = int(threadIdx.x) / 4, t = int(threadIdx.x) % 4;
  for (int n = 0; n < 2; ++n) {
    FragmentC sums;
    for (int i = 0; i < 4; ++i)
      sums.at[i] = c[(g + i / 2 * 8) * 16 + n * 8 + 2 * t + i % 2];
    mma<T>(sums, rows, columns[n]);
    for (int i = 0; i < 4; ++i)
      c[(g + i / 2 * 8) * 16 + n * 8 + 2 * t + i % 2] = sums.at[i];
  }
}

/// Integers, so that every sum is exact.
TEST(Mma, IsTheProductOfSmallMatrices) {
  std::vector<BFloat16> a(256), b(256);
  std::vector<float> c(256), want(256);
  for (int i = 0; i < 256; ++i) {
    a[i] = toBFloat16(float(i * 7 % 31 - 15));
    b[i] = toBFloat16(float(i * 11 % 29 - 14));
  }
  for (bool isTransposed : {false, true}) {
    for (int i = 0; i < 256; ++i) {
      c[i] = want[i] = float(i);
      for (int k = 0; k < 16; ++k)
        want[i] += toFloat(a[i / 16 * 16 + k]) * toFloat(isTransposed ? b[i % 16 * 16 + k] : b[k * 16 + i % 16]);
    }
    KernelStatus status = launch(LaunchShape(1, 32), multiply16<BFloat16>, a.data(), b.data(), c.data(), isTransposed);
    ASSERT_TRUE(status.ok()) << status.error;
    EXPECT_EQ(c, want);
  }
}

namespace {
struct Size {
  int64_t batch, sequence, heads, kvHeads, c;
};
} // namespace

static void addMask(CaseBuilder &builder, Size size, bool causal, bool drops) {
  if (drops)
    builder.tokens({size.batch}, 0, INT32_MAX)
        .tokens({}, 1, 1000000)
        .integer("key", 0x5DEECE66D1234567)
        .integer("width_offset", 3 * size.c)
        .set("dropout", 0.3);
  builder.integer("head_dim", size.c).integer("causal", causal).set("scale", 1 / std::sqrt(double(size.c)));
}

/// The forward, and the gradient of what it gives.
static void judge(DType t, Size size, bool causal, bool drops) {
  auto [b, s, h, g, c] = size;
  Cases cases;
  {
    CaseBuilder builder(cases, "attention", t);
    builder.in({b, s, h * c}, -2, 2).in({b, s, g * c}, -2, 2).in({b, s, g * c}).out({b, s, h * c}).outA({b, h, s});
    addMask(builder, size, causal, drops);
  }
  std::vector<Tensor> made = cases[0].run(*findKernel(KernelBackend::Reference, "attention"));
  {
    CaseBuilder builder(cases, "attention_grad", t);
    builder.in({b, s, h * c}).in({b, s, h * c}).in({b, s, g * c}).in({b, s, g * c}).in({b, s, h * c}).inA({b, h, s});
    builder.out({b, s, h * c}).out({b, s, g * c}).out({b, s, g * c});
    addMask(builder, size, causal, drops);
  }
  for (size_t i : {0, 1, 2})
    cases[1].inputs[i + 1] = cases[0].inputs[i];
  for (size_t i : {0, 1})
    cases[1].inputs[i + 4] = made[i];
  for (const Case &kase : cases) {
    std::vector<Tensor> want = kase.run(*findKernel(KernelBackend::Reference, kase.kernel));
    auto bounds = errorBounds(kase, want);
    std::vector<Tensor> got = kase.run(*findKernel(judgedBuilds()[0].table, kase.kernel));
    std::vector<Tensor> again = kase.run(*findKernel(judgedBuilds()[1].table, kase.kernel));
    for (size_t o = 0; o < got.size(); ++o) {
      EXPECT_EQ(got[o].bytes(), again[o].bytes()) << kase.label << ": output " << o << ", the other order of threads";
      for (int64_t i = 0; i < got[o].elements(); ++i)
        ASSERT_LE(std::abs(got[o].get(i) - want[o].get(i)), bounds[o][i])
            << kase.label << ": output " << o << ", element " << i;
    }
  }
}

TEST(AttentionMma, SequencesAroundTheTiles) {
  for (int64_t c : {64, 128})
    for (bool causal : {false, true}) {
      for (int64_t s : {1, 31, 64, 130})
        judge(DType::BF16, {1, s, 1, 1, c}, causal, false);
      judge(DType::F16, {1, 65, 1, 1, c}, causal, false);
    }
}

TEST(AttentionMma, GroupedHeadsOfSeveralSamples) {
  judge(DType::BF16, {2, 70, 4, 2, 64}, false, false);
  judge(DType::BF16, {2, 70, 2, 1, 128}, true, false);
}

TEST(AttentionMma, DropsWhatTheOthersDrop) {
  for (int64_t c : {64, 128})
    for (bool causal : {false, true})
      judge(c == 64 ? DType::BF16 : DType::F16, {1, 70, 2, 1, c}, causal, true);
}

/// Threads of a launch: tensor cores take 128 a block of 64 rows, the other kernels 128 for 32.
static uint64_t blocksOf(DType t, int64_t c, int64_t chunks, size_t shift) {
  constexpr int64_t s = 128;
  Tensor q(t, {1, s, c}), lse(accumulatorOf(t), {1, 1, s});
  std::vector<char> storage(q.view().bytes() + 32);
  TensorView views[] = {q.view(), q.view(), q.view()}, out[] = {q.view(), lse.view()};
  views[0].data = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(storage.data()) + 15) / 16 * 16 + shift);
  Attributes attributes;
  attributes.set("head_dim", c);
  attributes.set("causal", int64_t(1));
  attributes.set("scale", 1.0);
  if (chunks)
    attributes.set("chunks", chunks);
  uint64_t before = emulation::counts().threads;
  EXPECT_TRUE(findKernel(judgedBuilds()[0].table, "attention")->function({views, out, &attributes}).ok());
  return (emulation::counts().threads - before) / 128;
}

TEST(AttentionMma, ServesWhatItIsFor) {
  EXPECT_EQ(blocksOf(DType::BF16, 64, 0, 0), 2u);
  EXPECT_EQ(blocksOf(DType::F16, 128, 0, 0), 2u);
  EXPECT_EQ(blocksOf(DType::F32, 64, 0, 0), 4u);
  EXPECT_EQ(blocksOf(DType::BF16, 96, 0, 0), 4u);
  EXPECT_EQ(blocksOf(DType::BF16, 64, 1, 0), 4u) << "an order is asked for";
  EXPECT_EQ(blocksOf(DType::BF16, 64, 0, 2), 4u) << "operands that are not aligned";
}
