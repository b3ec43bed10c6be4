//===- ExchangeSamples.cpp - the time of collectives between rank threads -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/calibration/ExchangeSamples.h"

#include "runtime/comm/SharedMemoryChannel.h"
#include "runtime/comm/SharedMemoryGroup.h"
#include "runtime/engine/RankTeam.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

using namespace tgpt::runtime;
using namespace tgpt::runtime::calibration;
using Clock = std::chrono::steady_clock;

/// Many short stretches: one in which a rank lost its core to another process says nothing, and short ones are seldom
/// hit. Where each rank has a core of its own their lower quartile counts: it is nearly that of an idle machine. With
/// more ranks than cores they are in each other's way, which their median is about.
static constexpr double stretchSeconds = 1e-4;
static constexpr int mostStretches = 101;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

namespace {
/// `calls` calls of one exchange on every rank, each timed on rank 0 from when all are there. Before a call every rank
/// writes what it gives: in a step a kernel has just computed it, and a peer finds it in the caches of another core,
/// not in its own.
class ExchangeTask final : public RankTask {
public:
  using Part = std::function<void(int64_t rank)>;
  ExchangeTask(SharedMemoryGroup &everyone, Part produce, Part exchange)
      : everyone(everyone), produce(std::move(produce)), exchange(std::move(exchange)) {}

  void run(int64_t rank) noexcept override {
    double sum = 0;
    for (int i = 0; i < calls; ++i) {
      produce(rank);
      everyone.member(rank).barrier();
      Clock::time_point start = Clock::now();
      exchange(rank);
      sum += secondsSince(start);
    }
    if (rank == 0)
      seconds = sum / calls;
  }

  int calls = 2;
  double seconds = 0; // of a call

private:
  SharedMemoryGroup &everyone;
  Part produce, exchange;
};

class EmptyTask final : public RankTask {
public:
  void run(int64_t) noexcept override {}
};

/// The tensors of one collective.
struct Tensors {
  Tensors(int64_t ranks, int64_t bytes) {
    int64_t part = std::max<int64_t>(1, bytes / static_cast<int64_t>(sizeof(float)) / ranks / ranks) * ranks;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      memory.push_back({std::vector<float>(part * ranks), std::vector<float>(part * ranks)});
      whole.push_back(viewOf(memory.back()[0], part * ranks));
      other.push_back(viewOf(memory.back()[1], part * ranks));
      own.push_back(viewOf(memory.back()[1], part));
    }
  }
  static void write(const TensorView &tensor) { std::fill_n(tensor.as<float>(), tensor.elements(), 1.0f); }
  static TensorView viewOf(std::vector<float> &values, int64_t elements) {
    return {.data = values.data(), .dtype = DType::F32, .rank = 1, .shape = {elements}};
  }

  std::vector<std::array<std::vector<float>, 2>> memory;
  std::vector<TensorView> whole, other, own; // by rank
};
} // namespace

static std::vector<int64_t> ranksUpTo(int64_t count) {
  std::vector<int64_t> ranks(count);
  for (int64_t i = 0; i < count; ++i)
    ranks[i] = i;
  return ranks;
}

static Sample sample(RankTeam &team, ExchangeTask &task, int64_t ranks, const SampleBudget &budget) {
  bool hasCores = ranks <= static_cast<int64_t>(std::thread::hardware_concurrency());
  team.run(task); // warm-up
  team.run(task);
  task.calls = static_cast<int>(std::clamp(stretchSeconds / std::max(task.seconds, 1e-8), 1.0, 2e3));
  std::vector<double> seconds;
  Clock::time_point start = Clock::now();
  while (static_cast<int>(seconds.size()) < budget.least ||
         (static_cast<int>(seconds.size()) < mostStretches && secondsSince(start) < budget.seconds)) {
    team.run(task);
    seconds.push_back(task.seconds);
  }
  return hasCores ? lowerQuartileOf(std::move(seconds)) : sampleOf(std::move(seconds));
}

static Sample sampleSend(int64_t bytes, const SampleBudget &budget) {
  SharedMemoryWorld world({.waiters = 2, .threads = 2});
  SharedMemoryGroup everyone(world, "everyone", {0, 1});
  std::vector<float> there(bytes / sizeof(float) + 1), back(there.size());
  SharedMemoryChannel to(world, "there", 0, 1, {there.data()}), from(world, "back", 1, 0, {back.data()});
  Tensors tensors(2, bytes);
  auto produce = [&](int64_t rank) { Tensors::write(tensors.whole[rank]); };
  ExchangeTask task(everyone, produce, [&](int64_t rank) {
    if (rank == 0)
      to.send(tensors.whole[0]), from.receive(tensors.whole[0]);
    else
      to.receive(tensors.whole[1]), from.send(tensors.whole[1]);
  });
  RankTeam team(ranksUpTo(2), 1, false);
  Sample both = sample(team, task, 2, budget);
  both.seconds /= 2;
  return both;
}

Sample tgpt::runtime::calibration::sampleExchange(const std::string &name, int64_t ranks, int64_t bytes,
                                                  const SampleBudget &budget) {
  if (name == "send")
    return sampleSend(bytes, budget);
  SharedMemoryWorld world({.waiters = ranks, .threads = ranks});
  SharedMemoryGroup everyone(world, "everyone", ranksUpTo(ranks));
  Tensors tensors(ranks, bytes);
  auto produce = [&](int64_t rank) { Tensors::write((name == "all_gather" ? tensors.own : tensors.whole)[rank]); };
  ExchangeTask task(everyone, produce, [&](int64_t rank) {
    Communicator &member = everyone.member(rank);
    if (name == "all_reduce")
      member.allReduce(tensors.whole[rank], tensors.whole[rank], Reduction::Sum);
    else if (name == "all_gather")
      member.allGather(tensors.own[rank], tensors.whole[rank], 0);
    else if (name == "reduce_scatter")
      member.reduceScatter(tensors.whole[rank], tensors.own[rank], 0);
    else
      member.allToAll(tensors.whole[rank], tensors.other[rank], 0, 0);
  });
  RankTeam team(ranksUpTo(ranks), 1, false);
  return sample(team, task, ranks, budget);
}

Sample tgpt::runtime::calibration::sampleEmptyStep(int64_t ranks, const SampleBudget &budget) {
  RankTeam team(ranksUpTo(ranks), 1, false);
  EmptyTask task;
  std::vector<double> seconds;
  for (int i = 0; i < 4 * budget.most; ++i) {
    Clock::time_point start = Clock::now();
    team.run(task);
    seconds.push_back(secondsSince(start));
  }
  return sampleOf(std::move(seconds));
}
