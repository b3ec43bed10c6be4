//===- DropoutTest.cpp - what the masks of dropout promise ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks are read off an input of ones. Counts of n independent drops of probability p
// have the standard deviation sqrt(n p (1-p)); a count is accepted within 5 of them
// (one in 1.7 million of fair generators fails; these are fixed, so they never do).
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/Philox.h"
#include "test/unit/kernels/Case.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {
/// One shard of a masked tensor, by what the mask may depend on.
struct Masked {
  std::vector<int> samples = {0, 1, 2, 3};
  int step = 1;
  int64_t key = 12345, positions = 50, columns = 96, position0 = 0, column0 = 0;
  double probability = 0.3;

  Case call() const {
    Case kase{"dropout", "dropout", DType::F64, {}, {}, {}};
    Tensor ones(DType::F64, {int64_t(samples.size()), positions, columns}), rows(DType::I32, {int64_t(samples.size())});
    for (int64_t i = 0; i < ones.elements(); ++i)
      ones.set(i, 1);
    for (size_t i = 0; i < samples.size(); ++i)
      rows.set(int64_t(i), samples[i]);
    Tensor stepNumber(DType::I32, {});
    stepNumber.set(0, step);
    kase.inputs = {ones, rows, stepNumber};
    kase.outputs = {ones};
    kase.attributes.set("key", key);
    kase.attributes.set("probability", probability);
    kase.attributes.set("position_offset", position0);
    kase.attributes.set("width_offset", column0);
    return kase;
  }
  Tensor run() const { return call().run(*findKernel(KernelBackend::Cpu, "dropout"))[0]; }
};
} // namespace

static int64_t dropsOf(const Tensor &masked) {
  int64_t drops = 0;
  for (int64_t i = 0; i < masked.elements(); ++i)
    drops += masked.get(i) == 0;
  return drops;
}

/// Elements that one tensor drops and the other keeps.
static int64_t differences(const Tensor &a, const Tensor &b) {
  int64_t count = 0;
  for (int64_t i = 0; i < a.elements(); ++i)
    count += (a.get(i) == 0) != (b.get(i) == 0);
  return count;
}

static void expectCount(int64_t count, int64_t n, double p, const std::string &what) {
  EXPECT_NEAR(double(count), double(n) * p, 5 * std::sqrt(double(n) * p * (1 - p))) << what;
}

TEST(Dropout, DropsTheShareAskedFor) {
  for (double probability : {0.01, 0.1, 0.5, 0.9}) {
    Masked masked{.probability = probability};
    Tensor y = masked.run();
    expectCount(dropsOf(y), y.elements(), probability, "all elements");
    for (int64_t i = 0; i < y.elements(); ++i) {
      bool isKept = y.get(i) != 0;
      ASSERT_DOUBLE_EQ(y.get(i), isKept ? 1 / (1 - probability) : 0);
    }
  }
  EXPECT_EQ(dropsOf(Masked{.probability = 0}.run()), 0);
}

/// Rows and columns of a mask are as random as the whole: no word serves twice.
TEST(Dropout, DropsEvenlyOverRowsAndColumns) {
  Masked masked;
  Tensor y = masked.run();
  int64_t rows = y.elements() / masked.columns;
  std::vector<int64_t> ofRow(rows), ofColumn(masked.columns);
  for (int64_t i = 0; i < y.elements(); ++i) {
    ofRow[i / masked.columns] += y.get(i) == 0;
    ofColumn[i % masked.columns] += y.get(i) == 0;
  }
  for (int64_t drops : ofRow)
    expectCount(drops, masked.columns, masked.probability, "a row");
  for (int64_t drops : ofColumn)
    expectCount(drops, rows, masked.probability, "a column");
}

/// Two independent masks differ in 2 p (1-p) of the elements.
TEST(Dropout, EverythingTheMaskDependsOnChangesIt) {
  Masked base;
  Tensor y = base.run();
  auto expectIndependent = [&](const Masked &other, const char *what) {
    expectCount(differences(y, other.run()), y.elements(), 2 * base.probability * (1 - base.probability), what);
  };
  expectIndependent({.samples = {4, 5, 6, 7}}, "other samples");
  expectIndependent({.step = 2}, "the next step");
  expectIndependent({.key = base.key + 1}, "another low half of the key");
  expectIndependent({.key = base.key + (int64_t(1) << 40)}, "another high half of the key");
  expectIndependent({.position0 = base.positions}, "other positions");
  expectIndependent({.column0 = base.columns}, "other columns");
  EXPECT_EQ(differences(y, base.run()), 0);
}

/// Whoever holds an element drops it or not: shards of any cut hold the mask of the whole.
TEST(Dropout, ShardsHoldTheMaskOfTheWhole) {
  Masked whole;
  Tensor y = whole.run();
  for (int64_t column0 : {0, 1, 7, 50})
    for (int64_t position0 : {0, 13}) {
      Masked part{.samples = {2, 0}, .positions = 20, .columns = 41, .position0 = position0, .column0 = column0};
      Tensor z = part.run();
      for (int64_t i = 0; i < z.elements(); ++i) {
        int64_t column = column0 + i % part.columns, row = i / part.columns;
        int64_t sample = part.samples[row / part.positions], position = position0 + row % part.positions;
        ASSERT_EQ(z.get(i), y.get((sample * whole.positions + position) * whole.columns + column));
      }
    }
}

