//===- InProcessGroup.cpp - collectives between threads ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See InProcessGroup.h. A tensor along dimension `dim` is seen as `outer` blocks,
// each of `shape[dim] * inner` contiguous elements.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/InProcessGroup.h"
#include "runtime/comm/BlockCopy.h"
#include "runtime/comm/ReduceRange.h"

#include <algorithm>
#include <cstring>

using namespace tgpt::runtime;

/// Parts of an all_reduce start on multiples of this, so that no two members write one cache line.
static constexpr int64_t partGrainElements = 32;

static int64_t blocksBefore(const TensorView &tensor, int dim) {
  int64_t blocks = 1;
  for (int i = 0; i < dim; ++i)
    blocks *= tensor.shape[i];
  return blocks;
}

/// One member's view of the group.
class InProcessGroup::Member final : public Communicator, public WaitPlace {
public:
  Member(InProcessGroup &group, int64_t own) : group(group), own(own) {}

  int64_t size() const override { return group.size(); }
  int64_t index() const override { return own; }
  void allReduce(const TensorView &input, const TensorView &output, Reduction reduction) override;
  void allGather(const TensorView &input, const TensorView &output, int dim) override;
  void reduceScatter(const TensorView &input, const TensorView &output, int dim, Reduction reduction) override;
  void allToAll(const TensorView &input, const TensorView &output, int splitDim, int concatDim) override;
  void barrier() override { group.meet(own); }

  std::string name() const override { return group.name; }
  std::vector<int64_t> missing() const override;

  /// How many times this member has come to a meeting.
  alignas(64) std::atomic<uint64_t> arrivals{0};

private:
  void publish(const TensorView &input, const TensorView &output) {
    group.inputs[own] = input.data;
    group.outputs[own] = output.data;
    group.meet(own);
  }

  InProcessGroup &group;
  int64_t own;
};

InProcessGroup::InProcessGroup(InProcessWorld &world, std::string name, std::vector<int64_t> memberRanks,
                               int64_t firstWaiter)
    : world(world), name(std::move(name)), ranks(std::move(memberRanks)), firstWaiter(firstWaiter),
      inputs(ranks.size()), outputs(ranks.size()) {
  for (int64_t i = 0; i < size(); ++i)
    members.push_back(std::make_unique<Member>(*this, i));
  world.watch(event);
}

InProcessGroup::~InProcessGroup() = default;

Communicator &InProcessGroup::member(int64_t index) {
  return *members[index];
}

void InProcessGroup::meet(int64_t index) {
  if (size() == 1)
    return;
  uint64_t meeting = members[index]->arrivals.load(std::memory_order_relaxed) + 1;
  members[index]->arrivals.store(meeting, std::memory_order_relaxed);
  if (present.fetch_add(1, std::memory_order_acq_rel) + 1 == size()) {
    present.store(0, std::memory_order_relaxed);
    meetings.store(meeting, std::memory_order_release);
    event.signal();
    return;
  }
  world.wait(firstWaiter + ranks[index], event, *members[index],
             [&] { return meetings.load(std::memory_order_acquire) >= meeting; });
}

std::vector<int64_t> InProcessGroup::Member::missing() const {
  uint64_t meeting = arrivals.load(std::memory_order_relaxed);
  std::vector<int64_t> waiters;
  for (int64_t i = 0; i < group.size(); ++i)
    if (group.members[i]->arrivals.load(std::memory_order_relaxed) < meeting)
      waiters.push_back(group.firstWaiter + group.ranks[i]);
  return waiters;
}

void InProcessGroup::Member::allReduce(const TensorView &input, const TensorView &output, Reduction reduction) {
  publish(input, output);
  int64_t elements = input.elements();
  int64_t grains = (elements + partGrainElements - 1) / partGrainElements;
  int64_t begin = std::min(elements, grains * own / size() * partGrainElements);
  int64_t end = std::min(elements, grains * (own + 1) / size() * partGrainElements);
  reduceRange(input.dtype, reduction, group.inputs, begin, group.outputs, begin, end - begin);
  group.meet(own);
}

void InProcessGroup::Member::allGather(const TensorView &input, const TensorView &output, int dim) {
  publish(input, output);
  int64_t blocks = blocksBefore(input, dim);
  size_t blockBytes = input.bytes() / blocks;
  for (int64_t m = 0; m < size(); ++m)
    for (int64_t b = 0; b < blocks; ++b) {
      char *to = output.as<char>() + (b * size() + m) * blockBytes;
      const char *from = static_cast<const char *>(group.inputs[m]) + b * blockBytes;
      if (to != from)
        std::memcpy(to, from, blockBytes);
    }
  group.meet(own);
}

void InProcessGroup::Member::reduceScatter(const TensorView &input, const TensorView &output, int dim,
                                           Reduction reduction) {
  publish(input, output);
  int64_t blocks = blocksBefore(output, dim);
  int64_t blockElements = output.elements() / blocks;
  void *target = output.data;
  for (int64_t b = 0; b < blocks; ++b)
    reduceRange(input.dtype, reduction, group.inputs, (b * size() + own) * blockElements, {&target, 1},
                b * blockElements, blockElements);
  group.meet(own);
}

void InProcessGroup::Member::allToAll(const TensorView &input, const TensorView &output, int splitDim, int concatDim) {
  publish(input, output);
  TensorIndex part = input.shape;
  part[splitDim] /= size();
  for (int64_t m = 0; m < size(); ++m) {
    TensorView theirs = input;
    theirs.data = const_cast<void *>(group.inputs[m]);
    TensorIndex from{}, to{};
    from[splitDim] = own * part[splitDim];
    to[concatDim] = m * part[concatDim];
    copyBlock(theirs, from, output, to, part);
  }
  group.meet(own);
}
