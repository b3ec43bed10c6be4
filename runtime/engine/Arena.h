//===- Arena.h - the one block of memory of a rank --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_ARENA_H
#define TGPT_RUNTIME_ENGINE_ARENA_H

#include <cstddef>
#include <cstdint>

namespace tgpt::runtime {

/// Zeroed memory, mapped once, touched by whoever uses it first.
class Arena {
public:
  /// `rank` staggers the base address: arenas that all start on a page alias in the caches.
  Arena(int64_t bytes, int64_t rank);
  /// In memory of others that outlives it, of mappedBytes(bytes).
  Arena(int64_t bytes, int64_t rank, std::byte *memory);
  ~Arena();
  /// What an arena takes, a multiple of the page.
  static int64_t mappedBytes(int64_t bytes);
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  std::byte *base() const { return start; }
  int64_t bytes() const { return size; }

private:
  void *mapping = nullptr; // null: of others
  std::byte *start = nullptr;
  int64_t size = 0;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_ARENA_H
