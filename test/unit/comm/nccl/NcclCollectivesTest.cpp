//===- NcclCollectivesTest.cpp - NcclGroup against SharedMemoryGroup -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random shapes, dimensions, dtypes and group sizes, on an emulated device with emulated
// NCCL. Values are small integers, whose sums are exact in every dtype and order, so both
// transports must give the same bits; sums of reals are compared with f64 within the bound
// of n - 1 rounded additions.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/NcclGroup.h"
#include "runtime/comm/nccl/emulation/EmulatedNccl.h"
#include "runtime/device/EmulatedDevice.h"
#include "runtime/plan/Error.h"
#include "test/unit/comm/DrawnCollective.h"
#include "test/unit/comm/GroupOfThreads.h"
#include "test/unit/comm/nccl/DeviceTensor.h"

#include <atomic>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <thread>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {
constexpr DrawLimits limits{.members = 6, .extent = 6, .lengthFactor = 4000}; // several pieces of a staging area

/// HostTensors change where the call writes them.
template <typename Call> HostTensors runNccl(HostTensors &inputs, const std::vector<int64_t> &shape, const Call &call) {
  auto size = static_cast<int64_t>(inputs.size());
  EmulatedDevice device({.devices = static_cast<int>(size)});
  EmulatedNccl nccl;
  HostTensors outputs(inputs.size(), HostTensor(inputs[0].view.dtype, shape));
  NcclUniqueId id;
  EXPECT_EQ(nccl.uniqueId(&id), NcclResult::Success);
  onRanks(size, [&](int64_t m) {
    device.select(static_cast<int>(m));
    NcclCaller caller{nccl};
    NcclGroup group(size > 1 ? std::make_unique<NcclHandle>(caller, "group 0 (tp)", id, size, m) : nullptr, device);
    DeviceStream stream = device.createStream("compute");
    {
      DeviceTensor input(device, inputs[m]), output(device, outputs[m]);
      call(group, stream, input.view, output.view);
      device.synchronize(stream);
      input.download();
      output.download();
    }
    device.destroy(stream);
  });
  EXPECT_EQ(nccl.misuses(), std::vector<std::string>());
  EXPECT_EQ(nccl.openCommunicators(), 0);
  return outputs;
}

class NcclCollective : public testing::TestWithParam<uint64_t> {};
} // namespace

TEST_P(NcclCollective, AllReduce) {
  DrawnCollective c(GetParam(), limits);
  Reduction reduction = c.random() % 2 ? Reduction::Sum : Reduction::Max;
  HostTensors inputs = c.smallIntegers(c.shape), same = inputs, inPlace = inputs;
  HostTensors expected = runThreads(inputs, c.shape, [&](Communicator &member, TensorView input, TensorView output) {
    member.allReduce(input, output, reduction);
  });
  auto call = [&](NcclGroup &group, DeviceStream stream, TensorView input, TensorView output) {
    group.allReduce(stream, input, output, reduction);
  };
  EXPECT_EQ(runNccl(same, c.shape, call), expected);
  EXPECT_EQ(same, inputs);
  runNccl(inPlace, c.shape, [&](NcclGroup &group, DeviceStream stream, TensorView buffer, TensorView) {
    group.allReduce(stream, buffer, buffer, reduction);
  });
  EXPECT_EQ(inPlace, expected);
}

TEST_P(NcclCollective, AllGather) {
  DrawnCollective c(GetParam(), limits);
  std::vector<int64_t> joined = c.joinedAlong(c.dim);
  HostTensors inputs = c.smallIntegers(c.shape);
  HostTensors expected = runThreads(inputs, joined, [&](Communicator &member, TensorView input, TensorView output) {
    member.allGather(input, output, c.dim);
  });
  EXPECT_EQ(runNccl(inputs, joined,
                    [&](NcclGroup &group, DeviceStream stream, TensorView input, TensorView output) {
                      group.allGather(stream, input, output, c.dim);
                    }),
            expected);
}

TEST_P(NcclCollective, ReduceScatter) {
  DrawnCollective c(GetParam(), limits);
  std::vector<int64_t> whole = c.joinedAlong(c.dim);
  HostTensors inputs = c.smallIntegers(whole);
  HostTensors expected = runThreads(inputs, c.shape, [&](Communicator &member, TensorView input, TensorView output) {
    member.reduceScatter(input, output, c.dim);
  });
  EXPECT_EQ(runNccl(inputs, c.shape,
                    [&](NcclGroup &group, DeviceStream stream, TensorView input, TensorView output) {
                      group.reduceScatter(stream, input, output, c.dim, Reduction::Sum);
                    }),
            expected);
}

TEST_P(NcclCollective, AllToAll) {
  DrawnCollective c(GetParam(), limits);
  std::vector<int64_t> from = c.joinedAlong(c.dim), to = c.joinedAlong(c.dim2);
  HostTensors inputs = c.smallIntegers(from);
  HostTensors expected = runThreads(inputs, to, [&](Communicator &member, TensorView input, TensorView output) {
    member.allToAll(input, output, c.dim, c.dim2);
  });
  EXPECT_EQ(runNccl(inputs, to,
                    [&](NcclGroup &group, DeviceStream stream, TensorView input, TensorView output) {
                      group.allToAll(stream, input, output, c.dim, c.dim2);
                    }),
            expected);
}

