//===- test/unit/files/AtomicFileTest.cpp - whole files or none --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/files/AtomicFile.h"

#include "runtime/files/MappedFile.h"
#include "runtime/plan/Error.h"
#include "test/unit/files/TemporaryDirectory.h"

using namespace tgpt::runtime;

TEST(AtomicFile, AppearsOnCommitOnly) {
  TemporaryDirectory directory;
  {
    AtomicFile file(directory / "a");
    file.append(std::as_bytes(std::span(std::string_view("hello "))));
    file.append(std::as_bytes(std::span(std::string_view("world"))));
    EXPECT_FALSE(std::filesystem::exists(directory / "a"));
    file.commit();
  }
  EXPECT_EQ(directory.read("a"), "hello world");
  EXPECT_EQ(directory.entries(), 1u);
}

TEST(AtomicFile, AbandonedLeavesTheOldFileAndNoTrace) {
  TemporaryDirectory directory;
  directory.write("a", "old");
  {
    AtomicFile file(directory / "a");
    file.append(std::as_bytes(std::span(std::string_view("new"))));
  }
  EXPECT_EQ(directory.read("a"), "old");
  EXPECT_EQ(directory.entries(), 1u);
}

TEST(AtomicFile, RefusesADirectoryAndAMissingParent) {
  TemporaryDirectory directory;
  EXPECT_NE(messageOf<Error>([&] { AtomicFile file(directory.getPath()); }).find("it is a directory"),
            std::string::npos);
  EXPECT_EQ(messageOf<Error>([&] { AtomicFile file(directory / "none/a"); }),
            "cannot create '" + (directory / "none/a").string() + "': No such file or directory");
}

TEST(AtomicFile, RefusesToReplaceADevice) {
  EXPECT_EQ(messageOf<Error>([] { AtomicFile file("/dev/null"); }),
            "cannot create '/dev/null': it is not a regular file");
}

// The file that is written until then has a name of its own, which nobody asked for.
TEST(AtomicFile, ErrorsNameTheFileThatWasAskedFor) {
  EXPECT_EQ(messageOf<Error>([] { AtomicFile file("/proc/trace.json"); }),
            "cannot create '/proc/trace.json': No such file or directory");
}

TEST(MappedFile, ShowsTheBytes) {
  TemporaryDirectory directory;
  MappedFile file(directory.write("a", "abc"));
  ASSERT_EQ(file.bytes().size(), 3u);
  EXPECT_EQ(std::to_integer<char>(file.bytes()[2]), 'c');
  EXPECT_TRUE(MappedFile(directory.write("empty", "")).bytes().empty());
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  TemporaryDirectory directory;
  EXPECT_NE(messageOf<Error>([&] { MappedFile file(directory / "none"); }).find("No such file"), std::string::npos);
  EXPECT_NE(messageOf<Error>([&] { MappedFile file(directory.getPath()); }).find("it is a directory"),
            std::string::npos);
}
