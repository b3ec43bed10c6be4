//===- SyntheticTokens.h - uniform random tokens ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_DATA_SYNTHETICTOKENS_H
#define TGPT_RUNTIME_DATA_SYNTHETICTOKENS_H

#include "runtime/data/TokenSource.h"

namespace tgpt::runtime {

/// Token i is a function of (seed, i), uniform over the vocabulary; nothing is stored. For benchmarks: there is
/// nothing to learn in it, the loss stays near log(vocabulary).
class SyntheticTokens : public TokenSource {
public:
  SyntheticTokens(uint64_t seed, int64_t vocabulary, int64_t count);

  int64_t tokenCount() const override { return count; }
  void read(int64_t position, std::span<int32_t> tokens) const override;
  std::string description() const override;

private:
  uint64_t seed;
  int64_t vocabulary;
  int64_t count;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_DATA_SYNTHETICTOKENS_H
