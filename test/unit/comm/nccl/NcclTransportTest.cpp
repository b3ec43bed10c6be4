//===- NcclTransportTest.cpp - a plan's groups and channels by NCCL -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Twelve rank threads on emulated devices: dp 2, pp 3, tp 2, with groups along one axis, two
// axes and some stages, and channels both ways. Values are powers of two, so that a sum says
// who took part.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/NcclTransport.h"
#include "runtime/comm/SharedMemoryWorld.h"
#include "runtime/comm/nccl/emulation/EmulatedNccl.h"
#include "runtime/device/EmulatedDevice.h"
#include "runtime/plan/Error.h"
#include "test/unit/comm/RankThreads.h"
#include "test/unit/comm/nccl/DeviceTensor.h"

#include <chrono>
#include <gtest/gtest.h>
#include <numeric>

using namespace tgpt;
using namespace tgpt::runtime;
using test::DeviceTensor;
using test::HostTensor;

namespace {
plan::Group groupOf(std::vector<std::string> axes, std::vector<int64_t> stages = {}) {
  plan::Group group;
  for (const std::string &axis : axes)
    group.add_axes(axis);
  for (int64_t stage : stages)
    group.add_stages(stage);
  return group;
}

/// What a transport looks at of a plan.
plan::Plan makePlan(int64_t dp, int64_t pp, int64_t tp) {
  plan::Plan plan;
  for (auto [name, size] : {std::pair<const char *, int64_t>("dp", dp), {"pp", pp}, {"tp", tp}}) {
    plan.mutable_mesh()->add_axes()->set_name(name);
    plan.mutable_mesh()->mutable_axes()->rbegin()->set_size(size);
  }
  plan.add_locations("unknown");
  plan.add_locations("model.mlir:7:3 linear");
  for (int64_t stage = 0; stage < pp; ++stage) {
    plan.add_stages()->set_stage(stage);
    plan.mutable_stages()->rbegin()->add_segments()->set_name("forward");
  }
  return plan;
}

plan::Instruction &addCollective(plan::Plan &plan, int stage, uint32_t group, uint32_t event = 0) {
  plan::Instruction &added = *plan.mutable_stages(stage)->mutable_segments(0)->add_instructions();
  added.set_kind(plan::Instruction::ALL_REDUCE);
  added.set_opcode("sum");
  added.set_group(group);
  added.set_event(event);
  added.set_location(1);
  return added;
}

plan::Plan makeGrid() {
  plan::Plan plan = makePlan(2, 3, 2);
  *plan.add_groups() = groupOf({"tp"});
  *plan.add_groups() = groupOf({"dp"});
  *plan.add_groups() = groupOf({"dp", "tp"});
  *plan.add_groups() = groupOf({"pp"}, {0, 2});
  *plan.add_groups() = groupOf({"tp"}); // used by nothing
  addCollective(plan, 0, 0);
  addCollective(plan, 1, 1);
  addCollective(plan, 1, 0, 3);
  addCollective(plan, 2, 2);
  addCollective(plan, 2, 3);
  for (auto [from, to] : {std::pair(0, 1), {1, 2}, {2, 1}, {1, 1}, {0, 2}}) {
    plan.add_channels()->set_from_stage(from);
    plan.mutable_channels()->rbegin()->set_to_stage(to);
  }
  return plan;
}

struct World {
  explicit World(plan::Plan given, int deviceCount = 64)
      : plan(std::move(given)), grid(plan.mesh()), device({.devices = deviceCount}),
        world({grid.ranks(), grid.ranks()}) {
    std::vector<int64_t> ranks(grid.ranks());
    std::iota(ranks.begin(), ranks.end(), 0);
    transport = makeNcclTransport({plan, grid, device, ranks, {ranks.begin(), ranks.end()}, world, nullptr}, &nccl);
  }
  /// body(rank, its ends, a stream, a word in its device), on a thread for each rank.
  void onRanks(const std::function<void(int64_t, const DeviceEndpoints &, DeviceStream, DeviceTensor &)> &body) {
    test::onRanks(grid.ranks(), [&](int64_t rank) {
      device.select(static_cast<int>(rank));
      DeviceStream stream = device.createStream("compute");
      {
        HostTensor host(DType::F64, {});
        host.set(0, double(1 << rank));
        DeviceTensor word(device, host);
        body(rank, transport->of(rank), stream, word);
        values[rank] = host.get(0);
      }
      device.destroy(stream);
    });
  }

