//===- WorldMemory.cpp - state that all ranks see ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/WorldMemory.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

using namespace tgpt::runtime;

static constexpr size_t lineBytes = 64;

std::byte *WorldMemory::take(size_t bytes) {
  bytes = std::max((bytes + lineBytes - 1) / lineBytes * lineBytes, lineBytes);
  if (!isShared()) {
    own.emplace_back(static_cast<std::byte *>(std::aligned_alloc(lineBytes, bytes)));
    if (!own.back())
      throw std::bad_alloc();
    std::memset(own.back().get(), 0, bytes);
    return own.back().get();
  }
  if (taken + bytes > shared.size())
    throw Error("the memory that ranks share has " + std::to_string(shared.size()) + " bytes, more than " +
                std::to_string(taken) + " are needed");
  std::byte *result = shared.data() + taken;
  taken += bytes;
  return result;
}
