//===- test/unit/data/TokenFileTest.cpp - formats and refusals of token files --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/TokenFile.h"

#include "runtime/plan/Error.h"
#include "test/unit/files/TemporaryDirectory.h"

#include <vector>

using namespace tgpt::runtime;

template <typename T> static std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

static std::string header(int32_t magic, int32_t version, int32_t tokens) {
  std::vector<int32_t> words(256);
  words[0] = magic, words[1] = version, words[2] = tokens;
  return bytesOf(words);
}

static std::vector<int32_t> allTokens(const TokenFile &file) {
  std::vector<int32_t> tokens(file.tokenCount());
  file.read(0, tokens);
  return tokens;
}

/// What opening `bytes` as a token file is refused with.
static std::string refusal(std::string_view bytes, std::optional<TokenWidth> width = std::nullopt) {
  TemporaryDirectory directory;
  return messageOf<Error>([&] { TokenFile file(directory.write("t.bin", bytes), width); });
}

#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)

TEST(TokenFile, ReadsLlmcUint16) {
  TemporaryDirectory directory;
  TokenFile file(directory.write("t.bin", header(20240520, 1, 3) + bytesOf<uint16_t>({7, 65535, 9})));
  EXPECT_TRUE(file.hasHeader());
  EXPECT_EQ(allTokens(file), (std::vector<int32_t>{7, 65535, 9}));
  EXPECT_EQ(file.largestToken(), 65535);
}

TEST(TokenFile, ReadsLlmcUint32) {
  TemporaryDirectory directory;
  TokenFile file(directory.write("t.bin", header(20240801, 7, 2) + bytesOf<uint32_t>({128000, 1})));
  EXPECT_EQ(allTokens(file), (std::vector<int32_t>{128000, 1}));
}

TEST(TokenFile, ReadsRawFiles) {
  TemporaryDirectory directory;
  EXPECT_EQ(allTokens(TokenFile(directory.write("t.bin", bytesOf<uint16_t>({1, 2, 3})))),
            (std::vector<int32_t>{1, 2, 3}));
  std::string wide = bytesOf<uint32_t>({100000, 2});
  EXPECT_EQ(allTokens(TokenFile(directory.write("t.u32.bin", wide))), (std::vector<int32_t>{100000, 2}));
  EXPECT_EQ(allTokens(TokenFile(directory.write("t.u32", wide))), (std::vector<int32_t>{100000, 2}));
  EXPECT_EQ(allTokens(TokenFile(directory.write("t.bin", wide), TokenWidth::Uint32)),
            (std::vector<int32_t>{100000, 2}));
}

TEST(TokenFile, ReadsFromTheMiddle) {
  TemporaryDirectory directory;
  TokenFile file(directory.write("t.bin", bytesOf<uint16_t>({1, 2, 3, 4, 5})));
  std::vector<int32_t> tokens(2);
  file.read(3, tokens);
  EXPECT_EQ(tokens, (std::vector<int32_t>{4, 5}));
}

TEST(TokenFile, RefusesMissingAndEmpty) {
  EXPECT_SAYS(messageOf<Error>([] { TokenFile file("/nonexistent/corpus.bin"); }), "'/nonexistent/corpus.bin'");
  EXPECT_SAYS(refusal(""), "is empty");
  EXPECT_SAYS(refusal(header(20240520, 1, 0)), "holds no tokens");
}

TEST(TokenFile, RefusesATruncatedHeader) {
  EXPECT_SAYS(refusal(header(20240520, 1, 3).substr(0, 4)), "has 4 bytes, its header alone takes 1024");
  EXPECT_SAYS(refusal(header(20240520, 1, 3).substr(0, 1023)), "has 1023 bytes");
}

TEST(TokenFile, RefusesAnotherVersion) {
  EXPECT_SAYS(refusal(header(20240520, 3, 1) + "ab"), "version 3, expected 1");
  EXPECT_SAYS(refusal(header(20240801, 1, 1) + "abcd"), "version 1, expected 7");
}

TEST(TokenFile, RefusesAWrongCount) {
  EXPECT_SAYS(refusal(header(20240520, 1, 4) + bytesOf<uint16_t>({1, 2, 3})),
              "says 4 tokens of 2 bytes, 6 bytes of tokens follow");
  EXPECT_SAYS(refusal(header(20240520, 1, 1) + "abc"), "says 1 tokens");
  EXPECT_SAYS(refusal(header(20240520, 1, -1)), "says -1 tokens");
}

TEST(TokenFile, RefusesOddSizes) {
  EXPECT_SAYS(refusal("abc"), "3 bytes, which is no whole number of 2-byte tokens");
  EXPECT_SAYS(refusal("abcdef", TokenWidth::Uint32), "6 bytes, which is no whole number of 4-byte tokens");
}

TEST(TokenFile, RefusesATokenBeyondTheVocabulary) {
  TemporaryDirectory directory;
  TokenFile file(directory.write("t.bin", bytesOf<uint16_t>({1, 255, 256, 300})));
  file.requireVocabulary(301);
  std::string message = messageOf<Error>([&] { file.requireVocabulary(256); });
  EXPECT_SAYS(message, "token 2 has id 256, but the model's vocabulary is 256 (largest legal id 255)");
  TokenFile wide(directory.write("w.u32", bytesOf<uint32_t>({1, 0xffffffffu})));
  EXPECT_SAYS(messageOf<Error>([&] { wide.requireVocabulary(128256); }), "token 1 has id 4294967295");
}

TEST(TokenFile, RefusesLessThanOneSample) {
  TemporaryDirectory directory;
  TokenFile file(directory.write("t.bin", bytesOf<uint16_t>({1, 2, 3, 4})));
  requireOneSample(file, 3);
  EXPECT_SAYS(messageOf<Error>([&] { requireOneSample(file, 4); }), "(4 tokens) is too short: one sample needs 5");
}
