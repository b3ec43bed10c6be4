//===- EmulatedDeviceTest.cpp - order, missed waits, graphs -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the emulated device lets pass gives right numbers on a GPU, so it must refuse what
// would not: each refusal here is a program that a GPU runs, mostly rightly.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/EmulatedDevice.h"
#include "runtime/plan/Error.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>

using namespace tgpt::runtime;

namespace {
std::string errorOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

/// A device with two streams, some floats on it and some pinned.
class EmulatedDeviceTest : public testing::Test {
protected:
  static constexpr size_t count = 16, bytes = count * sizeof(float);
  EmulatedDeviceTest() {
    device.select(0);
    a = device.createStream("a");
    b = device.createStream("b");
    event = device.createEvent();
    x = static_cast<float *>(device.allocate(bytes));
    y = static_cast<float *>(device.allocate(bytes));
    host = static_cast<float *>(device.allocateHost(bytes));
  }
  /// y[i] = x[i] + 1, as a kernel would be launched.
  void addOne(DeviceStream stream) {
    DeviceAccess accesses[] = {{x, bytes, false}, {y, bytes, true}};
    device.issue(stream, "add_one", accesses, [this] {
      for (size_t i = 0; i < count; ++i)
        y[i] = x[i] + 1;
    });
  }
  void setHost(float value) {
    device.touch(host, bytes, true);
    std::fill(host, host + count, value);
  }
  float read(DeviceStream stream) {
    device.copy(stream, host, y, bytes);
    device.synchronize(stream);
    device.touch(host, bytes, false);
    return host[count - 1];
  }

  EmulatedDevice device{{.devices = 2}};
  DeviceStream a, b;
  DeviceEvent event;
  float *x, *y, *host;
};
} // namespace

TEST_F(EmulatedDeviceTest, StreamsRunInOrder) {
  setHost(2);
  device.copy(a, x, host, bytes);
  addOne(a);
  EXPECT_EQ(read(a), 3);
}

TEST_F(EmulatedDeviceTest, NothingRunsBeforeTheHostWaits) {
  device.fill(a, x, 0, bytes);
  device.fill(a, y, 0, bytes);
  device.record(event, a);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(std::isnan(y[0])) << "fresh memory is NaN, and the fill has not begun";
  while (!device.isDone(event))
    std::this_thread::yield();
  EXPECT_EQ(y[0], 0);
}

TEST_F(EmulatedDeviceTest, AnEventOrdersTwoStreams) {
  setHost(2);
  device.copy(a, x, host, bytes);
  device.record(event, a);
  device.wait(b, event);
  addOne(b);
  EXPECT_EQ(read(b), 3);
}

TEST_F(EmulatedDeviceTest, AMissingWaitIsFound) {
  setHost(2);
  device.copy(a, x, host, bytes);
  EXPECT_EQ(errorOf([&] { addOne(b); }),
            "'add_one' in stream 'b' reads bytes that 'copy' in stream 'a' writes, and no event orders them");
}

TEST_F(EmulatedDeviceTest, AnEventThatIsRecordedTooEarlyOrdersNothingAfterIt) {
  device.record(event, a);
  device.fill(a, x, 0, bytes);
  device.wait(b, event);
  EXPECT_NE(errorOf([&] { addOne(b); }), "no error");
}

TEST_F(EmulatedDeviceTest, AWriteAfterReadIsFound) {
  device.fill(a, x, 0, bytes);
  addOne(a);
  EXPECT_EQ(errorOf([&] { device.fill(b, x, 1, bytes); }),
            "'fill' in stream 'b' writes bytes that 'add_one' in stream 'a' reads, and no event orders them");
}

TEST_F(EmulatedDeviceTest, TwoReadsNeedNoOrder) {
  device.fill(a, x, 0, bytes);
  device.record(event, a);
  device.wait(b, event);
  DeviceAccess reads{x, bytes, false};
  device.issue(a, "r", {&reads, 1}, [] {});
  device.issue(b, "r", {&reads, 1}, [] {});
  // The read of a is still known behind the one of b that covers it.
  EXPECT_NE(errorOf([&] { device.fill(b, x, 1, bytes); }), "no error");
}

