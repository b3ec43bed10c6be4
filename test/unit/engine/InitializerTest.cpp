//===- InitializerTest.cpp - first values do not depend on the sharding -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values against numbers of an independent implementation in Python, written from
// the formulas in Initializer.h, and shards against the whole tensor.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Initializer.h"
#include "runtime/engine/Scalar.h"
#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

plan::Initializer normal(double mean, double stddev, const std::string &key) {
  plan::Initializer initializer;
  initializer.set_kind(plan::Initializer::NORMAL);
  initializer.set_value(mean);
  initializer.set_stddev(stddev);
  initializer.set_key(key);
  return initializer;
}

TensorView viewOf(void *data, DType dtype, std::vector<int64_t> shape) {
  TensorView view;
  view.data = data;
  view.dtype = dtype;
  view.rank = static_cast<uint8_t>(shape.size());
  std::copy(shape.begin(), shape.end(), view.shape.begin());
  return view;
}

} // namespace

TEST(Initializer, MatchesAnIndependentImplementation) {
  NormalStream stream(42, "layers.0.attn.q.weight");
  // log, sqrt, cos and sin may differ by a few units in the last place between libraries.
  EXPECT_NEAR(stream.at(0), 0.38584580001710445, 1e-14);
  EXPECT_NEAR(stream.at(1), 0.9453216158323917, 1e-14);
  EXPECT_NEAR(stream.at(2), 0.19471075082808553, 1e-14);
  EXPECT_NEAR(stream.at(1000003), 0.2360954437694249, 1e-14);
  EXPECT_NEAR(stream.at((uint64_t(1) << 33) + 5), -1.5244309944015029, 1e-14);
}

TEST(Initializer, EveryShardIsItsPartOfTheWhole) {
  // Global [3, 4, 10]; rows of odd length start in the middle of a pair.
  std::vector<double> whole(120);
  Shard all;
  all.globalShape = {3, 4, 10};
  plan::Initializer initializer = normal(0.25, 2, "w");
  initialize(initializer, 7, all, viewOf(whole.data(), DType::F64, {3, 4, 10}));
  for (int64_t i = 0; i < 120; ++i)
    EXPECT_EQ(whole[i], 0.25 + 2 * NormalStream(7, "w").at(i));
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t c = 0; c < 2; ++c) {
      Shard shard = all;
      shard.start = {0, 2 * a, 5 * c};
      std::vector<double> part(30);
      initialize(initializer, 7, shard, viewOf(part.data(), DType::F64, {3, 2, 5}));
      for (int64_t i = 0; i < 30; ++i)
        EXPECT_EQ(part[i], whole[(i / 10) * 40 + (2 * a + i / 5 % 2) * 10 + 5 * c + i % 5]) << i;
    }
}

TEST(Initializer, ValuesAreRoundedToTheDtype) {
  float asFloat[4];
  uint16_t asBf16[4];
  Shard shard;
  shard.globalShape = {4};
  initialize(normal(0, 1, "w"), 1, shard, viewOf(asFloat, DType::F32, {4}));
  initialize(normal(0, 1, "w"), 1, shard, viewOf(asBf16, DType::BF16, {4}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(asFloat[i], static_cast<float>(NormalStream(1, "w").at(i)));
    // bf16 keeps 8 bits: half a unit in the last place is 2^-9 relative.
    double stored = loadElement(viewOf(asBf16, DType::BF16, {4}), i);
    EXPECT_NEAR(stored, asFloat[i], std::abs(asFloat[i]) * 0x1p-8);
  }
}

// The optimizer writes a 16-bit weight as its f32 master copy rounded: one that starts otherwise would change in a
// step that changes nothing. Of 2^17 draws some lie where rounding f64 to f16 at once gives another neighbour.
TEST(Initializer, ASixteenBitWeightStartsAsItsMasterRounded) {
  constexpr int64_t n = 1 << 17;
  std::vector<float> master(n);
  std::vector<uint16_t> half(n), brain(n);
  Shard shard;
  shard.globalShape = {n};
  initialize(normal(0.1, 0.02, "w"), 1, shard, viewOf(master.data(), DType::F32, {n}));
  initialize(normal(0.1, 0.02, "w"), 1, shard, viewOf(half.data(), DType::F16, {n}));
  initialize(normal(0.1, 0.02, "w"), 1, shard, viewOf(brain.data(), DType::BF16, {n}));
  int64_t differing = 0;
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_EQ(half[i], toFloat16(master[i]).bits) << i;
    ASSERT_EQ(brain[i], toBFloat16(master[i]).bits) << i;
    differing += half[i] != toFloat16(0.1 + 0.02 * NormalStream(1, "w").at(i)).bits;
  }
  EXPECT_GT(differing, 0);
}

TEST(Initializer, Constants) {
  int32_t values[3];
  plan::Initializer constant;
  constant.set_kind(plan::Initializer::CONSTANT);
  constant.set_value(3);
  Shard shard;
  shard.globalShape = {3};
  initialize(constant, 1, shard, viewOf(values, DType::I32, {3}));
  EXPECT_EQ(values[2], 3);
}

// A million draws: the mean of n standard normals has standard deviation 1/sqrt(n),
// their mean square sqrt(2/n); five of these is a bound that a right generator passes.
TEST(Initializer, MomentsAreThoseOfANormal) {
  constexpr int64_t n = 1000000;
  NormalStream stream(3, "moments");
  double sum = 0, squares = 0;
  for (int64_t j = 0; j < n / 2; ++j)
    for (double z : stream.pair(j)) {
      sum += z;
      squares += z * z;
    }
  EXPECT_LT(std::abs(sum / n), 5 / std::sqrt(double(n)));
  EXPECT_LT(std::abs(squares / n - 1), 5 * std::sqrt(2.0 / n));
}
