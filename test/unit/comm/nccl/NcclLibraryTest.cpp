//===- NcclLibraryTest.cpp - the real library, or a word about it -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which of these tests there are is decided where CMake looks for nccl.h and the library:
// each of them runs.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/NcclLibrary.h"
#include "runtime/plan/Error.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

using namespace tgpt::runtime;

namespace {

/// What loadNccl() says of a library; empty: it loads it.
[[maybe_unused]] std::string errorOfLoading(const char *file) {
  ::setenv("TGPT_NCCL_LIBRARY", file, 1);
  std::string text;
  try {
    loadNccl();
  } catch (const Error &error) {
    text = error.what();
  }
  ::unsetenv("TGPT_NCCL_LIBRARY");
  return text;
}

#ifndef TGPT_HAS_NCCL
TEST(NcclLibrary, ABuildWithoutItSaysWhatToDo) {
  EXPECT_EQ(errorOfLoading("libnccl.so.2"),
            "this build has no NCCL: configure it where the CUDA toolkit and nccl.h are (TGPT_CUDA=ON)");
}
#else
TEST(NcclLibrary, OneThatIsNotThereIsAnErrorThatSaysWhatToDo) {
  std::string text = errorOfLoading("/nowhere/libnccl.so.2");
  EXPECT_NE(text.find("it cannot be loaded (/nowhere/libnccl.so.2: cannot open"), std::string::npos) << text;
  EXPECT_NE(text.find("TGPT_NCCL_LIBRARY"), std::string::npos) << text;
}

TEST(NcclLibrary, AnotherLibraryIsAnError) {
  EXPECT_EQ(errorOfLoading("libm.so.6"), "libm.so.6 has no function ncclGetVersion: NCCL 2.18 or newer is needed");
}
#endif

#ifdef TGPT_NCCL_FILE
// Every function is there, and it says its version without a GPU.
TEST(NcclLibrary, TheOneOfThisMachineLoads) {
  ::setenv("TGPT_NCCL_LIBRARY", TGPT_NCCL_FILE, 1);
  std::unique_ptr<NcclApi> nccl = loadNccl();
  ::unsetenv("TGPT_NCCL_LIBRARY");
  int version = 0;
  EXPECT_EQ(nccl->version(&version), NcclResult::Success);
  EXPECT_GE(version, 21800);
}

// This build is linked against it, which needs no variable and no search.
TEST(NcclLibrary, TheOneThatIsLinkedIsTheSame) {
  ::unsetenv("TGPT_NCCL_LIBRARY");
  int version = 0;
  EXPECT_EQ(loadNccl()->version(&version), NcclResult::Success);
  EXPECT_GE(version, 21800);
}
#endif

} // namespace
