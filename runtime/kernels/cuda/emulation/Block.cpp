//===- Block.cpp - the threads of a block as fibers -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/emulation/Block.h"

#include <cstdlib>

using namespace tgpt::emulation;

/// Rounds in which every thread that is awake only yields, before they count as stuck.
static constexpr int mostIdleRounds = 100;

/// What a new fiber runs: the block of the thread that starts it.
static Block *startingBlock = nullptr;

void Block::advance(Thread &thread) {
  current = &thread;
  coordinates = &thread.at;
  thread.wait = Wait::Ready;
  if (!thread.fiber) {
    if (free.empty()) {
      fibers.push_back(std::make_unique<Fiber>());
      free.push_back(fibers.back().get());
    }
    thread.fiber = free.back();
    free.pop_back();
    startingBlock = this;
    thread.fiber->start([] { startingBlock->execute(); });
  } else {
    thread.fiber->resume();
  }
  if (!thread.fiber->isDone())
    return;
  free.push_back(thread.fiber); // the next thread runs on the same, warm stack
  thread.fiber = nullptr;
  thread.wait = Wait::Returned;
}

void Block::leave(Wait wait, Site site) {
  Thread &thread = *current;
  thread.wait = wait;
  thread.site = site;
  thread.fiber->leave();
}

void Block::stop() {
  current->fiber->leave();
  std::abort(); // nobody resumes a launch that failed
}

/// Runs the warp's lanes until all wait; whether any ran.
bool Block::runWarp(int warp) {
  bool ran = false;
  size_t lanes = laneCount(warp);
  do {
    for (size_t i = 0; i < lanes; ++i) {
      Thread &thread = threads[size_t(warp) * warpSize + (order == Order::Ascending ? i : lanes - 1 - i)];
      if (thread.wait != Wait::Ready)
        continue;
      advance(thread);
      ran = true;
      if (!error.empty())
        return true;
    }
  } while (settle(warp));
  return ran;
}

/// Exchanges what all lanes of a mask are there for; whether there was any.
bool Block::settle(int warp) {
  bool any = false;
  for (size_t lane = 0; lane < laneCount(warp); ++lane)
    any |= settle(warp, int(lane));
  return any;
}

bool Block::settle(int warp, int lane) {
  const Thread &first = threads[size_t(warp) * warpSize + lane];
  if (first.wait != Wait::Warp)
    return false;
  for (int other = 0; other < warpSize; ++other) {
    if (!(first.mask >> other & 1))
      continue;
    if (size_t(other) >= laneCount(warp))
      return false;
    const Thread &thread = threads[size_t(warp) * warpSize + other];
    bool isSame = thread.wait == Wait::Warp && thread.mask == first.mask && thread.site == first.site &&
                  thread.isSync == first.isSync && thread.kind == first.kind && thread.width == first.width;
    if (!isSame)
      return false;
  }
  uint32_t mask = first.mask;
  for (int other = 0; other < warpSize && error.empty(); ++other)
    if (mask >> other & 1)
      transfer(warp, other, mask);
  for (int other = 0; other < warpSize; ++other)
    if (mask >> other & 1)
      threads[size_t(warp) * warpSize + other].wait = Wait::Ready;
  return error.empty();
}

/// What lane `lane` gets from the others.
void Block::transfer(int warp, int lane, uint32_t mask) {
  Thread *lanes = &threads[size_t(warp) * warpSize], &self = lanes[lane];
  if (self.isSync)
    return;
  int from = lane, begin = lane / self.width * self.width, end = begin + self.width;
  switch (self.kind) {
  case Exchange::Down: from = lane + self.argument < end ? lane + self.argument : lane; break;
  case Exchange::Up: from = lane - self.argument >= begin ? lane - self.argument : lane; break;
  case Exchange::Xor: from = (lane ^ self.argument) < end ? lane ^ self.argument : lane; break;
  case Exchange::Index: from = begin + (self.argument & (self.width - 1)); break;
  case Exchange::Ballot:
    self.result = 0;
    for (int other = 0; other < warpSize; ++other)
      if ((mask >> other & 1) && lanes[other].value)
        self.result |= uint64_t(1) << other;
    return;
  }
  if (!(mask >> from & 1)) {
    error = place(self.site) + ": shuffle: lane " + std::to_string(lane) + " reads lane " + std::to_string(from) +
            ", which is not in mask " + std::to_string(mask);
    return;
  }
  self.result = lanes[from].value;
}

/// When every thread waits at one and the same barrier, all go on.
bool Block::openBarrier() {
  for (const Thread &thread : threads)
    if (thread.wait != Wait::Barrier || thread.site != threads[0].site)
      return false;
  for (Thread &thread : threads)
    thread.wait = Wait::Ready;
  return true;
}

bool Block::wakeYielding() {
  bool any = false;
  for (Thread &thread : threads)
    if (thread.wait == Wait::Yield) {
      thread.wait = Wait::Ready;
      any = true;
    }
  return any;
}

/// Takes the stacks of threads that will not go on.
void Block::dropFibers() {
  for (Thread &thread : threads)
    if (thread.fiber) {
      thread.fiber->abandon();
      free.push_back(thread.fiber);
      thread.fiber = nullptr;
    }
}

std::string Block::run(const Coordinates &first, uint64_t count, Order givenOrder, Body givenBody) {
  order = givenOrder;
  body = givenBody;
  error.clear();
  threads.assign(count, {});
  for (uint64_t i = 0; i < count; ++i) {
    threads[i].at = first;
    threads[i].at.thread = Dim3(uint32_t(i % first.blockSize.x), uint32_t(i / first.blockSize.x % first.blockSize.y),
                                uint32_t(i / first.blockSize.x / first.blockSize.y));
  }
  int idleRounds = 0;
  while (error.empty()) {
    for (int i = 0; i < warps() && error.empty(); ++i)
      runWarp(order == Order::Ascending ? i : warps() - 1 - i);
    if (!error.empty())
      break;
    size_t returned = 0, yielding = 0;
    for (const Thread &thread : threads) {
      returned += thread.wait == Wait::Returned;
      yielding += thread.wait == Wait::Yield;
    }
    if (returned == threads.size())
      return "";
    if (yielding == 0 && openBarrier())
      idleRounds = 0;
    else if (yielding == 0 || ++idleRounds > mostIdleRounds)
      error = whyStuck();
    else
      wakeYielding();
  }
  dropFibers();
  return error;
}