TEST_F(EmulatedDeviceTest, NeighboursDoNotMeet) {
  device.fill(a, x, 0, bytes / 2);
  device.fill(b, x + count / 2, 0, bytes / 2);
  EXPECT_NE(errorOf([&] { device.fill(b, x + count / 2 - 1, 0, sizeof(float)); }), "no error");
}

TEST_F(EmulatedDeviceTest, OrderGoesThroughAThirdStream) {
  DeviceStream c = device.createStream("c");
  DeviceEvent second = device.createEvent();
  device.fill(a, x, 0, bytes);
  device.record(event, a);
  device.wait(b, event);
  device.record(second, b);
  device.wait(c, second);
  addOne(c);
  EXPECT_EQ(read(c), 1);
}

TEST_F(EmulatedDeviceTest, AWaitOfTheHostOrdersAllThatComesLater) {
  device.fill(a, x, 0, bytes);
  device.synchronize(a);
  addOne(b);
  EXPECT_EQ(read(b), 1);
}

TEST_F(EmulatedDeviceTest, PinnedMemoryIsNotFreeBeforeItsCopyIsDone) {
  setHost(2);
  device.copy(a, x, host, bytes);
  EXPECT_EQ(errorOf([&] { device.touch(host, bytes, true); }),
            "the host writes bytes that 'copy' in stream 'a' reads, and has not waited for it");
  device.touch(host, bytes, false);
  device.synchronize(a);
  device.touch(host, bytes, true);
}

TEST_F(EmulatedDeviceTest, BytesOutsideOfAnAllocationAreRefused) {
  EXPECT_NE(errorOf([&] { device.fill(a, x, 0, bytes + 1); }), "no error");
  float unpinned[count];
  EXPECT_NE(errorOf([&] { device.copy(a, x, unpinned, bytes); }), "no error");
  device.copyNow(x, unpinned, bytes);
}

TEST_F(EmulatedDeviceTest, WorkThatFailsStopsTheDevice) {
  device.issue(a, "broken", {}, [] { throw Error("it broke"); });
  bool hasRun = false;
  device.issue(a, "later", {}, [&] { hasRun = true; });
  EXPECT_EQ(errorOf([&] { device.synchronize(a); }), "it broke");
  device.drain(a);
  EXPECT_FALSE(hasRun);
  EXPECT_EQ(errorOf([&] { device.synchronize(b); }), "it broke") << "as a GPU's context, it is lost";
  device.select(1);
  DeviceStream other = device.createStream("other");
  device.synchronize(other);
}

TEST_F(EmulatedDeviceTest, MemoryIsLimited) {
  EmulatedDevice small({.devices = 1, .bytesPerDevice = 1000});
  small.select(0);
  small.allocate(600);
  EXPECT_EQ(errorOf([&] { small.allocate(600); }), "out of memory: 600 bytes asked for, 400 are free");
}

namespace {
class EmulatedGraphTest : public EmulatedDeviceTest {
protected:
  /// x = host; y = x + 1 on another branch.
  void captureTwoBranches() {
    device.copy(a, x, host, bytes);
    device.record(event, a);
    device.wait(b, event);
    addOne(b);
    device.record(back, b);
  }
  DeviceEvent back = device.createEvent();
};
} // namespace

TEST_F(EmulatedGraphTest, ReplaysWhatWasCaptured) {
  device.beginCapture(a);
  captureTwoBranches();
  device.wait(a, back);
  DeviceGraph graph = device.endCapture(a);
  EXPECT_TRUE(std::isnan(y[0]));
  for (float value : {1.0f, 5.0f, 9.0f}) {
    setHost(value);
    device.launch(a, graph);
    EXPECT_EQ(read(a), value + 1) << "the same copies and kernels, on what is there now";
  }
  device.fill(b, x, 0, bytes); // not captured any more
  device.synchronize(b);
  EXPECT_EQ(x[0], 0);
}

