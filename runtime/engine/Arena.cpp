//===- Arena.cpp - the one block of memory of a rank ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An anonymous mapping without huge pages, so that resident bytes are planned bytes.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Arena.h"
#include "runtime/plan/Error.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/mman.h>

using namespace tgpt::runtime;

/// Nine cache lines: consecutive ranks' bases differ within a page.
static constexpr int64_t staggerBytes = 576;
static constexpr int64_t pageBytes = 4096;

static int64_t staggerOf(int64_t rank) {
  return rank * staggerBytes % pageBytes;
}

int64_t Arena::mappedBytes(int64_t bytes) {
  return (bytes + pageBytes - 1) / pageBytes * pageBytes + pageBytes;
}

Arena::Arena(int64_t bytes, int64_t rank) : size(bytes) {
  size_t mapped = static_cast<size_t>(mappedBytes(bytes));
  mapping = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    throw Error("cannot map an arena of " + std::to_string(bytes) + " bytes for rank " + std::to_string(rank) + ": " +
                std::strerror(errno));
  ::madvise(mapping, mapped, MADV_NOHUGEPAGE);
  start = static_cast<std::byte *>(mapping) + staggerOf(rank);
}

Arena::Arena(int64_t bytes, int64_t rank, std::byte *memory) : start(memory + staggerOf(rank)), size(bytes) {}

Arena::~Arena() {
  if (mapping)
    ::munmap(mapping, static_cast<size_t>(mappedBytes(size)));
}
