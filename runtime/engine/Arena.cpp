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

Arena::Arena(int64_t bytes, int64_t rank) : size(bytes) {
  int64_t offset = rank * staggerBytes % pageBytes;
  mappedBytes = static_cast<size_t>(bytes) + pageBytes;
  mapping = ::mmap(nullptr, mappedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    throw Error("cannot map an arena of " + std::to_string(bytes) + " bytes for rank " + std::to_string(rank) + ": " +
                std::strerror(errno));
  ::madvise(mapping, mappedBytes, MADV_NOHUGEPAGE);
  start = static_cast<std::byte *>(mapping) + offset;
}

Arena::~Arena() {
  ::munmap(mapping, mappedBytes);
}
