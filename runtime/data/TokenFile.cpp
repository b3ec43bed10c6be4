//===- TokenFile.cpp - token files of llm.c and nanoGPT ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/data/TokenFile.h"

#include "runtime/data/LlmcHeader.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <cstring>

using namespace tgpt::runtime;

static std::string quoted(const std::filesystem::path &path) {
  return "'" + path.string() + "'";
}

static bool isLlmcMagic(int32_t word) {
  return word == llmc::magicUint16 || word == llmc::magicUint32;
}

void tgpt::runtime::requireOneSample(const TokenSource &source, int64_t sequenceLength) {
  if (source.tokenCount() <= sequenceLength)
    throw Error(source.description() + " is too short: one sample needs " + std::to_string(sequenceLength + 1) +
                " tokens (a sequence of " + std::to_string(sequenceLength) + " and the token after it)");
}

TokenFile::TokenFile(std::filesystem::path where, std::optional<TokenWidth> rawWidth)
    : path(std::move(where)), file(path) {
  std::span<const std::byte> bytes = file.bytes();
  if (bytes.empty())
    throw Error("token file " + quoted(path) + " is empty");
  int32_t firstWord = 0;
  if (bytes.size() >= sizeof(firstWord))
    std::memcpy(&firstWord, bytes.data(), sizeof(firstWord));
  if (isLlmcMagic(firstWord))
    readHeader();
  else
    acceptRaw(rawWidth);
}

void TokenFile::readHeader() {
  std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() < llmc::headerBytes)
    throw Error("token file " + quoted(path) + " is truncated: it has " + std::to_string(bytes.size()) +
                " bytes, its header alone takes " + std::to_string(llmc::headerBytes));
  int32_t header[3];
  std::memcpy(header, bytes.data(), sizeof(header));
  bool narrow = header[0] == llmc::magicUint16;
  int32_t expectedVersion = narrow ? llmc::versionUint16 : llmc::versionUint32;
  if (header[1] != expectedVersion)
    throw Error("token file " + quoted(path) + " has version " + std::to_string(header[1]) + ", expected " +
                std::to_string(expectedVersion) + " for magic number " + std::to_string(header[0]));
  width = narrow ? TokenWidth::Uint16 : TokenWidth::Uint32;
  headerFound = true;
  tokens = bytes.subspan(llmc::headerBytes);
  int64_t expectedBytes = header[2] * static_cast<int64_t>(width);
  if (header[2] < 0 || static_cast<int64_t>(tokens.size()) != expectedBytes)
    throw Error("token file " + quoted(path) + " is damaged: its header says " + std::to_string(header[2]) +
                " tokens of " + std::to_string(static_cast<int>(width)) + " bytes, " + std::to_string(tokens.size()) +
                " bytes of tokens follow");
  if (header[2] == 0)
    throw Error("token file " + quoted(path) + " holds no tokens");
}

static bool isNamedUint32(const std::filesystem::path &path) {
  return path.extension() == ".u32" || path.stem().extension() == ".u32";
}

void TokenFile::acceptRaw(std::optional<TokenWidth> rawWidth) {
  width = rawWidth.value_or(isNamedUint32(path) ? TokenWidth::Uint32 : TokenWidth::Uint16);
  tokens = file.bytes();
  if (tokens.size() % static_cast<size_t>(width) != 0)
    throw Error("token file " + quoted(path) + " has " + std::to_string(tokens.size()) +
                " bytes, which is no whole number of " + std::to_string(static_cast<int>(width)) +
                "-byte tokens (pack text with tgpt-data first)");
}

/// The tokens are 2-byte aligned or better: a map starts on a page, a header has 1024 bytes.
template <typename T> static std::span<const T> asTokens(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const T *>(bytes.data()), bytes.size() / sizeof(T)};
}

/// Calls `visit` with the tokens as a span of their own type.
template <typename Visitor>
static auto withTokens(std::span<const std::byte> bytes, TokenWidth width, Visitor &&visit) {
  return width == TokenWidth::Uint16 ? visit(asTokens<uint16_t>(bytes)) : visit(asTokens<uint32_t>(bytes));
}

void TokenFile::read(int64_t position, std::span<int32_t> out) const {
  withTokens(tokens, width, [&](auto all) {
    auto wanted = all.subspan(position, out.size());
    std::copy(wanted.begin(), wanted.end(), out.begin());
  });
}

std::string TokenFile::description() const {
  return "token file " + quoted(path) + " (" + std::to_string(tokenCount()) + " tokens)";
}

int64_t TokenFile::largestToken() const {
  return withTokens(tokens, width, [](auto all) -> int64_t { return *std::max_element(all.begin(), all.end()); });
}

void TokenFile::requireVocabulary(int64_t vocabulary) const {
  if (width == TokenWidth::Uint16 && vocabulary > UINT16_MAX)
    return;
  withTokens(tokens, width, [&](auto all) {
    auto beyond = std::find_if(all.begin(), all.end(), [&](auto token) { return token >= vocabulary; });
    if (beyond != all.end())
      throw Error("token file " + quoted(path) + ": token " + std::to_string(beyond - all.begin()) + " has id " +
                  std::to_string(*beyond) + ", but the model's vocabulary is " + std::to_string(vocabulary) +
                  " (largest legal id " + std::to_string(vocabulary - 1) + ")" +
                  (headerFound ? "" : "; text is packed with tgpt-data first"));
  });
}
