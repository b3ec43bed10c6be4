//===- StuckBlock.cpp - why no thread of a block can go on ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/emulation/Block.h"

using namespace tgpt::emulation;

std::string tgpt::emulation::place(Site site) {
  std::string file = site.file;
  return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(site.line);
}

std::string tgpt::emulation::nameOf(const Thread &thread) {
  const Dim3 &size = thread.at.blockSize, &at = thread.at.thread;
  if (size.y == 1 && size.z == 1)
    return "thread " + std::to_string(at.x);
  return "thread (" + std::to_string(at.x) + "," + std::to_string(at.y) + "," + std::to_string(at.z) + ")";
}

static std::string whatDoes(const Thread &thread) {
  switch (thread.wait) {
  case Wait::Returned: return "has returned";
  case Wait::Barrier: return "waits at __syncthreads, " + place(thread.site);
  case Wait::Warp: return "waits at " + place(thread.site) + " with mask " + std::to_string(thread.mask);
  case Wait::Yield: return "spins at " + place(thread.site);
  case Wait::Ready: break;
  }
  return "runs";
}

/// Why the exchange that `index` waits for cannot happen; empty if it waits for none.
std::string Block::missingLane(int index) const {
  const Thread &thread = threads[index];
  if (thread.wait != Wait::Warp)
    return "";
  int warp = index / warpSize;
  std::string what = place(thread.site) + ": shuffle or __syncwarp without its lanes: " + nameOf(thread) +
                     " waits with mask " + std::to_string(thread.mask) + " for lane ";
  for (int lane = 0; lane < warpSize; ++lane) {
    if (!(thread.mask >> lane & 1))
      continue;
    if (size_t(lane) >= laneCount(warp))
      return what + std::to_string(lane) + ", but the warp has " + std::to_string(laneCount(warp)) + " lanes";
    const Thread &other = threads[size_t(warp) * warpSize + lane];
    if (other.wait != Wait::Warp || other.mask != thread.mask || other.site != thread.site)
      return what + std::to_string(lane) + ", which " + whatDoes(other);
  }
  return what + "of another kind or width";
}

std::string Block::whyStuck() const {
  bool anySpins = false;
  for (const Thread &thread : threads)
    anySpins |= thread.wait == Wait::Yield;
  for (size_t i = 0; i < threads.size() && !anySpins; ++i)
    if (std::string missing = missingLane(int(i)); !missing.empty())
      return missing;
  const Thread *waiting = nullptr;
  for (const Thread &thread : threads)
    if (thread.wait == Wait::Barrier && !waiting)
      waiting = &thread;
  for (const Thread &thread : threads)
    if (waiting && !anySpins && (thread.wait != Wait::Barrier || thread.site != waiting->site))
      return place(waiting->site) + ": divergent __syncthreads: " + nameOf(*waiting) + " waits there, but " +
             nameOf(thread) + " " + whatDoes(thread);
  for (const Thread &thread : threads)
    if (thread.wait == Wait::Yield)
      return place(thread.site) + ": deadlock: " + nameOf(thread) + " spins" +
             (waiting ? ", while " + nameOf(*waiting) + " " + whatDoes(*waiting) : "");
  return "deadlock: no thread of the block can go on";
}
