//===- TokenSource.h - a long row of tokens ---------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_DATA_TOKENSOURCE_H
#define TGPT_RUNTIME_DATA_TOKENSOURCE_H

#include <cstdint>
#include <span>
#include <string>

namespace tgpt::runtime {

/// What training reads: `tokenCount()` token ids, addressable at random.
class TokenSource {
public:
  virtual ~TokenSource() = default;
  virtual int64_t tokenCount() const = 0;
  /// Copies the tokens [position, position + tokens.size()).
  virtual void read(int64_t position, std::span<int32_t> tokens) const = 0;
  /// For people: "corpus.bin (1,234 tokens)".
  virtual std::string description() const = 0;
};

/// Throws an Error that names the source and the tokens needed when it does not hold one sample: a
/// sequence and the token after it.
void requireOneSample(const TokenSource &source, int64_t sequenceLength);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_DATA_TOKENSOURCE_H
