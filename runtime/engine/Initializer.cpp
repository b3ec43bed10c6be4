//===- Initializer.cpp - first values of variables --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas are in Initializer.h. A shard is walked row by row, so that both
// halves of a Box-Muller pair are used where a row holds them.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Initializer.h"
#include "runtime/engine/Scalar.h"
#include "runtime/kernels/api/Philox.h"
#include "runtime/plan/PlanFile.h"

#include <cmath>
#include <numbers>

using namespace tgpt;
using namespace tgpt::runtime;

NormalStream::NormalStream(uint64_t seed, std::string_view name) : key(seed ^ fnv1a64(name)) {}

std::array<double, 2> NormalStream::pair(uint64_t j) const {
  std::array<uint32_t, 4> w = philox4x32({uint32_t(j), uint32_t(j >> 32), 0, 0}, {uint32_t(key), uint32_t(key >> 32)});
  uint64_t first = w[0] | uint64_t(w[1]) << 32;
  uint64_t second = w[2] | uint64_t(w[3]) << 32;
  double u1 = static_cast<double>((first >> 11) + 1) * 0x1p-53;
  double u2 = static_cast<double>(second >> 11) * 0x1p-53;
  double radius = std::sqrt(-2 * std::log(u1));
  double angle = 2 * std::numbers::pi * u2;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

/// Calls body(local element index, global element index, run length) for each row of the shard.
template <typename Body> static void forEachRow(const Shard &shard, const TensorView &local, const Body &body) {
  int64_t run = local.rank == 0 ? 1 : local.dim(-1);
  std::array<int64_t, TensorView::maxRank> at{};
  for (int64_t start = 0; start < local.elements(); start += run) {
    int64_t global = 0;
    for (size_t i = 0; i < local.rank; ++i)
      global = global * shard.globalShape[i] + shard.start[i] + at[i];
    body(start, global, run);
    for (int i = local.rank - 2; i >= 0 && ++at[i] == local.shape[i]; --i)
      at[i] = 0;
  }
}

void tgpt::runtime::initialize(const plan::Initializer &initializer, uint64_t seed, const Shard &shard,
                               const TensorView &local) {
  if (initializer.kind() != plan::Initializer::NORMAL) {
    for (int64_t i = 0; i < local.elements(); ++i)
      storeElement(local, initializer.value(), i);
    return;
  }
  NormalStream stream(seed, initializer.key());
  forEachRow(shard, local, [&](int64_t start, int64_t global, int64_t run) {
    std::array<double, 2> pair{};
    for (int64_t i = 0; i < run; ++i) {
      uint64_t index = static_cast<uint64_t>(global + i);
      if (i == 0 || index % 2 == 0)
        pair = stream.pair(index / 2);
      storeElement(local, initializer.value() + initializer.stddev() * pair[index % 2], start + i);
    }
  });
}
