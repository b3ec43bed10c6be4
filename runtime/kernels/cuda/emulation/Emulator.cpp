//===- Emulator.cpp - launches on the host ----------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/emulation/Emulator.h"
#include "runtime/kernels/cuda/emulation/Block.h"

#include <cstdlib>
#include <mutex>

using namespace tgpt::emulation;

const Coordinates *tgpt::emulation::coordinates = nullptr;
uint64_t tgpt::emulation::blockSerial = 0;

static constexpr uint64_t mostThreads = 1024, mostGridX = 0x7fffffff, mostGridYZ = 65535;
static constexpr size_t mostSharedBytes = 227 << 10; ///< of sm_90 and sm_100; sm_80 has 163 KiB

static std::mutex launchLock;
static Block theBlock;
static Order theOrder = Order::Ascending;
namespace {
struct Free {
  void operator()(char *memory) const { std::free(memory); }
};
} // namespace
static std::unique_ptr<char, Free> sharedMemory;
static char *sharedBase = nullptr;
static size_t sharedSize = 0;
static Counts theCounts;
static thread_local std::string lastError;

void tgpt::emulation::setOrder(Order order) {
  std::lock_guard lock(launchLock);
  theOrder = order;
}

Counts tgpt::emulation::counts() {
  std::lock_guard lock(launchLock);
  return theCounts;
}

/// Empty, or why no GPU takes the launch.
static std::string refuse(Dim3 grid, Dim3 block, size_t sharedBytes) {
  auto text = [](Dim3 d) {
    return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
  };
  if (grid.count() == 0 || grid.x > mostGridX || grid.y > mostGridYZ || grid.z > mostGridYZ)
    return "launch: grid " + text(grid) + ", expected (1,1,1) to (2147483647,65535,65535)";
  if (block.count() == 0 || block.count() > mostThreads || block.z > 64)
    return "launch: block " + text(block) + " has " + std::to_string(block.count()) + " threads, expected 1 to " +
           std::to_string(mostThreads);
  if (sharedBytes > mostSharedBytes)
    return "launch: " + std::to_string(sharedBytes) + " bytes of shared memory, expected at most " +
           std::to_string(mostSharedBytes);
  return "";
}

/// As large as asked for (in units of 16 bytes), so that AddressSanitizer sees what lies behind.
static void provideShared(size_t bytes) {
  if (sharedSize != bytes) {
    sharedMemory.reset(static_cast<char *>(std::aligned_alloc(16, (bytes + 15) / 16 * 16)));
    sharedBase = sharedMemory.get();
    sharedSize = bytes;
  }
  if (bytes)
    std::memset(sharedBase, 0xff, bytes);
}

const char *tgpt::emulation::run(Dim3 grid, Dim3 block, size_t sharedBytes, Site site, Body body) {
  std::lock_guard lock(launchLock);
  lastError = refuse(grid, block, sharedBytes);
  if (!lastError.empty()) {
    lastError = place(site) + ": " + lastError;
    return lastError.c_str();
  }
  ++theCounts.launches;
  theCounts.threads += grid.count() * block.count();
  Coordinates at;
  at.gridSize = grid;
  at.blockSize = block;
  for (uint64_t i = 0; i < grid.count(); ++i) {
    uint64_t number = theOrder == Order::Ascending ? i : grid.count() - 1 - i;
    at.block = Dim3(uint32_t(number % grid.x), uint32_t(number / grid.x % grid.y), uint32_t(number / grid.x / grid.y));
    ++blockSerial;
    provideShared(sharedBytes);
    lastError = theBlock.run(at, block.count(), theOrder, body);
    if (!lastError.empty())
      return lastError.c_str();
  }
  return nullptr;
}

void tgpt::emulation::fail(Site site, const std::string &what) {
  {
    // The caller's frame never ends: what its string holds is taken, or it would leak.
    std::string own = std::move(const_cast<std::string &>(what));
    theBlock.record(place(site) + ": " + nameOf(theBlock.running()) + ": " + own);
  }
  theBlock.stop();
}

void tgpt::emulation::syncThreads(Site site) {
  theBlock.leave(Wait::Barrier, site);
}

void tgpt::emulation::yield(Site site) {
  theBlock.leave(Wait::Yield, site);
}

static Thread &prepare(uint32_t mask, Site site) {
  Thread &thread = theBlock.running();
  const Dim3 &at = thread.at.thread, &size = thread.at.blockSize;
  uint32_t lane = ((at.z * size.y + at.y) * size.x + at.x) % warpSize;
  if (!(mask >> lane & 1))
    fail(site,
         "shuffle or __syncwarp: lane " + std::to_string(lane) + " is not in its own mask " + std::to_string(mask));
  thread.mask = mask;
  return thread;
}

void tgpt::emulation::syncWarp(uint32_t mask, Site site) {
  prepare(mask, site).isSync = true;
  theBlock.leave(Wait::Warp, site);
}

uint64_t tgpt::emulation::exchange(Exchange kind, uint32_t mask, uint64_t value, int argument, int width, Site site) {
  Thread &thread = prepare(mask, site);
  if (width < 1 || width > warpSize || (width & (width - 1)))
    fail(site, "shuffle: width " + std::to_string(width) + ", expected a power of two up to 32");
  thread.isSync = false;
  thread.kind = kind;
  thread.value = value;
  thread.argument = argument;
  thread.width = width;
  theBlock.leave(Wait::Warp, site);
  return thread.result;
}

void *tgpt::emulation::dynamicShared() {
  return sharedBase;
}
size_t tgpt::emulation::dynamicSharedBytes() {
  return sharedSize;
}
