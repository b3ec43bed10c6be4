//===- Initializer.cpp - first values of variables --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas are in Initializer.h. A run is walked row by row, so that both
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

void tgpt::runtime::initialize(const plan::Initializer &initializer, uint64_t seed, const ShardRun &run) {
  // A 16-bit weight starts as its f32 master copy rounded, as the optimizer leaves it.
  bool hasMaster = sizeInBytes(run.elements.dtype) == 2;
  auto rounded = [&](double value) { return hasMaster ? static_cast<float>(value) : value; };
  if (initializer.kind() != plan::Initializer::NORMAL)
    return forEachRow(run, [&](int64_t held, int64_t, int64_t length) {
      for (int64_t i = held; i < held + length; ++i)
        storeElement(run.elements, rounded(initializer.value()), i);
    });
  NormalStream stream(seed, initializer.key());
  forEachRow(run, [&](int64_t held, int64_t global, int64_t length) {
    std::array<double, 2> pair{};
    for (int64_t i = 0; i < length; ++i) {
      uint64_t index = static_cast<uint64_t>(global + i);
      if (i == 0 || index % 2 == 0)
        pair = stream.pair(index / 2);
      storeElement(run.elements, rounded(initializer.value() + initializer.stddev() * pair[index % 2]), held + i);
    }
  });
}

void tgpt::runtime::initialize(const plan::Initializer &initializer, uint64_t seed, const Shard &shard,
                               const TensorView &local) {
  initialize(initializer, seed, ShardRun::wholeOf(shard, local));
}
