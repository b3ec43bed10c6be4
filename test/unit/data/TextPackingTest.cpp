//===- test/unit/data/TextPackingTest.cpp - text in, the same bytes as tokens out --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/TextPacking.h"

#include "runtime/data/TokenFile.h"
#include "runtime/plan/Error.h"
#include "test/unit/files/TemporaryDirectory.h"

#include <vector>

using namespace tgpt::runtime;

TEST(TextPacking, BytesBecomeTokensInOrder) {
  TemporaryDirectory directory;
  std::string large(3'000'001, 'x');
  for (size_t i = 0; i < large.size(); ++i)
    large[i] = static_cast<char>(i * 7);
  int64_t tokens =
      packTexts({directory.write("a.txt", "h\xc3\xa9"), directory.write("b.txt", large)}, directory / "out.bin");
  EXPECT_EQ(tokens, 3'000'004);
  TokenFile file(directory / "out.bin");
  file.requireVocabulary(byteVocabulary);
  std::vector<int32_t> read(file.tokenCount());
  file.read(0, read);
  std::string text = "h\xc3\xa9" + large;
  for (size_t i = 0; i < text.size(); ++i)
    ASSERT_EQ(read[i], static_cast<unsigned char>(text[i])) << i;
}

TEST(TextPacking, RefusalsLeaveNoFile) {
  TemporaryDirectory directory;
  directory.write("a.txt", "text");
  directory.write("empty.txt", "");
  EXPECT_NE(messageOf<Error>([&] { packTexts({directory / "none.txt"}, directory / "out.bin"); }).find("none.txt"),
            std::string::npos);
  EXPECT_NE(messageOf<Error>([&] {
              packTexts({directory / "a.txt", directory / "empty.txt"}, directory / "out.bin");
            }).find("empty.txt' is empty"),
            std::string::npos);
  EXPECT_EQ(directory.entries(), 2u);
}

TEST(TextPacking, DescribesATokenFile) {
  TemporaryDirectory directory;
  packTexts({directory.write("a.txt", std::string(1025, 'z'))}, directory / "out.bin");
  std::string text = describeTokenFile(directory / "out.bin");
  EXPECT_NE(text.find("llm.c, uint16"), std::string::npos) << text;
  EXPECT_NE(text.find("1025"), std::string::npos) << text;
  EXPECT_NE(text.find("122 (needs a vocabulary of at least 123)"), std::string::npos) << text;
  EXPECT_NE(text.find("samples of 512:  2"), std::string::npos) << text;
}