  plan::Plan plan;
  RankGrid grid;
  EmulatedDevice device;
  SharedMemoryWorld world;
  EmulatedNccl nccl;
  std::unique_ptr<DeviceTransport> transport;
  std::vector<double> values = std::vector<double>(64);
};

std::string refusalOf(const plan::Plan &plan) {
  try {
    checkNcclPlan(plan, RankGrid(plan.mesh()));
    return "none";
  } catch (const Error &error) {
    return error.what();
  }
}
} // namespace

TEST(NcclTransport, GroupsHaveTheMembersOfThePlan) {
  World w(makeGrid());
  for (auto [g, slots] : {std::pair(0, &DeviceEndpoints::groups),
                          {1, &DeviceEndpoints::groups},
                          {2, &DeviceEndpoints::groups},
                          {3, &DeviceEndpoints::groups},
                          {0, &DeviceEndpoints::startedGroups}}) {
    const plan::Group &group = w.plan.groups(g);
    auto isIn = [&](int64_t rank) { return g != 3 || w.grid.stageOf(rank) != 1; };
    w.onRanks([&](int64_t rank, const DeviceEndpoints &ends, DeviceStream stream, DeviceTensor &word) {
      DeviceCommunicator *own = (ends.*slots)[g];
      ASSERT_EQ(own != nullptr, isIn(rank));
      if (!own)
        return;
      own->allReduce(stream, word.view, word.view, Reduction::Sum);
      w.device.synchronize(stream);
      word.download();
    });
    for (int64_t rank = 0; rank < w.grid.ranks(); ++rank) {
      double expected = 0;
      for (int64_t member : isIn(rank) ? w.grid.groupMembers(group, rank) : std::vector<int64_t>{rank})
        expected += double(1 << member);
      EXPECT_EQ(w.values[rank], expected) << "group " << g << ", rank " << rank;
    }
  }
  EXPECT_EQ(w.transport->of(0).groups[4], nullptr);
  EXPECT_EQ(w.transport->of(0).startedGroups[1], nullptr);
  // One communicator of all ranks; tp twice, dp, dp and tp; stages 0 and 2; and channels, each rank's end counted.
  EXPECT_EQ(w.nccl.openCommunicators(), 12 + 4 * 12 + 8 + 4 * 8);
  w.transport.reset();
  EXPECT_EQ(w.nccl.openCommunicators(), 0);
  EXPECT_EQ(w.nccl.misuses(), std::vector<std::string>());
}

TEST(NcclTransport, ChannelsJoinEqualCoordinatesOfTwoStages) {
  World w(makeGrid());
  for (int c : {0, 1, 2, 4}) {
    const plan::Channel &channel = w.plan.channels(c);
    w.onRanks([&](int64_t rank, const DeviceEndpoints &ends, DeviceStream stream, DeviceTensor &word) {
      ASSERT_EQ(ends.senders[c] != nullptr, w.grid.stageOf(rank) == channel.from_stage());
      ASSERT_EQ(ends.receivers[c] != nullptr, w.grid.stageOf(rank) == channel.to_stage());
      if (ends.senders[c])
        ends.senders[c]->send(stream, word.view);
      if (ends.receivers[c])
        ends.receivers[c]->receive(stream, word.view);
      w.device.synchronize(stream);
      word.download();
    });
    for (int64_t rank = 0; rank < w.grid.ranks(); ++rank)
      if (w.grid.stageOf(rank) == channel.to_stage()) {
        EXPECT_EQ(w.values[rank], double(1 << w.grid.sameButStage(rank, channel.from_stage())));
      }
  }
  EXPECT_EQ(w.transport->of(2).senders[3], nullptr); // a rank's to itself is the engine's
}

