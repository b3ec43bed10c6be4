//===- RankThreads.h - runs a function on n threads -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_COMM_RANKTHREADS_H
#define TGPT_TEST_UNIT_COMM_RANKTHREADS_H

#include <cstdint>
#include <thread>
#include <vector>

namespace tgpt::test {

/// body(rank) on `ranks` threads; returns when all have returned.
template <typename Body> void onRanks(int64_t ranks, const Body &body) {
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&body, rank] { body(rank); });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_COMM_RANKTHREADS_H
