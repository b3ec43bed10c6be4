//===- WaitsTest.cpp - channels, stuck waits and aborts ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every wait ends, by its event or by an abort, and says meanwhile where it is and for whom.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/SharedMemoryChannel.h"
#include "runtime/comm/SharedMemoryGroup.h"
#include "test/unit/comm/MappedRanks.h"
#include "test/unit/comm/RankThreads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

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
  } catch (const JobAborted &) {
    return "aborted";
  }
  return "no error";
}

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Sends 0, 1, ... `count` - 1 from rank 0 to rank 1; the latter notes in `got` what came. `value` is a rank's own.
void sendInOrder(SharedMemoryChannel &channel, int64_t rank, double &value, int count, std::vector<double> &got) {
  for (int i = 0; i < count; ++i) {
    value = rank == 0 ? i : -1;
    rank == 0 ? channel.send(scalarView(value)) : channel.receive(scalarView(value));
    if (rank == 1)
      got.push_back(value);
  }
}

void expectInOrder(const std::vector<double> &got, int count) {
  ASSERT_EQ(got.size(), static_cast<size_t>(count));
  for (int i = 0; i < count; ++i)
    EXPECT_EQ(got[i], i);
}

/// sendInOrder by a rank that sees the arenas of `mapped` at addresses of its own, through `depth` buffers of rank 1.
void sendMapped(const test::MappedRanks &mapped, SharedMemoryWorld &world, int64_t rank, size_t depth, int count,
                std::vector<double> &got, RemoteMemory *far = nullptr) {
  double *receiving = reinterpret_cast<double *>(mapped.arena(rank, 1));
  std::vector<void *> buffers;
  for (size_t i = 0; i < depth; ++i)
    buffers.push_back(receiving + i);
  SharedMemoryChannel channel(world, "channel 0", 0, 1, buffers, mapped.arena(rank, 0), far);
  sendInOrder(channel, rank, *(reinterpret_cast<double *>(mapped.arena(rank, rank)) + 100), count, got);
}

/// Returns when both ranks have come here: the memory of either serves the other until then.
void awaitBoth(std::atomic<int> &present) {
  for (++present; present.load() < 2;)
    std::this_thread::yield();
}

} // namespace

TEST(Channel, MessagesArriveInOrderThroughFewBuffers) {
  for (size_t depth : {0, 1, 2, 3}) {
    SCOPED_TRACE("depth " + std::to_string(depth));
    SharedMemoryWorld world({2, 2});
    std::vector<double> storage(depth);
    std::vector<void *> buffers;
    for (double &slot : storage)
      buffers.push_back(&slot);
    SharedMemoryChannel channel(world, "channel 0", 0, 1, buffers);
    std::vector<double> got;
    test::onRanks(2, [&](int64_t rank) {
      double value = 0;
      sendInOrder(channel, rank, value, 500, got);
    });
    expectInOrder(got, 500);
  }
}

// The same between processes, which see each other's memory at addresses of their own.
TEST(Channel, MessagesCrossProcesses) {
  for (size_t depth : {0, 1, 3}) {
    SCOPED_TRACE("depth " + std::to_string(depth));
    test::MappedRanks mapped(2, 4096);
    std::vector<double> got;
    std::atomic<int> present{0};
    test::onRanks(2, [&](int64_t rank) {
      SharedMemoryWorld world({2, 2}, mapped.world(rank));
      sendMapped(mapped, world, rank, depth, 500, got);
      awaitBoth(present);
    });
    expectInOrder(got, 500);
  }
}

TEST(Channel, MessagesCrossMachines) {
  for (size_t depth : {0, 1, 3}) {
    SCOPED_TRACE("depth " + std::to_string(depth));
    test::MappedRanks here(2, 4096), there(2, 4096);
    const test::MappedRanks *machines[] = {&here, &there};
    Socket listeners[] = {listenOnPort(0), listenOnPort(0)};
    uint16_t ports[] = {portOf(listeners[0]), portOf(listeners[1])};
    MemoryServer serverHere(here.whole(1), std::move(listeners[0]), "key");
    MemoryServer serverThere(there.whole(0), std::move(listeners[1]), "key");
    std::vector<double> got;
    std::atomic<int> present{0};
    test::onRanks(2, [&](int64_t rank) {
      const test::MappedRanks &mapped = *machines[rank];
      SharedMemoryWorld world({2, 2}, mapped.world(rank));
      RemoteMemory far(mapped.whole(rank), "127.0.0.1", ports[1 - rank], "key", [&] { return world.aborted(); });
      sendMapped(mapped, world, rank, depth, 300, got, &far);
      awaitBoth(present);
    });
    expectInOrder(got, 300);
  }
}

