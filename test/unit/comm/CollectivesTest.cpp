//===- CollectivesTest.cpp - collectives against their definition -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random shapes, dimensions, dtypes and group sizes. The expected output is
// computed element by element from the definition, in member order, so every
// comparison is exact. bf16 and f16 are added in f32 and rounded once.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/BlockCopy.h"
#include "runtime/kernels/api/SumTree.h"
#include "test/unit/comm/DrawnCollective.h"
#include "test/unit/comm/GroupOfRanks.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <tuple>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {

constexpr DrawLimits limits;

/// What the definition says about element `i` of the reduced tensor.
template <typename T, typename A, typename Widen, typename Narrow>
void reduceElement(const HostTensors &inputs, int64_t i, Reduction reduction, HostTensor &into, int64_t to, Widen widen,
                   Narrow narrow) {
  A result = widen(inputs[0].view.as<T>()[i]);
  if (reduction == Reduction::TreeSum) {
    result = sumScalarsInTree<A>(static_cast<int64_t>(inputs.size()),
                                 [&](int64_t m) { return A(widen(inputs[m].view.as<T>()[i])); });
    into.view.as<T>()[to] = narrow(result);
    return;
  }
  for (size_t m = 1; m < inputs.size(); ++m) {
    A x = widen(inputs[m].view.as<T>()[i]);
    result = reduction == Reduction::Sum ? A(result + x) : std::max(result, x);
  }
  into.view.as<T>()[to] = narrow(result);
}

void reduceElement(const HostTensors &inputs, int64_t i, Reduction reduction, HostTensor &into, int64_t to) {
  auto same = [](auto x) { return x; };
  switch (into.view.dtype) {
  case DType::F64: return reduceElement<double, double>(inputs, i, reduction, into, to, same, same);
  case DType::F32: return reduceElement<float, float>(inputs, i, reduction, into, to, same, same);
  case DType::BF16:
    return reduceElement<BFloat16, float>(
        inputs, i, reduction, into, to, [](BFloat16 x) { return toFloat(x); }, [](float x) { return toBFloat16(x); });
  case DType::F16:
    return reduceElement<Float16, float>(
        inputs, i, reduction, into, to, [](Float16 x) { return toFloat(x); }, [](float x) { return toFloat16(x); });
  case DType::I32:
    // A wide sum, cut to 32 bits, is the wrapping sum.
    return reduceElement<int32_t, int64_t>(
        inputs, i, reduction, into, to, [](int32_t x) { return int64_t(x); }, [](int64_t x) { return int32_t(x); });
  }
}

TensorIndex indexOf(const TensorView &tensor, int64_t flat) {
  TensorIndex index{};
  for (int i = tensor.rank - 1; i >= 0; flat /= tensor.shape[i--])
    index[i] = flat % tensor.shape[i];
  return index;
}

int64_t flatOf(const TensorView &tensor, const TensorIndex &index) {
  int64_t flat = 0;
  for (size_t i = 0; i < tensor.rank; ++i)
    flat = flat * tensor.shape[i] + index[i];
  return flat;
}

void fillWithReals(HostTensors &tensors, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (HostTensor &tensor : tensors)
    tensor.fill([&] { return normal(random); });
}

using SeedAndWay = std::tuple<uint64_t, Way>;
class RandomCollective : public testing::TestWithParam<SeedAndWay> {
protected:
  uint64_t seed() const { return std::get<0>(GetParam()); }
  Way way() const { return std::get<1>(GetParam()); }
};

} // namespace

TEST_P(RandomCollective, AllReduce) {
  DrawnCollective c(seed(), limits);
  Reduction reduction = std::array{Reduction::Sum, Reduction::Max, Reduction::TreeSum}[c.random() % 3];
  HostTensors inputs = c.reals(c.shape);
  HostTensor expected(c.dtype, c.shape);
  for (int64_t i = 0; i < expected.view.elements(); ++i)
    reduceElement(inputs, i, reduction, expected, i);
  HostTensors outputs = run(way(), inputs, c.shape, [&](Communicator &member, TensorView input, TensorView output) {
    member.allReduce(input, output, reduction);
  });
  for (const HostTensor &output : outputs)
    EXPECT_EQ(output, expected);
  // In place.
  HostTensors buffers = inputs;
  run(way(), buffers, c.shape,
      [&](Communicator &member, TensorView buffer, TensorView) { member.allReduce(buffer, buffer, reduction); });
  for (const HostTensor &buffer : buffers)
    EXPECT_EQ(buffer, expected);
}

TEST_P(RandomCollective, AllGather) {
  DrawnCollective c(seed(), limits);
  HostTensors inputs = c.reals(c.shape);
  std::vector<int64_t> joined = c.joinedAlong(c.dim);
  HostTensor expected(c.dtype, joined);
  size_t element = sizeInBytes(c.dtype);
  for (int64_t i = 0; i < expected.view.elements(); ++i) {
    TensorIndex index = indexOf(expected.view, i);
    const HostTensor &from = inputs[index[c.dim] / c.shape[c.dim]];
    index[c.dim] %= c.shape[c.dim];
    std::memcpy(&expected.bytes[i * element], &from.bytes[flatOf(from.view, index) * element], element);
  }
  for (const HostTensor &output :
       run(way(), inputs, joined,
           [&](Communicator &member, TensorView input, TensorView output) { member.allGather(input, output, c.dim); }))
    EXPECT_EQ(output, expected);
}

