//===- WorldMemory.h - state that all ranks see -----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What groups, channels and the world keep about their ranks: counts and offsets, no
// pointers. It lies on the heap where ranks are threads, and in memory that processes
// share where they are processes. Every process asks for the same things in the same
// order, so each finds them at the same place.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_WORLDMEMORY_H
#define TGPT_RUNTIME_COMM_WORLDMEMORY_H

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace tgpt::runtime {

class WorldMemory {
public:
  /// An empty span: memory of this process, as much as is asked for.
  explicit WorldMemory(std::span<std::byte> shared = {}) : shared(shared) {}

  /// `count` of them, in cache lines of their own, all bytes 0 unless another process was faster. Throws Error when
  /// the shared memory is used up.
  template <typename T> std::span<T> make(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    return {reinterpret_cast<T *>(take(count * sizeof(T))), count};
  }
  template <typename T> T &make() { return make<T>(1).front(); }

  bool isShared() const { return !shared.empty(); }

private:
  struct Free {
    void operator()(std::byte *bytes) const { std::free(bytes); }
  };
  std::byte *take(size_t bytes);

  std::span<std::byte> shared;
  size_t taken = 0;
  std::vector<std::unique_ptr<std::byte, Free>> own;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_WORLDMEMORY_H