namespace {
/// Attention of equal scores on values that name their key: o shows the mask.
struct MaskedAttention {
  std::vector<int> samples = {3, 8};
  int step = 2;
  int64_t heads = 4, kvHeads = 2, positions = 12, firstHead = 0, key = 12345;
  double probability = 0.4;

  Case call() const {
    int64_t c = positions, batch = int64_t(samples.size());
    Tensor q(DType::F64, {batch, positions, heads * c}), k(DType::F64, {batch, positions, kvHeads * c}), v = k;
    for (int64_t row = 0; row < batch * positions; ++row)
      for (int64_t head = 0; head < kvHeads; ++head)
        v.set((row * kvHeads + head) * c + row % positions, 1);
    Tensor rows(DType::I32, {batch}), stepNumber(DType::I32, {});
    for (int64_t i = 0; i < batch; ++i)
      rows.set(i, samples[i]);
    stepNumber.set(0, step);
    Case kase{"attention", "attention", DType::F64, {q, k, v, rows, stepNumber}, {q}, {}};
    kase.outputs.emplace_back(DType::F64, std::vector<int64_t>{batch, heads, positions});
    for (auto [name, value] : {std::pair("head_dim", c), {"causal", 0}, {"key", key}, {"width_offset", firstHead * c}})
      kase.attributes.set(name, value);
    kase.attributes.set("scale", 1.0);
    kase.attributes.set("dropout", probability);
    return kase;
  }
  Tensor run() const { return call().run(*findKernel(KernelBackend::Cpu, "attention"))[0]; }
};
} // namespace

/// The mask, from its definition: o is 1 / positions / (1 - p) where kept.
TEST(AttentionDropout, DropsWhatTheGeneratorSays) {
  MaskedAttention masked{.firstHead = 5};
  Tensor o = masked.run();
  int64_t c = masked.positions, drops = 0;
  for (int64_t i = 0; i < o.elements(); ++i) {
    int64_t key = i % c, head = i / c % masked.heads, position = i / (c * masked.heads) % masked.positions;
    int64_t sample = masked.samples[i / (c * masked.heads * masked.positions)];
    auto words = philox4x32({uint32_t(key / 4 + ((masked.firstHead + head) << 20)), uint32_t(position),
                             uint32_t(sample), uint32_t(masked.step)},
                            {uint32_t(masked.key), uint32_t(masked.key >> 32)});
    bool isKept = words[key % 4] >= masked.probability * 0x1p32;
    ASSERT_NEAR(o.get(i), isKept ? 1 / (double(c) * (1 - masked.probability)) : 0, 1e-14) << i;
    drops += !isKept;
  }
  expectCount(drops, o.elements(), masked.probability, "all probabilities");
}

/// Ranks that share the heads out hold the mask of the whole.
TEST(AttentionDropout, ShardsOfHeadsHoldTheMaskOfTheWhole) {
  MaskedAttention whole, part{.samples = {8}, .heads = 2, .kvHeads = 1, .firstHead = 2};
  Tensor o = whole.run(), shard = part.run();
  for (int64_t i = 0; i < shard.elements(); ++i) {
    int64_t width = part.heads * part.positions, row = i / width;
    ASSERT_EQ(shard.get(i), o.get((whole.positions + row) * whole.heads * whole.positions + width + i % width));
  }
}

TEST(AttentionDropout, EverythingTheMaskDependsOnChangesIt) {
  MaskedAttention base;
  Tensor o = base.run();
  auto expectIndependent = [&](const MaskedAttention &other, const char *what) {
    expectCount(differences(o, other.run()), o.elements(), 2 * base.probability * (1 - base.probability), what);
  };
  expectIndependent({.samples = {4, 9}}, "other samples");
  expectIndependent({.step = 3}, "the next step");
  expectIndependent({.firstHead = 4}, "other heads");
  expectIndependent({.key = base.key + 1}, "another stream");
  EXPECT_EQ(differences(o, base.run()), 0);
}

/// One mask for all compute dtypes.
TEST(Dropout, DtypesShareTheMask) {
  Case wide = Masked().call();
  Tensor y = wide.run(*findKernel(KernelBackend::Cpu, "dropout"))[0];
  for (DType dtype : {DType::F32, DType::BF16, DType::F16}) {
    Case narrow = wide;
    narrow.inputs[0] = Tensor(dtype, {4, 50, 96});
    for (int64_t i = 0; i < y.elements(); ++i)
      narrow.inputs[0].set(i, 1);
    narrow.outputs[0] = narrow.inputs[0];
    EXPECT_EQ(differences(y, narrow.run(*findKernel(KernelBackend::Cpu, "dropout"))[0]), 0);
  }
}
