//===- PlanFileTest.cpp - plans on disk, whole and damaged ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan survives the round trip; every kind of damage gives one clear error.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/Error.h"
#include "test/unit/files/TemporaryDirectory.h"
#include "test/unit/plan/TinyPipeline.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

class PlanFileTest : public testing::Test {
protected:
  std::string path(const std::string &name) const { return (folder / name).string(); }
  std::string write(const std::string &bytes) const {
    std::ofstream(path("plan.bin"), std::ios::binary) << bytes;
    return path("plan.bin");
  }
  static std::string errorOf(const std::string &file) {
    try {
      loadPlan(file);
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }
  size_t filesInFolder() const { return folder.entries(); }

  TemporaryDirectory folder;
};

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

} // namespace

TEST_F(PlanFileTest, SavedPlanIsReadBackEqual) {
  plan::Plan plan = test::tinyPipeline();
  savePlan(plan, path("a.bin"));
  EXPECT_EQ(loadPlan(path("a.bin")).SerializeAsString(), plan.SerializeAsString());
  EXPECT_EQ(filesInFolder(), 1u) << "the temporary file is left over";
}

TEST_F(PlanFileTest, SavingSetsTheFormatVersion) {
  plan::Plan plan = test::tinyPipeline();
  plan.clear_format_version();
  savePlan(plan, path("a.bin"));
  EXPECT_EQ(loadPlan(path("a.bin")).format_version(), planFormatVersion);
}

TEST_F(PlanFileTest, EveryTruncationIsRefused) {
  std::string bytes = encodePlan(test::tinyPipeline());
  for (size_t length = 0; length < bytes.size(); length += length < 40 ? 1 : 97)
    EXPECT_THROW(decodePlan(std::string_view(bytes).substr(0, length), "cut"), Error) << length;
  expectContains(errorOf(write(bytes.substr(0, bytes.size() - 5))),
                 "is truncated: its header names " + std::to_string(bytes.size() - 32) + " payload bytes, but " +
                     std::to_string(bytes.size() - 37) + " follow");
  expectContains(errorOf(write(bytes.substr(0, 20))), "is truncated: it has 20 bytes, the header alone has 32");
}

TEST_F(PlanFileTest, EveryAlteredByteIsRefused) {
  std::string bytes = encodePlan(test::tinyPipeline());
  for (size_t i = 0; i < bytes.size(); i += i < 40 ? 1 : 31) {
    std::string altered = bytes;
    altered[i] = static_cast<char>(altered[i] ^ 0x10);
    EXPECT_THROW(decodePlan(altered, "altered"), Error) << "byte " << i;
  }
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  expectContains(errorOf(write(bytes)), "is damaged: the checksum of its");
}

TEST_F(PlanFileTest, WrongFilesAreNamed) {
  expectContains(errorOf(write("")), "is empty");
  expectContains(errorOf(write("module @gpt {}\n" + std::string(100, ' '))), "it does not start with \"TGPTPLAN\"");
  expectContains(errorOf(path("missing.bin")), "cannot open plan file '" + path("missing.bin") + "': No such file");
  expectContains(errorOf(folder.getPath().string()), "is not a plan file: it is a directory");
}

TEST_F(PlanFileTest, NewerVersionIsRefused) {
  std::string bytes = encodePlan(test::tinyPipeline());
  bytes[8] = 7;
  expectContains(errorOf(write(bytes)), "has format version 7, but this build reads version 2");
}

TEST_F(PlanFileTest, TrailingBytesAreRefused) {
  expectContains(errorOf(write(encodePlan(test::tinyPipeline()) + "x")), "has trailing bytes");
}

TEST_F(PlanFileTest, FailedSaveLeavesNothingBehind) {
  EXPECT_THROW(savePlan(test::tinyPipeline(), path("no/such/folder.bin")), Error);
  EXPECT_THROW(savePlan(test::tinyPipeline(), folder.getPath().string()), Error);
  EXPECT_EQ(filesInFolder(), 0u);
}

TEST(Fnv1a64, PublishedVectors) {
  EXPECT_EQ(fnv1a64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a64("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv1a64("foobar"), 0x85944171f73967e8u);
}
