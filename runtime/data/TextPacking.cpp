//===- TextPacking.cpp - raw text to token files, one token a byte *- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/TextPacking.h"

#include "runtime/data/LlmcHeader.h"
#include "runtime/data/TokenFile.h"
#include "runtime/files/AtomicFile.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>

using namespace tgpt::runtime;
namespace fs = std::filesystem;

namespace {
/// A file, or what stdin had.
struct Text {
  std::optional<MappedFile> file;
  std::string piped;

  std::span<const std::byte> bytes() const { return file ? file->bytes() : std::as_bytes(std::span(piped)); }
};
} // namespace

static std::vector<Text> openTexts(const std::vector<fs::path> &paths) {
  std::vector<Text> texts;
  for (const fs::path &path : paths) {
    Text &text = texts.emplace_back();
    if (path == "-")
      text.piped.assign(std::istreambuf_iterator<char>(std::cin), {});
    else
      text.file.emplace(path);
    if (text.bytes().empty())
      throw Error(path == "-" ? "stdin is empty" : "text file '" + path.string() + "' is empty");
  }
  return texts;
}

static void appendHeader(AtomicFile &file, int64_t tokens) {
  std::vector<int32_t> header(llmc::headerWords);
  header[0] = llmc::magicUint16;
  header[1] = llmc::versionUint16;
  header[2] = static_cast<int32_t>(tokens);
  file.append(std::as_bytes(std::span(header)));
}

static void appendTokens(AtomicFile &file, std::span<const std::byte> text) {
  constexpr size_t pieceBytes = 1 << 20;
  std::vector<uint16_t> tokens;
  for (; !text.empty(); text = text.subspan(tokens.size())) {
    std::span<const std::byte> piece = text.first(std::min(pieceBytes, text.size()));
    tokens.resize(piece.size());
    std::transform(piece.begin(), piece.end(), tokens.begin(),
                   [](std::byte b) { return std::to_integer<uint16_t>(b); });
    file.append(std::as_bytes(std::span(tokens)));
  }
}

int64_t tgpt::runtime::packTexts(const std::vector<fs::path> &paths, const fs::path &output) {
  std::vector<Text> texts = openTexts(paths);
  int64_t total = 0;
  for (const Text &text : texts)
    total += text.bytes().size();
  if (total > INT32_MAX)
    throw Error("the texts have " + std::to_string(total) + " tokens, a token file holds at most " +
                std::to_string(INT32_MAX) + ": pack them into several files");
  AtomicFile file(output);
  appendHeader(file, total);
  for (const Text &text : texts)
    appendTokens(file, text.bytes());
  file.commit();
  return total;
}

std::string tgpt::runtime::describeTokenFile(const fs::path &path) {
  TokenFile file(path);
  int64_t largest = file.largestToken();
  std::ostringstream out;
  out << "file:          " << path.string() << "\n"
      << "format:        " << (file.hasHeader() ? "llm.c" : "raw") << ", uint"
      << 8 * static_cast<int>(file.tokenWidth()) << "\n"
      << "tokens:        " << file.tokenCount() << "\n"
      << "largest id:    " << largest << " (needs a vocabulary of at least " << largest + 1 << ")\n";
  for (int64_t length : {128, 512, 2048})
    out << "samples of " << length << ": " << std::string(length < 1000 ? " " : "") << (file.tokenCount() - 1) / length
        << "\n";
  return out.str();
}
