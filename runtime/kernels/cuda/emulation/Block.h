//===- Block.h - the threads of a block as fibers ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_EMULATION_BLOCK_H
#define TGPT_RUNTIME_KERNELS_CUDA_EMULATION_BLOCK_H

#include "runtime/kernels/cuda/emulation/Emulator.h"
#include "runtime/kernels/cuda/emulation/Fiber.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace tgpt::emulation {

inline constexpr int warpSize = 32;

enum class Wait { Ready, Barrier, Warp, Yield, Returned };

struct Thread {
  Coordinates at;
  Fiber *fiber = nullptr;
  Wait wait = Wait::Ready;
  Site site;
  // Of an exchange:
  Exchange kind = Exchange::Down;
  bool isSync = false;
  uint32_t mask = 0;
  int argument = 0, width = warpSize;
  uint64_t value = 0, result = 0;
};

/// A warp runs until each of its lanes has returned or waits; what its lanes exchange is
/// settled when all lanes of the mask are there, and the warp runs on. When no warp can,
/// a barrier that all threads wait at opens. If there is none, the block is stuck.
class Block {
public:
  /// Empty when every thread has returned, else what went wrong.
  std::string run(const Coordinates &first, uint64_t threads, Order order, Body body);
  // Called by the running thread:
  void leave(Wait wait, Site site);
  void record(std::string what) { error = std::move(what); }
  [[noreturn]] void stop();
  Thread &running() { return *current; }
  void execute() { body.call(body.object); }

private:
  int warps() const { return int((threads.size() + warpSize - 1) / warpSize); }
  size_t laneCount(int warp) const { return std::min<size_t>(warpSize, threads.size() - size_t(warp) * warpSize); }
  void advance(Thread &thread);
  bool runWarp(int warp);
  bool settle(int warp);
  bool settle(int warp, int lane);
  void transfer(int warp, int lane, uint32_t mask);
  bool openBarrier();
  bool wakeYielding();
  std::string whyStuck() const; // StuckBlock.cpp
  std::string missingLane(int thread) const;
  void dropFibers();

  std::vector<Thread> threads;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber *> free;
  Thread *current = nullptr;
  Order order = Order::Ascending;
  Body body{};
  std::string error;
};

/// "LayerNorm.cu:31".
std::string place(Site site);
/// "thread 5" or "thread (5,0,1)".
std::string nameOf(const Thread &thread);

} // namespace tgpt::emulation

#endif // TGPT_RUNTIME_KERNELS_CUDA_EMULATION_BLOCK_H
