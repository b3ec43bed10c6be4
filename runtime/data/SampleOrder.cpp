//===- SampleOrder.cpp - in which order samples are trained on --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/SampleOrder.h"

#include "runtime/data/SplitMix.h"

#include <bit>

using namespace tgpt::runtime;

/// Six rounds: four already give a pseudo-random permutation with ideal round functions (Luby and Rackoff 1988); two
/// more make up for tiny halves.
static constexpr int rounds = 6;

SampleOrder::SampleOrder(uint64_t seed, int64_t samples)
    : seed(splitMix64(seed)), samples(samples),
      halfBits((std::bit_width(static_cast<uint64_t>(samples > 1 ? samples - 1 : 1)) + 1) / 2) {}

uint64_t SampleOrder::permuteOnce(uint64_t index, uint64_t epochKey) const {
  uint64_t mask = (uint64_t(1) << halfBits) - 1;
  uint64_t left = index >> halfBits, right = index & mask;
  for (uint64_t round = 0; round < rounds; ++round) {
    uint64_t mixed = left ^ (splitMix64(splitMix64(epochKey + round) ^ right) & mask);
    left = right;
    right = mixed;
  }
  return left << halfBits | right;
}

int64_t SampleOrder::sampleOf(int64_t draw) const {
  uint64_t epochKey = splitMix64(seed ^ static_cast<uint64_t>(epochOf(draw)));
  uint64_t index = draw % samples;
  do
    index = permuteOnce(index, epochKey);
  while (index >= static_cast<uint64_t>(samples));
  return index;
}
