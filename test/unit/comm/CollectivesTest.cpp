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
#include "runtime/comm/SharedMemoryGroup.h"
#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"
#include "runtime/kernels/api/SumTree.h"
#include "test/unit/comm/MappedRanks.h"
#include "test/unit/comm/RankThreads.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <tuple>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

/// A tensor that owns its bytes.
struct Tensor {
  Tensor(DType dtype, std::vector<int64_t> shape) {
    view.dtype = dtype;
    view.rank = static_cast<uint8_t>(shape.size());
    std::copy(shape.begin(), shape.end(), view.shape.begin());
    bytes.resize(view.bytes());
    view.data = bytes.data();
  }
  Tensor(const Tensor &other) : bytes(other.bytes), view(other.view) { view.data = bytes.data(); }
  bool operator==(const Tensor &other) const { return bytes == other.bytes; }

  void randomize(std::mt19937_64 &random) {
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < view.elements(); ++i)
      switch (view.dtype) {
      case DType::F64: view.as<double>()[i] = normal(random); break;
      case DType::F32: view.as<float>()[i] = static_cast<float>(normal(random)); break;
      case DType::BF16: view.as<BFloat16>()[i] = toBFloat16(static_cast<float>(normal(random))); break;
      case DType::F16: view.as<Float16>()[i] = toFloat16(static_cast<float>(normal(random))); break;
      case DType::I32: view.as<int32_t>()[i] = static_cast<int32_t>(random()); break;
      }
  }

  std::vector<std::byte> bytes;
  TensorView view;
};