TEST(RemoteMemory, StrangersAndWrongRequestsAreShownOut) {
  std::vector<std::byte> memory(4096), mine(8192);
  Socket listener = listenOnPort(0);
  uint16_t port = portOf(listener);
  MemoryServer server(memory, std::move(listener), "the right key");
  auto errorOfFetch = [&](const std::string &key, size_t at) -> std::string {
    try {
      // When it is shown out it asks whether the job is over; not at once, but soon it is.
      RemoteMemory remote(mine, "127.0.0.1", port, key, [asked = 0]() mutable { return ++asked > 20; });
      remote.fetch(mine.data() + at, 64);
    } catch (const JobAborted &) {
      return "shown out";
    }
    return "fetched";
  };
  EXPECT_EQ(errorOfFetch("the right key", 0), "fetched");
  EXPECT_EQ(errorOfFetch("the wrong key", 0), "shown out");
  EXPECT_EQ(errorOfFetch("the right key", 4090), "shown out") << "beyond its end";
  EXPECT_EQ(errorOfFetch("the right key", 4032), "fetched");
}

TEST(WaitPlace, IsSeenByOtherProcessesAndAbortReachesThem) {
  test::MappedRanks mapped(3, 4096);
  SharedMemoryWorld watching({3, 3}, mapped.world(2));
  SharedMemoryGroup seen(watching, "group 0", {0, 1, 2}, 0, mapped.arenas(2, {0, 1, 2}));
  std::string outcome;
  std::thread waits([&] {
    SharedMemoryWorld world({3, 3}, mapped.world(0));
    SharedMemoryGroup group(world, "group 0", {0, 1, 2}, 0, mapped.arenas(0, {0, 1, 2}));
    outcome = errorOf([&] { group.member(0).barrier(); });
  });
  while (!watching.waitsAt(0))
    std::this_thread::yield();
  EXPECT_EQ(watching.waitsAt(0)->name(), "group 0");
  EXPECT_EQ(watching.waitsAt(0)->missing(), (std::vector<int64_t>{1, 2}));
  watching.abort();
  waits.join();
  EXPECT_EQ(outcome, "aborted");
}

/// Lets `body` wait on a thread of its own until it is at a place; then ends the world and calls check(place).
static void whileWaiting(SharedMemoryWorld &world, int64_t waiter, const std::function<void()> &body,
                         const std::function<void(const WaitPlace &)> &check) {
  std::string outcome;
  std::thread thread([&] { outcome = errorOf(body); });
  while (!world.waitsAt(waiter))
    std::this_thread::yield();
  const WaitPlace *place = world.waitsAt(waiter);
  check(*place);
  world.abort();
  thread.join();
  EXPECT_EQ(outcome, "aborted");
  EXPECT_EQ(world.waitsAt(waiter), place) << "an aborted wait is remembered";
}

using Ranks = std::vector<int64_t>;

TEST(Channel, ASenderMayRunAheadByItsDepthOnly) {
  SharedMemoryWorld world({2, 2});
  double storage[2], value = 1;
  SharedMemoryChannel channel(world, "channel 3", 0, 1, {&storage[0], &storage[1]});
  channel.send(scalarView(value));
  channel.send(scalarView(value));
  EXPECT_EQ(world.waitsAt(0), nullptr);
  whileWaiting(
      world, 0, [&] { channel.send(scalarView(value)); },
      [](const WaitPlace &place) {
        EXPECT_EQ(place.name(), "channel 3, whose 2 message buffers are full,");
        EXPECT_EQ(place.missing(), Ranks{1});
      });
}

TEST(WaitPlace, NamesTheMissingMembers) {
  SharedMemoryWorld world({8, 4});
  SharedMemoryGroup group(world, "group 2 (tp)", {0, 1, 3}, /*firstWaiter=*/4);
  whileWaiting(
      world, 5, [&] { group.member(1).barrier(); },
      [](const WaitPlace &place) {
        EXPECT_EQ(place.name(), "group 2 (tp)");
        EXPECT_EQ(place.missing(), (Ranks{4, 7}));
      });
}

TEST(WaitPlace, NamesTheSilentSender) {
  SharedMemoryWorld world({2, 2});
  double storage, value;
  SharedMemoryChannel channel(world, "channel 0", 0, 1, {&storage});
  whileWaiting(
      world, 1, [&] { channel.receive(scalarView(value)); },
      [](const WaitPlace &place) {
        EXPECT_EQ(place.name(), "channel 0");
        EXPECT_EQ(place.missing(), Ranks{0});
      });
}

TEST(WaitPlace, IsLeftWhenTheWaitIsOver) {
  SharedMemoryWorld world({2, 2});
  SharedMemoryGroup group(world, "group 0", {0, 1});
  std::thread thread([&] { group.member(0).barrier(); });
  while (!world.waitsAt(0))
    std::this_thread::yield();
  group.member(1).barrier();
  thread.join();
  EXPECT_EQ(world.waitsAt(0), nullptr);
  EXPECT_EQ(world.totalProgress(), 0u);
  world.noteProgress(0), world.noteProgress(1), world.noteProgress(1);
  EXPECT_EQ(world.totalProgress(), 3u);
}

TEST(Abort, EndsEveryWaitPromptly) {
  SharedMemoryWorld world({4, 4});
  SharedMemoryGroup group(world, "group 0", {0, 1, 2});
  double storage, value = 0;
  SharedMemoryChannel channel(world, "channel 0", 3, 2, {&storage});
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
  EXPECT_LT(secondsSince(aborted), 10) << "by the abort, not by a wait's own end: waits have none";
  EXPECT_EQ(errorOf([&] { channel.receive(scalarView(value)); }), "aborted") << "a later wait ends as well";
}
