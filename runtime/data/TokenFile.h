//===- TokenFile.h - token files of llm.c and nanoGPT -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formats (all little-endian):
//
//   llm.c     256 int32 of header, then the tokens.
//             header[0] magic, header[1] version, header[2] number of tokens
//               20240520, 1: uint16 tokens (llm.c's "gpt-2")
//               20240801, 7: uint32 tokens (llm.c's "llama-3")
//   raw       tokens only, as nanoGPT writes them: uint16, or uint32 where the
//             caller says so or the file is named *.u32.bin or *.u32
//
// A file that starts with one of the two magic numbers is an llm.c file.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_DATA_TOKENFILE_H
#define TGPT_RUNTIME_DATA_TOKENFILE_H

#include "runtime/data/TokenSource.h"
#include "runtime/files/MappedFile.h"

#include <optional>

namespace tgpt::runtime {

enum class TokenWidth : uint8_t { Uint16 = 2, Uint32 = 4 };

/// A token file, mapped into memory.
class TokenFile : public TokenSource {
public:
  /// `rawWidth` is the token width of a file without a header; by default the file's name decides.
  explicit TokenFile(std::filesystem::path path, std::optional<TokenWidth> rawWidth = std::nullopt);

  int64_t tokenCount() const override { return tokens.size() / static_cast<size_t>(width); }
  void read(int64_t position, std::span<int32_t> out) const override;
  std::string description() const override;

  bool hasHeader() const { return headerFound; }
  TokenWidth tokenWidth() const { return width; }
  /// Greatest token id of the file. Reads all of it.
  int64_t largestToken() const;
  /// Throws an Error with the position and id of the first token that a model of `vocabulary` tokens does not have.
  void requireVocabulary(int64_t vocabulary) const;

private:
  void readHeader();
  void acceptRaw(std::optional<TokenWidth> rawWidth);

  std::filesystem::path path;
  MappedFile file;
  std::span<const std::byte> tokens;
  TokenWidth width = TokenWidth::Uint16;
  bool headerFound = false;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_DATA_TOKENFILE_H
