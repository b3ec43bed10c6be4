//===- TextPacking.h - raw text to token files, one token a byte *- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_DATA_TEXTPACKING_H
#define TGPT_RUNTIME_DATA_TEXTPACKING_H

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tgpt::runtime {

/// The byte tokenizer: the token of a byte is its value.
inline constexpr int64_t byteVocabulary = 256;

/// Writes the bytes of all texts, one after the other, as a uint16 token file of llm.c's format; returns the number
/// of tokens. The file appears whole or not at all.
int64_t packTexts(const std::vector<std::filesystem::path> &texts, const std::filesystem::path &output);

/// What a token file holds, a line a fact: format, tokens, largest id, vocabulary needed, samples for common lengths.
std::string describeTokenFile(const std::filesystem::path &path);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_DATA_TEXTPACKING_H
