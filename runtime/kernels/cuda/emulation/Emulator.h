//===- Emulator.h - blocks, barriers and shuffles on the host ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel source in CUDA C++ needs to run on the host: every thread of a block is
// a fiber, blocks run one after the other. It is for judging arithmetic and for catching
// what a GPU would punish with wrong numbers or a hang; each is one error that names the
// place, the threads and the numbers:
//
//   divergent __syncthreads   some threads have returned, or wait at another place
//   shuffle without its lanes a lane of the mask has returned, waits elsewhere, or is none
//   shared memory             an index beyond the array
//   misaligned vector access  an address that is no multiple of the vector's bytes
//   deadlock                  every thread waits for another, or spins
//   launch                    a grid, block or shared memory that no GPU takes
//
// Shared memory that nobody wrote holds NaN. A block's threads run in ascending or in
// descending order between barriers: a kernel that lacks a barrier gives other bits.
// Launches of several host threads take turns.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_EMULATION_EMULATOR_H
#define TGPT_RUNTIME_KERNELS_CUDA_EMULATION_EMULATOR_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace tgpt::emulation {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  constexpr Dim3(uint32_t x = 1, uint32_t y = 1, uint32_t z = 1) : x(x), y(y), z(z) {}
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// A place in a source file; as a default argument, the caller's.
struct Site {
  const char *file = "";
  int line = 0;
  bool operator==(const Site &) const = default;
};
constexpr Site here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  return {file, line};
}

/// Where the running thread is.
struct Coordinates {
  Dim3 thread{0, 0, 0}, block{0, 0, 0}, blockSize, gridSize;
};
extern const Coordinates *coordinates;

/// Order in which the threads of a block, and the blocks, run.
enum class Order { Ascending, Descending };
void setOrder(Order order);

/// Runs `body` on every thread of the grid. Null when all went well, else what went wrong,
/// which is kept until this thread's next launch.
struct Body {
  void (*call)(const void *object);
  const void *object;
};
const char *run(Dim3 grid, Dim3 block, size_t sharedBytes, Site site, Body body);

/// Launches since the program began, and threads that ran.
struct Counts {
  uint64_t launches = 0, threads = 0;
};
Counts counts();

/// Ends the launch with this error; the running thread does not go on.
[[noreturn]] void fail(Site site, const std::string &what);

void syncThreads(Site site = here());
void syncWarp(uint32_t mask = 0xffffffffu, Site site = here());
/// Lets other threads run; a launch whose threads only do this is stuck.
void yield(Site site = here());

enum class Exchange { Down, Up, Xor, Index, Ballot };
/// Bits of another lane's `value`.
uint64_t exchange(Exchange kind, uint32_t mask, uint64_t value, int argument, int width, Site site);

template <typename T> T shuffle(Exchange kind, uint32_t mask, T value, int argument, int width, Site site) {
  static_assert(sizeof(T) <= sizeof(uint64_t) && std::is_trivially_copyable_v<T>);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = exchange(kind, mask, bits, argument, width, site);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

/// Error unless `address` is a multiple of `bytes`.
inline void checkAligned(const void *address, size_t bytes, Site site) {
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0) [[unlikely]]
    fail(site, "misaligned vector access: address " + std::to_string(reinterpret_cast<uintptr_t>(address)) +
                   " is no multiple of " + std::to_string(bytes) + " bytes");
}

/// A view of shared memory whose indices are checked.
template <typename T> class SharedView {
public:
  SharedView(T *data, int64_t size, Site site) : data(data), size(size), site(site) {}
  T &operator[](int64_t i) const {
    check(i, 1);
    return data[i];
  }
  /// The address of `count` elements from `i` on.
  T *at(int64_t i, int64_t count) const {
    check(i, count);
    return data + i;
  }
  SharedView part(int64_t first, int64_t count) const { return {at(first, count), count, site}; }

private:
  void check(int64_t i, int64_t count) const {
    if (i < 0 || count > size - i) [[unlikely]]
      fail(site, "shared memory: element " + std::to_string(i + count - 1) + " of an array of " + std::to_string(size));
  }
  T *data;
  int64_t size;
  Site site;
};

/// Number of the running block, counted over all launches.
extern uint64_t blockSerial;

/// A __shared__ array: one for all, since one block runs at a time.
template <typename T, int64_t N> class SharedArray {
public:
  constexpr SharedArray() = default;
  SharedView<T> view(Site site) {
    if (serial != blockSerial) {
      std::memset(static_cast<void *>(data), 0xff, sizeof(data));
      serial = blockSerial;
    }
    return {data, N, site};
  }

private:
  alignas(16) T data[N] = {};
  uint64_t serial = 0;
};

/// The launch's dynamic shared memory.
void *dynamicShared();
size_t dynamicSharedBytes();

} // namespace tgpt::emulation

#endif // TGPT_RUNTIME_KERNELS_CUDA_EMULATION_EMULATOR_H
