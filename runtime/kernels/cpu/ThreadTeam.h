//===- ThreadTeam.h - the threads that share a kernel's chunks --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each calling thread has a team of its own, started when it first shares work.
// Who computes a chunk is decided as the chunks are computed: a thread that other
// processes keep from its core takes fewer. A call is over when its chunks are, so
// a thread that wakes up late delays nobody.
//
// Rejected: `omp parallel for`. Its threads spin for milliseconds at the end of
// every loop, and wait for each other there: on a busy machine a training step
// took twice the CPU time.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_THREADTEAM_H
#define TGPT_RUNTIME_KERNELS_CPU_THREADTEAM_H

#include <cstdint>

namespace tgpt::runtime::cpu {

/// A loop body without its type; it throws nothing.
struct ChunkBody {
  void (*call)(const void *body, int64_t chunk);
  const void *body;

  void operator()(int64_t chunk) const { call(body, chunk); }
};

/// Runs the body for each of [0, chunks) on the calling thread and `threads - 1` others.
/// From within a chunk, on the calling thread alone.
void runChunks(int64_t chunks, int threads, ChunkBody body);

} // namespace tgpt::runtime::cpu

#endif // TGPT_RUNTIME_KERNELS_CPU_THREADTEAM_H