/// n - 1 additions, each rounded to the dtype, in any order.
TEST_P(NcclCollective, SumsOfRealsAreWithinTheBoundOfTheirAdditions) {
  DrawnCollective c(GetParam(), limits);
  if (c.dtype == DType::I32)
    c.dtype = DType::F32;
  HostTensors inputs = c.reals(c.shape);
  HostTensors outputs =
      runNccl(inputs, c.shape, [&](NcclGroup &group, DeviceStream stream, TensorView in, TensorView out) {
        group.allReduce(stream, in, out, Reduction::Sum);
      });
  double unit = std::ldexp(1, c.dtype == DType::F64   ? -53
                              : c.dtype == DType::F32 ? -24
                              : c.dtype == DType::F16 ? -11
                                                      : -8);
  double factor = double(c.size - 1) * unit / (1 - double(c.size - 1) * unit);
  for (int64_t i = 0; i < outputs[0].view.elements(); ++i) {
    long double sum = 0, magnitude = 0;
    for (const HostTensor &input : inputs) {
      sum += input.get(i);
      magnitude += std::abs(input.get(i));
    }
    // f16 has subnormal results, off by half of the smallest number.
    double bound = factor * double(magnitude) + (c.dtype == DType::F16 ? double(c.size) * std::ldexp(1, -25) : 0);
    for (const HostTensor &output : outputs)
      ASSERT_LE(std::abs(double(output.get(i) - sum)), bound) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, NcclCollective, testing::Range<uint64_t>(0, 25));

TEST(NcclGroup, GatherAndScatterInPlaceAlongTheFirstDimension) {
  HostTensors inputs(3, HostTensor(DType::F32, {6, 2}));
  int next = 0;
  for (HostTensor &input : inputs)
    input.fill([&] { return ++next; });
  HostTensors expected = inputs;
  for (int64_t m = 0; m < 3; ++m)
    for (int64_t i = 0; i < 12; ++i)
      expected[m].set(i, inputs[i / 4].get(i));
  runNccl(inputs, {6, 2}, [](NcclGroup &group, DeviceStream stream, TensorView whole, TensorView) {
    TensorView own = whole;
    own.shape[0] = 2;
    own.data = whole.as<float>() + 4 * group.communicator()->index();
    group.allGather(stream, own, whole, 0);
  });
  EXPECT_EQ(inputs, expected);
  for (int64_t m = 0; m < 3; ++m) // now all hold the same: a sum of three
    for (int64_t i = 4 * m; i < 4 * m + 4; ++i)
      expected[m].set(i, 3 * expected[m].get(i));
  runNccl(inputs, {6, 2}, [](NcclGroup &group, DeviceStream stream, TensorView whole, TensorView) {
    TensorView own = whole;
    own.shape[0] = 2;
    own.data = whole.as<float>() + 4 * group.communicator()->index();
    group.reduceScatter(stream, whole, own, 0, Reduction::Sum);
  });
  EXPECT_EQ(inputs, expected);
}

/// "Whether an operation launch is graph-captured is considered a collective property": NCCL may hang otherwise.
TEST(NcclGroup, ACollectiveIsInAGraphOfAllMembersOrOfNone) {
  EmulatedDevice device({.devices = 2});
  EmulatedNccl nccl;
  NcclUniqueId id;
  ASSERT_EQ(nccl.uniqueId(&id), NcclResult::Success);
  std::vector<std::string> said(2);
  std::vector<NcclHandle *> handles(2);
  std::atomic<int> ready{0}, ended{0};
  onRanks(2, [&](int64_t m) {
    device.select(static_cast<int>(m));
    auto handle = std::make_unique<NcclHandle>(NcclCaller{nccl}, "group 0 (tp)", id, 2, m);
    handles[m] = handle.get();
    NcclGroup group(std::move(handle), device);
    DeviceStream stream = device.createStream("compute");
    TensorView word;
    word.dtype = DType::I32;
    word.data = device.allocate(word.bytes());
    device.fill(stream, word.data, 0, word.bytes());
    DeviceGraph graph;
    if (m == 0) {
      device.beginCapture(stream);
      group.allReduce(stream, word, word, Reduction::Sum);
      graph = device.endCapture(stream);
      device.launch(stream, graph);
    } else {
      group.allReduce(stream, word, word, Reduction::Sum);
    }
    DeviceEvent event = device.createEvent();
    device.record(event, stream);
    for (++ready; ready < 2;)
      std::this_thread::yield();
    while (said[m].empty() && !device.isDone(event))
      said[m] = handles[m]->asyncError().value_or("");
    for (++ended; ended < 2;)
      std::this_thread::yield();
    handles[m]->abort();
    device.drain(stream);
    device.destroy(graph);
    device.destroy(event);
    device.destroy(stream);
    device.release(word.data);
  });
  EXPECT_NE(
      said[0].find("rank 0 of the communicator does all_reduce sum of 1 i32 in a graph, rank 1 does all_reduce sum "
                   "of 1 i32"),
      std::string::npos)
      << said[0];
}

TEST(NcclGroup, AMaximumLeavesOutNaNs) {
  HostTensors inputs(2, HostTensor(DType::F32, {2}));
  inputs[0].set(0, NAN), inputs[0].set(1, 1), inputs[1].set(0, 5), inputs[1].set(1, 2);
  HostTensors outputs = runNccl(inputs, {2}, [](NcclGroup &group, DeviceStream stream, TensorView in, TensorView out) {
    group.allReduce(stream, in, out, Reduction::Max);
  });
  for (const HostTensor &output : outputs) {
    EXPECT_EQ(output.get(0), 5);
    EXPECT_EQ(output.get(1), 2);
  }
}

TEST(NcclGroup, ATreeSumIsRefused) {
  EmulatedDevice device({.devices = 1});
  NcclGroup group(nullptr, device);
  EXPECT_THROW(group.allReduce({}, {}, {}, Reduction::TreeSum), Error);
}
