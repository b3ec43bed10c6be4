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
#include <sstream>

using namespace tgpt::runtime;
namespace fs = std::filesystem;

static std::vector<MappedFile> openTexts(const std::vector<fs::path> &paths) {
  std::vector<MappedFile> texts;
  for (const fs::path &path : paths) {
    texts.emplace_back(path);
    if (texts.back().bytes().empty())
      throw Error("text file '" + path.string() + "' is empty");
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
  std::vector<MappedFile> texts = openTexts(paths);
  int64_t total = 0;
  for (const MappedFile &text : texts)
    total += text.bytes().size();
  if (total > INT32_MAX)
    throw Error("the texts have " + std::to_string(total) + " tokens, a token file holds at most " +
                std::to_string(INT32_MAX) + ": pack them into several files");
  AtomicFile file(output);
  appendHeader(file, total);
  for (const MappedFile &text : texts)
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