TEST_F(EmulatedGraphTest, TwoLaunchesFollowEachOther) {
  device.fill(a, y, 0, bytes);
  device.beginCapture(a);
  DeviceAccess access{y, bytes, true};
  device.issue(a, "increment", {&access, 1}, [this] { y[0] += 1; });
  DeviceGraph graph = device.endCapture(a);
  device.launch(a, graph);
  device.launch(a, graph);
  device.synchronize(a);
  EXPECT_EQ(y[0], 2);
}

TEST_F(EmulatedGraphTest, ABranchThatIsNotWaitedForIsRefused) {
  device.beginCapture(a);
  captureTwoBranches();
  EXPECT_EQ(errorOf([&] { device.endCapture(a); }),
            "the capture of stream 'a' ends, but it has not waited for the work of stream 'b'");
  device.abandonCapture(a);
  device.synchronize(b);
}

TEST_F(EmulatedGraphTest, AnEventFromOutsideIsRefused) {
  device.record(event, b);
  device.beginCapture(a);
  EXPECT_EQ(errorOf([&] { device.wait(a, event); }),
            "stream 'a' is captured, but waits for an event of stream 'b' that is not in the capture");
  device.abandonCapture(a);
}

TEST_F(EmulatedGraphTest, AnEventOfACaptureThatHasEndedIsRefused) {
  device.beginCapture(a);
  device.record(event, a);
  DeviceGraph graph = device.endCapture(a);
  EXPECT_EQ(errorOf([&] { device.wait(b, event); }),
            "stream 'b' waits for an event of stream 'a' that was recorded in a capture, which has ended");
  device.launch(a, graph);
  device.synchronize(a);
}

TEST_F(EmulatedGraphTest, WaitingAndAllocatingAreRefusedInACapture) {
  device.beginCapture(a);
  device.record(event, a);
  EXPECT_NE(errorOf([&] { device.synchronize(a); }), "no error");
  EXPECT_NE(errorOf([&] { device.isDone(event); }), "no error");
  EXPECT_NE(errorOf([&] { device.allocate(1); }), "no error");
  EXPECT_NE(errorOf([&] { device.copyNow(x, host, bytes); }), "no error");
  device.abandonCapture(a);
}

// The branches of a graph are streams: what they lack in order is found at each launch.
TEST_F(EmulatedGraphTest, AMissingWaitWithinAGraphIsFound) {
  device.beginCapture(a);
  device.record(event, a);
  device.wait(b, event);
  device.copy(a, x, host, bytes);
  addOne(b);
  device.record(back, b);
  device.wait(a, back);
  DeviceGraph graph = device.endCapture(a);
  EXPECT_EQ(errorOf([&] { device.launch(a, graph); }),
            "'add_one' in stream 'b' reads bytes that 'copy' in stream 'a' writes, and no event orders them");
}

/// What a GPU may never get out of: loading a kernel's code, or making a graph, waits for a stream whose message does
/// not come before this rank goes on.
TEST_F(EmulatedDeviceTest, WhileAStreamWaitsForAnotherRankNothingNewBegins) {
  auto use = [&](std::string_view kernel) {
    DeviceAccess access{y, bytes, true};
    device.issueKernel(a, kernel, {&access, 1}, [this] { std::fill(y, y + count, 1.0f); });
  };
  use("known");
  device.letWaitForRanks(b);
  use("late"); // nothing is in that stream yet
  device.fill(b, x, 0, bytes);
  use("known");
  use("late");
  EXPECT_EQ(errorOf([&] { use("new"); }), "kernel 'new' is used for the first time while stream 'b' waits for another "
                                          "rank: a GPU that loads its code may wait for all streams");
  EXPECT_EQ(errorOf([&] { device.beginCapture(a); }),
            "a capture of stream 'a' begins while stream 'b' waits for another rank: a GPU may wait for all streams to "
            "make a graph of it");
  device.synchronize(b);
  use("another");
  device.beginCapture(a);
  use("known");
  device.destroy(device.endCapture(a));
}