TEST_P(RandomCollective, ReduceScatter) {
  DrawnCollective c(seed(), limits);
  std::vector<int64_t> whole = c.joinedAlong(c.dim);
  HostTensors inputs = c.reals(whole);
  Reduction reduction = c.random() % 2 ? Reduction::Sum : Reduction::TreeSum;
  HostTensors outputs = run(way(), inputs, c.shape, [&](Communicator &member, TensorView input, TensorView output) {
    member.reduceScatter(input, output, c.dim, reduction);
  });
  for (int64_t m = 0; m < c.size; ++m) {
    HostTensor expected(c.dtype, c.shape);
    for (int64_t i = 0; i < expected.view.elements(); ++i) {
      TensorIndex index = indexOf(expected.view, i);
      index[c.dim] += m * c.shape[c.dim];
      reduceElement(inputs, flatOf(inputs[0].view, index), reduction, expected, i);
    }
    EXPECT_EQ(outputs[m], expected) << "member " << m;
  }
}

TEST_P(RandomCollective, AllToAll) {
  DrawnCollective c(seed(), limits);
  std::vector<int64_t> from = c.joinedAlong(c.dim), to = c.joinedAlong(c.dim2);
  HostTensors inputs = c.reals(from);
  HostTensors outputs = run(way(), inputs, to, [&](Communicator &member, TensorView input, TensorView output) {
    member.allToAll(input, output, c.dim, c.dim2);
  });
  size_t element = sizeInBytes(c.dtype);
  for (int64_t m = 0; m < c.size; ++m) {
    HostTensor expected(c.dtype, to);
    for (int64_t i = 0; i < expected.view.elements(); ++i) {
      TensorIndex index = indexOf(expected.view, i);
      int64_t source = index[c.dim2] / c.shape[c.dim2];
      index[c.dim2] %= c.shape[c.dim2];
      index[c.dim] += m * c.shape[c.dim];
      std::memcpy(&expected.bytes[i * element], &inputs[source].bytes[flatOf(inputs[0].view, index) * element],
                  element);
    }
    EXPECT_EQ(outputs[m], expected) << "member " << m;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCollective,
                         testing::Combine(testing::Range<uint64_t>(0, 60),
                                          testing::Values(Way::Threads, Way::Processes, Way::Machines)));

TEST(Collectives, GatherAndScatterInPlaceAlongTheFirstDimension) {
  HostTensors buffers(3, HostTensor(DType::F64, {6, 2}));
  fillWithReals(buffers, 5);
  HostTensors before = buffers;
  SharedMemoryWorld world({3, 3});
  SharedMemoryGroup group(world, "group 0", {0, 1, 2});
  onRanks(3, [&](int64_t m) {
    TensorView part = buffers[m].view;
    part.shape[0] = 2;
    part.data = buffers[m].view.as<double>() + m * 4;
    group.member(m).reduceScatter(buffers[m].view, part, 0);
    group.member(m).allGather(part, buffers[m].view, 0);
  });
  for (const HostTensor &buffer : buffers)
    for (int64_t i = 0; i < 12; ++i)
      EXPECT_EQ(buffer.view.as<double>()[i],
                (before[0].view.as<double>()[i] + before[1].view.as<double>()[i]) + before[2].view.as<double>()[i]);
}

TEST(Collectives, ANaNStaysUnderMax) {
  double nan = std::nan("");
  for (int holder = 0; holder < 3; ++holder) {
    HostTensors inputs(3, HostTensor(DType::F64, {1}));
    for (int m = 0; m < 3; ++m)
      inputs[m].view.as<double>()[0] = m == holder ? nan : m;
    for (const HostTensor &output :
         run(Way::Threads, inputs, {1}, [](Communicator &member, TensorView input, TensorView output) {
           member.allReduce(input, output, Reduction::Max);
         }))
      EXPECT_TRUE(std::isnan(output.view.as<double>()[0])) << "NaN on member " << holder;
  }
}

// Sums that depend on their order in the last bits, with members arriving at random times.
TEST(Collectives, TimingDoesNotChangeTheBits) {
  HostTensors inputs(5, HostTensor(DType::F32, {1000}));
  fillWithReals(inputs, 9);
  HostTensors first;
  for (int repeat = 0; repeat < 20; ++repeat) {
    HostTensors outputs =
        run(Way::Threads, inputs, {1000}, [&](Communicator &member, TensorView input, TensorView output) {
          std::this_thread::sleep_for(std::chrono::microseconds((member.index() * 7 + repeat * 3) % 5 * 100));
          member.allReduce(input, output, Reduction::Sum);
        });
    if (repeat == 0)
      first = outputs;
    for (int m = 0; m < 5; ++m)
      EXPECT_EQ(outputs[m], first[0]);
  }
}

TEST(Collectives, ManyMembersManyTimes) {
  // 64 threads on few cores: meetings block instead of spinning.
  constexpr int64_t ranks = 64;
  SharedMemoryWorld world({ranks, ranks});
  SharedMemoryGroup group(world, "group 0", firstRanks(ranks));
  std::vector<int64_t> wrong(ranks);
  onRanks(ranks, [&](int64_t rank) {
    HostTensor x(DType::I32, {3});
    for (int32_t repeat = 0; repeat < 50; ++repeat) {
      std::fill_n(x.view.as<int32_t>(), 3, static_cast<int32_t>(rank) + repeat);
      group.member(rank).allReduce(x.view, x.view, Reduction::Sum);
      wrong[rank] += x.view.as<int32_t>()[2] != 63 * 64 / 2 + 64 * repeat;
      world.noteProgress(rank);
    }
  });
  EXPECT_EQ(wrong, std::vector<int64_t>(ranks));
}
