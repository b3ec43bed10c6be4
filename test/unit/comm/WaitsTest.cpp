//===- WaitsTest.cpp - channels, stuck waits and aborts ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every wait ends: by its event, by an abort, or because nobody advances.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/InProcessChannel.h"
#include "runtime/comm/InProcessGroup.h"
#include "runtime/plan/Error.h"
#include "test/unit/comm/RankThreads.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

TensorView scalarView(double &value) {
  TensorView view;
  view.data = &value;
  view.dtype = DType::F64;
  return view;
}

std::string errorOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  } catch (const JobAborted &) {
    return "aborted";
  }
  return "no error";
}

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

TEST(Channel, MessagesArriveInOrderThroughFewBuffers) {
  for (size_t depth : {1, 2, 3}) {
    InProcessWorld world({2, 2, 20, {}});
    std::vector<double> storage(depth);
    std::vector<void *> buffers;
    for (double &slot : storage)
      buffers.push_back(&slot);
    InProcessChannel channel(world, "channel 0", 0, 1, buffers);
    std::vector<double> got;
    test::onRanks(2, [&](int64_t rank) {
      for (int i = 0; i < 500; ++i) {
        double value = rank == 0 ? i : -1;
        rank == 0 ? channel.send(scalarView(value)) : channel.receive(scalarView(value));
        if (rank == 1)
          got.push_back(value);
        world.noteProgress(rank);
      }
    });
    ASSERT_EQ(got.size(), 500u);
    for (int i = 0; i < 500; ++i)
      EXPECT_EQ(got[i], i) << "depth " << depth;
  }
}

TEST(Channel, ASenderMayRunAheadByItsDepthOnly) {
  InProcessWorld world({2, 2, 0.2, {}});
  double storage[2], value = 1;
  InProcessChannel channel(world, "channel 3", 0, 1, {&storage[0], &storage[1]});
  channel.send(scalarView(value));
  channel.send(scalarView(value));
  EXPECT_EQ(errorOf([&] { channel.send(scalarView(value)); }),
            "no rank has advanced for 0.2 s: rank 0 waits on channel 3, whose 2 message buffers are full, for rank 1; "
            "not waiting: rank 1");
}

TEST(StuckWait, NamesTheMissingMember) {
  InProcessWorld world({4, 4, 0.2, [](int64_t rank) { return "rank " + std::to_string(rank) + " in the corridor"; }});
  InProcessGroup group(world, "group 2 (tp)", {1, 3});
  EXPECT_EQ(errorOf([&] { group.member(0).barrier(); }),
            "no rank has advanced for 0.2 s: rank 1 waits in group 2 (tp) for rank 3 in the corridor; not waiting: "
            "rank 0 in the corridor, rank 2 in the corridor, rank 3 in the corridor");
}

TEST(StuckWait, NamesTheSilentSender) {
  InProcessWorld world({2, 2, 0.2, {}});
  double storage, value;
  InProcessChannel channel(world, "channel 0", 0, 1, {&storage});
  EXPECT_EQ(errorOf([&] { channel.receive(scalarView(value)); }),
            "no rank has advanced for 0.2 s: rank 1 waits on channel 0 for a message from rank 0; not waiting: rank 0");
}

TEST(StuckWait, SaysWhenEveryRankWaits) {
  InProcessWorld world({2, 2, 0.2, {}});
  InProcessGroup first(world, "group 0", {0, 1}), second(world, "group 1", {0, 1});
  std::vector<std::string> outcomes(2);
  test::onRanks(
      2, [&](int64_t rank) { outcomes[rank] = errorOf([&] { (rank == 0 ? first : second).member(rank).barrier(); }); });
  EXPECT_EQ(outcomes[1], "no rank has advanced for 0.2 s: rank 1 waits in group 1 for rank 0; every rank waits");
}

TEST(StuckWait, AJobThatAdvancesIsNotStuck) {
  InProcessWorld world({3, 3, 1, {}});
  InProcessGroup group(world, "group 0", {0, 1});
  std::string outcome;
  test::onRanks(3, [&](int64_t rank) {
    if (rank == 0) {
      outcome = errorOf([&] { group.member(0).barrier(); });
      return;
    }
    // Rank 2 keeps working for longer than a stuck job is given; then rank 1 comes.
    for (int i = 0; i < 40; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (rank == 2)
        world.noteProgress(2);
    }
    if (rank == 1)
      group.member(1).barrier();
  });
  EXPECT_EQ(outcome, "no error");
}

TEST(Abort, EndsEveryWaitPromptly) {
  InProcessWorld world({4, 4, 600, {}});
  InProcessGroup group(world, "group 0", {0, 1, 2});
  double storage, value = 0;
  InProcessChannel channel(world, "channel 0", 3, 2, {&storage});
  std::vector<std::string> outcomes(4);
  std::chrono::steady_clock::time_point aborted;
  test::onRanks(4, [&](int64_t rank) {
    if (rank == 3) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      aborted = std::chrono::steady_clock::now();
      world.abort();
      return;
    }
    outcomes[rank] = errorOf([&] { rank == 2 ? channel.receive(scalarView(value)) : group.member(rank).barrier(); });
  });
  EXPECT_EQ(outcomes, (std::vector<std::string>{"aborted", "aborted", "aborted", ""}));
  // The poll of a waiter is 1 s: it must not be what wakes it.
  EXPECT_LT(secondsSince(aborted), 0.7);
  EXPECT_EQ(errorOf([&] { channel.receive(scalarView(value)); }), "aborted") << "a later wait ends as well";
}
