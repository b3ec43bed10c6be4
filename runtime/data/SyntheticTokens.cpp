//===- SyntheticTokens.cpp - uniform random tokens --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/SyntheticTokens.h"

#include "runtime/data/SplitMix.h"

using namespace tgpt::runtime;

SyntheticTokens::SyntheticTokens(uint64_t seed, int64_t vocabulary, int64_t count)
    : seed(splitMix64(seed)), vocabulary(vocabulary), count(count) {}

void SyntheticTokens::read(int64_t position, std::span<int32_t> tokens) const {
  for (int32_t &token : tokens)
    token = splitMix64(seed ^ static_cast<uint64_t>(position++)) % vocabulary;
}

std::string SyntheticTokens::description() const {
  return "synthetic data (" + std::to_string(count) + " tokens)";
}