/// As a job of which a rank is stuck: its peers wait in their streams, nothing is wrong for NCCL, the watchdog aborts.
TEST(NcclTransport, APeerThatDoesNotComeEndsByAnAbort) {
  World w(makeGrid());
  std::atomic<int> ended{0};
  std::thread watchdog([&] {
    for (int i = 0; i < 20000 && ended.load() < 11; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(ended.load(), 11); // all but rank 4
    for (int64_t rank = 0; rank < 12; ++rank)
      EXPECT_NO_THROW(w.transport->check(rank));
    w.world.abort();
    w.transport->abort();
  });
  w.onRanks([&](int64_t rank, const DeviceEndpoints &ends, DeviceStream stream, DeviceTensor &word) {
    if (rank % 2 == 1 && rank != 5) // 5 is in the tp group of rank 4
      ends.groups[0]->allReduce(stream, word.view, word.view, Reduction::Sum);
    if (rank % 2 == 0)
      ends.groups[0]->allReduce(stream, word.view, word.view, Reduction::Sum);
    DeviceEvent event = w.device.createEvent();
    w.device.record(event, stream);
    while (!w.device.isDone(event) && !w.world.aborted())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ended += w.world.aborted() ? 0 : 1;
    w.device.drain(stream);
    w.device.destroy(event);
  });
  watchdog.join();
  w.transport.reset();
  EXPECT_EQ(w.nccl.openCommunicators(), 0);
  EXPECT_EQ(w.nccl.misuses(), std::vector<std::string>());
}

TEST(NcclTransport, AnErrorOfACommunicatorNamesTheGroup) {
  plan::Plan plan = makePlan(1, 1, 2);
  *plan.add_groups() = groupOf({"tp"});
  addCollective(plan, 0, 0);
  World w(std::move(plan));
  std::string said;
  std::atomic<bool> isOver{false};
  w.onRanks([&](int64_t rank, const DeviceEndpoints &ends, DeviceStream stream, DeviceTensor &word) {
    ends.groups[0]->allReduce(stream, word.view, word.view, rank == 0 ? Reduction::Sum : Reduction::Max);
    DeviceEvent event = w.device.createEvent();
    w.device.record(event, stream);
    try {
      while (!w.device.isDone(event) && !isOver.load())
        if (rank == 0)
          w.transport->check(rank);
    } catch (const Error &error) {
      said = error.what();
      isOver.store(true);
      w.transport->abort();
    }
    w.device.drain(stream);
    w.device.destroy(event);
  });
  EXPECT_EQ(said, "group 0 (tp): NCCL says ncclInvalidUsage (rank 0 of the communicator does all_reduce sum of "
                  "1 f64, rank 1 does all_reduce max of 1 f64)");
}

TEST(NcclTransport, ARankThatCannotSetUpEndsTheOthers) {
  plan::Plan plan = makePlan(4, 1, 1);
  *plan.add_groups() = groupOf({"dp"});
  addCollective(plan, 0, 0);
  try {
    World w(plan, 3);
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "rank 3 (dp 3, pp 0, tp 0), setting up its communicators: there is no device 3, only 3");
  }
}

TEST(NcclTransport, OneRankNeedsNoLibrary) {
  plan::Plan plan = makePlan(1, 1, 1);
  *plan.add_groups() = groupOf({"tp"});
  addCollective(plan, 0, 0).set_opcode("tree_sum"); // of one addend
  World w(std::move(plan));
  w.onRanks([&](int64_t, const DeviceEndpoints &ends, DeviceStream stream, DeviceTensor &word) {
    ends.groups[0]->allReduce(stream, word.view, word.view, Reduction::Sum);
    w.device.synchronize(stream);
    word.download();
  });
  EXPECT_EQ(w.values[0], 1);
  EXPECT_EQ(w.nccl.openCommunicators(), 0);
}

TEST(NcclPlanCheck, RefusesWhatNcclCannotDo) {
  plan::Plan plan = makePlan(1, 1, 4);
  *plan.add_groups() = groupOf({"tp"});
  plan::Instruction &collective = addCollective(plan, 0, 0);
  EXPECT_EQ(refusalOf(plan), "none");
  collective.set_opcode("tree_sum");
  EXPECT_EQ(refusalOf(plan),
            "stage 0, segment 'forward', instruction 0 (model.mlir:7:3 linear): NCCL adds in an order "
            "of its own, but the plan asks for that of --reduction=canonical: compile it without, or run "
            "it on the CPU (--backend=cpu)");
  for (std::vector<int64_t> shape : {std::vector<int64_t>{4096, 8}, {4097, 8}}) {
    plan::Buffer &buffer = *plan.mutable_stages(0)->add_buffers();
    for (int64_t size : shape)
      buffer.add_shape(size);
  }
  collective.set_kind(plan::Instruction::ALL_GATHER);
  collective.set_opcode("");
  collective.set_dim(1);
  collective.add_inputs(0);
  EXPECT_EQ(refusalOf(plan), "none");
  collective.set_inputs(0, 1);
  EXPECT_EQ(refusalOf(plan),
            "stage 0, segment 'forward', instruction 0 (model.mlir:7:3 linear): a collective along "
            "dimension 1 is 4097 calls of NCCL, one for each run of elements, at most 4096 are made: use "
            "smaller micro-batches, or another sharding");
}