/// What the definition says about element `i` of the reduced tensor.
template <typename T, typename A, typename Widen, typename Narrow>
void reduceElement(const std::vector<Tensor> &inputs, int64_t i, Reduction reduction, Tensor &into, int64_t to,
                   Widen widen, Narrow narrow) {
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

void reduceElement(const std::vector<Tensor> &inputs, int64_t i, Reduction reduction, Tensor &into, int64_t to) {
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

/// A random collective call of a group.
struct Case {
  explicit Case(uint64_t seed) : random(seed), size(1 + random() % 9), dtype(static_cast<DType>(random() % 5)) {
    for (uint64_t dims = 1 + random() % 4; dims > 0; --dims)
      shape.push_back(1 + random() % 7);
    dim = static_cast<int>(random() % shape.size());
    dim2 = static_cast<int>(random() % shape.size());
    if (shape.size() == 1)
      shape[0] *= 600; // several blocks of the reduction
  }

  std::vector<Tensor> inputs(const std::vector<int64_t> &of) {
    std::vector<Tensor> result;
    for (int64_t m = 0; m < size; ++m)
      result.emplace_back(dtype, of).randomize(random);
    return result;
  }

  std::mt19937_64 random;
  int64_t size;
  DType dtype;
  std::vector<int64_t> shape;
  int dim, dim2;
};

/// How ranks reach each other: as threads, as processes that have the same memory at addresses of their own, or as such
/// processes on two machines.
enum class Way { Threads, Processes, Machines };

std::vector<int64_t> firstRanks(int64_t count) {
  std::vector<int64_t> ranks(count);
  for (int64_t rank = 0; rank < count; ++rank)
    ranks[rank] = rank;
  return ranks;
}

/// Calls `call` with the view of each member's copy of `inputs` and outputs of a shape.
template <typename Call>
std::vector<Tensor> runThreads(std::vector<Tensor> &inputs, const std::vector<int64_t> &outputShape, const Call &call) {
  int64_t size = static_cast<int64_t>(inputs.size());
  SharedMemoryWorld world({size, size});
  std::vector<Tensor> outputs(inputs.size(), Tensor(inputs[0].view.dtype, outputShape));
  SharedMemoryGroup group(world, "group 0", firstRanks(size));
  test::onRanks(size, [&](int64_t m) { call(group.member(m), inputs[m].view, outputs[m].view); });
  return outputs;
}

/// Machines that serve each other's memory; rank r is on machine r modulo their number.
class Machines {
public:
  Machines(int64_t count, int64_t ranks, size_t arenaBytes) {
    for (int64_t i = 0; i < count; ++i) {
      memories.push_back(std::make_unique<test::MappedRanks>(ranks, arenaBytes));
      Socket listener = listenOnPort(0);
      ports.push_back(portOf(listener));
      servers.push_back(std::make_unique<MemoryServer>(memories.back()->whole(0), std::move(listener), key));
    }
  }

  const test::MappedRanks &of(int64_t rank) const { return *memories[rank % memories.size()]; }
  RemoteLinks linksOf(int64_t rank, int64_t ranks, const SharedMemoryWorld &world) const {
    RemoteLinks links;
    links.byRank.resize(ranks);
    for (size_t i = 0; i < memories.size(); ++i)
      if (i != rank % memories.size()) {
        links.machines.push_back(std::make_unique<RemoteMemory>(of(rank).whole(rank), "127.0.0.1", ports[i], key,
                                                                [&world] { return world.aborted(); }));
        for (int64_t other = static_cast<int64_t>(i); other < ranks; other += static_cast<int64_t>(memories.size()))
          links.byRank[other] = links.machines.back().get();
      }
    return links;
  }

private:
  std::string key = "sesame";
  std::vector<std::unique_ptr<test::MappedRanks>> memories;
  std::vector<uint16_t> ports;
  std::vector<std::unique_ptr<MemoryServer>> servers;
};

template <typename Call>
std::vector<Tensor> runProcesses(int64_t machineCount, std::vector<Tensor> &inputs,
                                 const std::vector<int64_t> &outputShape, const Call &call) {
  int64_t size = static_cast<int64_t>(inputs.size());
  std::vector<Tensor> outputs(inputs.size(), Tensor(inputs[0].view.dtype, outputShape));
  size_t outputAt = (inputs[0].bytes.size() + 63) / 64 * 64;
  Machines machines(machineCount, size, outputAt + outputs[0].bytes.size());
  std::atomic<int64_t> present{0};
  test::onRanks(size, [&](int64_t m) {
    const test::MappedRanks &mapped = machines.of(m);
    SharedMemoryWorld world({size, size}, mapped.world(m));
    RemoteLinks links = machines.linksOf(m, size, world);
    SharedMemoryGroup before(world, "group 0", firstRanks(size), 0, mapped.arenas(m, firstRanks(size)));
    SharedMemoryGroup group(world, "group 1", firstRanks(size), 0, mapped.arenas(m, firstRanks(size)), &links);
    TensorView input = inputs[m].view, output = outputs[m].view;
    input.data = mapped.arena(m, m), output.data = mapped.arena(m, m) + outputAt;
    std::memcpy(input.data, inputs[m].bytes.data(), inputs[m].bytes.size());
    call(group.member(m), input, output);
    std::memcpy(inputs[m].bytes.data(), input.data, inputs[m].bytes.size());
    std::memcpy(outputs[m].bytes.data(), output.data, outputs[m].bytes.size());
    ++present;
    while (present.load() < size) // a world outlives every wait on it
      std::this_thread::yield();
  });
  return outputs;
}

/// The outputs of all members; inputs change where the call works in place.
template <typename Call>
std::vector<Tensor> run(Way way, std::vector<Tensor> &inputs, const std::vector<int64_t> &outputShape,
                        const Call &call) {
  return way == Way::Threads ? runThreads(inputs, outputShape, call)
                             : runProcesses(way == Way::Machines ? 2 : 1, inputs, outputShape, call);
}

using SeedAndWay = std::tuple<uint64_t, Way>;
class RandomCollective : public testing::TestWithParam<SeedAndWay> {
protected:
  uint64_t seed() const { return std::get<0>(GetParam()); }
  Way way() const { return std::get<1>(GetParam()); }
};

} // namespace

TEST_P(RandomCollective, AllReduce) {
  Case c(seed());
  Reduction reduction = std::array{Reduction::Sum, Reduction::Max, Reduction::TreeSum}[c.random() % 3];
  std::vector<Tensor> inputs = c.inputs(c.shape);
  Tensor expected(c.dtype, c.shape);
  for (int64_t i = 0; i < expected.view.elements(); ++i)
    reduceElement(inputs, i, reduction, expected, i);
  std::vector<Tensor> outputs =
      run(way(), inputs, c.shape, [&](Communicator &member, TensorView input, TensorView output) {
        member.allReduce(input, output, reduction);
      });
  for (const Tensor &output : outputs)
    EXPECT_EQ(output, expected);
  // In place.
  std::vector<Tensor> buffers = inputs;
  run(way(), buffers, c.shape,
      [&](Communicator &member, TensorView buffer, TensorView) { member.allReduce(buffer, buffer, reduction); });
  for (const Tensor &buffer : buffers)
    EXPECT_EQ(buffer, expected);
}

TEST_P(RandomCollective, AllGather) {
  Case c(seed());
  std::vector<Tensor> inputs = c.inputs(c.shape);
  std::vector<int64_t> joined = c.shape;
  joined[c.dim] *= c.size;
  Tensor expected(c.dtype, joined);
  size_t element = sizeInBytes(c.dtype);
  for (int64_t i = 0; i < expected.view.elements(); ++i) {
    TensorIndex index = indexOf(expected.view, i);
    const Tensor &from = inputs[index[c.dim] / c.shape[c.dim]];
    index[c.dim] %= c.shape[c.dim];
    std::memcpy(&expected.bytes[i * element], &from.bytes[flatOf(from.view, index) * element], element);
  }
  for (const Tensor &output :
       run(way(), inputs, joined,
           [&](Communicator &member, TensorView input, TensorView output) { member.allGather(input, output, c.dim); }))
    EXPECT_EQ(output, expected);
}

TEST_P(RandomCollective, ReduceScatter) {
  Case c(seed());
  std::vector<int64_t> whole = c.shape;
  whole[c.dim] *= c.size;
  std::vector<Tensor> inputs = c.inputs(whole);
  Reduction reduction = c.random() % 2 ? Reduction::Sum : Reduction::TreeSum;
  std::vector<Tensor> outputs =
      run(way(), inputs, c.shape, [&](Communicator &member, TensorView input, TensorView output) {
        member.reduceScatter(input, output, c.dim, reduction);
      });
  for (int64_t m = 0; m < c.size; ++m) {
    Tensor expected(c.dtype, c.shape);
    for (int64_t i = 0; i < expected.view.elements(); ++i) {
      TensorIndex index = indexOf(expected.view, i);
      index[c.dim] += m * c.shape[c.dim];
      reduceElement(inputs, flatOf(inputs[0].view, index), reduction, expected, i);
    }
    EXPECT_EQ(outputs[m], expected) << "member " << m;
  }
}

TEST_P(RandomCollective, AllToAll) {
  Case c(seed());
  std::vector<int64_t> from = c.shape, to = c.shape;
  from[c.dim] *= c.size;
  to[c.dim2] *= c.size;
  std::vector<Tensor> inputs = c.inputs(from);
  std::vector<Tensor> outputs = run(way(), inputs, to, [&](Communicator &member, TensorView input, TensorView output) {
    member.allToAll(input, output, c.dim, c.dim2);
  });
  size_t element = sizeInBytes(c.dtype);
  for (int64_t m = 0; m < c.size; ++m) {
    Tensor expected(c.dtype, to);
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
  std::vector<Tensor> buffers(3, Tensor(DType::F64, {6, 2}));
  std::mt19937_64 random(5);
  for (Tensor &buffer : buffers)
    buffer.randomize(random);
  std::vector<Tensor> before = buffers;
  SharedMemoryWorld world({3, 3});
  SharedMemoryGroup group(world, "group 0", {0, 1, 2});
  test::onRanks(3, [&](int64_t m) {
    TensorView part = buffers[m].view;
    part.shape[0] = 2;
    part.data = buffers[m].view.as<double>() + m * 4;
    group.member(m).reduceScatter(buffers[m].view, part, 0);
    group.member(m).allGather(part, buffers[m].view, 0);
  });
  for (const Tensor &buffer : buffers)
    for (int64_t i = 0; i < 12; ++i)
      EXPECT_EQ(buffer.view.as<double>()[i],
                (before[0].view.as<double>()[i] + before[1].view.as<double>()[i]) + before[2].view.as<double>()[i]);
}

TEST(Collectives, ANaNStaysUnderMax) {
  double nan = std::nan("");
  for (int holder = 0; holder < 3; ++holder) {
    std::vector<Tensor> inputs(3, Tensor(DType::F64, {1}));
    for (int m = 0; m < 3; ++m)
      inputs[m].view.as<double>()[0] = m == holder ? nan : m;
    for (const Tensor &output :
         run(Way::Threads, inputs, {1}, [](Communicator &member, TensorView input, TensorView output) {
           member.allReduce(input, output, Reduction::Max);
         }))
      EXPECT_TRUE(std::isnan(output.view.as<double>()[0])) << "NaN on member " << holder;
  }
}

// Sums that depend on their order in the last bits, with members arriving at random times.
TEST(Collectives, TimingDoesNotChangeTheBits) {
  std::mt19937_64 random(9);
  std::vector<Tensor> inputs;
  for (int m = 0; m < 5; ++m)
    inputs.emplace_back(DType::F32, std::vector<int64_t>{1000}).randomize(random);
  std::vector<Tensor> first;
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<Tensor> outputs =
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
  std::vector<int64_t> all(ranks);
  for (int64_t rank = 0; rank < ranks; ++rank)
    all[rank] = rank;
  SharedMemoryGroup group(world, "group 0", all);
  std::vector<int64_t> wrong(ranks);
  test::onRanks(ranks, [&](int64_t rank) {
    Tensor x(DType::I32, {3});
    for (int32_t repeat = 0; repeat < 50; ++repeat) {
      std::fill_n(x.view.as<int32_t>(), 3, static_cast<int32_t>(rank) + repeat);
      group.member(rank).allReduce(x.view, x.view, Reduction::Sum);
      wrong[rank] += x.view.as<int32_t>()[2] != 63 * 64 / 2 + 64 * repeat;
      world.noteProgress(rank);
    }
  });
  EXPECT_EQ(wrong, std::vector<int64_t>(ranks));
}
