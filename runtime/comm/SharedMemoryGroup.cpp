//===- SharedMemoryGroup.cpp - collectives in common memory --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See SharedMemoryGroup.h. A tensor along dimension `dim` is seen as `outer` blocks,
// each of `shape[dim] * inner` contiguous elements.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/SharedMemoryGroup.h"
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
class SharedMemoryGroup::Member final : public Communicator, public WaitPlace {
public:
  Member(SharedMemoryGroup &group, int64_t own) : group(group), own(own) {}

  int64_t size() const override { return group.size(); }
  int64_t index() const override { return own; }
  void allReduce(const TensorView &input, const TensorView &output, Reduction reduction) override;
  void allGather(const TensorView &input, const TensorView &output, int dim) override;
  void reduceScatter(const TensorView &input, const TensorView &output, int dim, Reduction reduction) override;
  void allToAll(const TensorView &input, const TensorView &output, int splitDim, int concatDim) override;
  void barrier() override { group.meet(own); }

  std::string name() const override { return group.name; }
  std::vector<int64_t> missing() const override;

private:
  void publish(const TensorView &input, const TensorView &output) { group.publish(own, input, output); }

  SharedMemoryGroup &group;
  int64_t own;
};

SharedMemoryGroup::SharedMemoryGroup(SharedMemoryWorld &world, std::string name, std::vector<int64_t> memberRanks,
                                     int64_t firstWaiter, std::vector<std::byte *> memberBases,
                                     const RemoteLinks *links)
    : world(world), name(std::move(name)), ranks(std::move(memberRanks)), firstWaiter(firstWaiter),
      bases(std::move(memberBases)), inputs(ranks.size()), outputs(ranks.size()),
      slots(world.memory().make<Slot>(ranks.size())), meeting(world.memory().make<Meeting>()) {
  for (int64_t i = 0; i < size(); ++i) {
    members.push_back(std::make_unique<Member>(*this, i));
    world.add(*members.back());
  }
  world.watch(meeting.event);
  for (int64_t rank : ranks) {
    far.push_back(links ? links->to(rank) : nullptr);
    if (far.back() && std::find(farMachines.begin(), farMachines.end(), far.back()) == farMachines.end())
      farMachines.push_back(far.back());
  }
}

SharedMemoryGroup::~SharedMemoryGroup() = default;

Communicator &SharedMemoryGroup::member(int64_t index) {
  return *members[index];
}

void SharedMemoryGroup::publish(int64_t index, const TensorView &input, const TensorView &output) {
  if (bases.empty()) {
    inputs[index] = input.data;
    outputs[index] = output.data;
    return meet(index);
  }
  slots[index].input = input.as<std::byte>() - bases[index];
  slots[index].output = output.as<std::byte>() - bases[index];
  for (RemoteMemory *machine : farMachines)
    machine->store(&slots[index].input, 2 * sizeof(int64_t));
  meet(index);
  for (int64_t m = 0; m < size(); ++m) {
    inputs[m] = bases[m] + slots[m].input;
    outputs[m] = bases[m] + slots[m].output;
  }
}

void SharedMemoryGroup::pull(int64_t index, const void *at, size_t bytes) {
  if (far[index])
    far[index]->fetch(const_cast<void *>(at), bytes);
}

void SharedMemoryGroup::pullAll(size_t bytes) {
  for (int64_t m = 0; m < size(); ++m)
    pull(m, inputs[m], bytes);
}

void SharedMemoryGroup::push(int64_t index, const void *at, size_t bytes) {
  if (far[index])
    far[index]->store(at, bytes);
}

void SharedMemoryGroup::meet(int64_t index) {
  if (size() == 1)
    return;
  uint64_t number = slots[index].arrivals.load(std::memory_order_relaxed) + 1;
  slots[index].arrivals.store(number, std::memory_order_release);
  if (!farMachines.empty()) {
    meeting.event.signal();
    for (RemoteMemory *machine : farMachines)
      machine->count(slots[index].arrivals, meeting.event);
    auto hasCome = [&](const Slot &slot) { return slot.arrivals.load(std::memory_order_acquire) >= number; };
    return world.wait(firstWaiter + ranks[index], meeting.event, *members[index],
                      [&] { return std::all_of(slots.begin(), slots.end(), hasCome); });
  }
  if (meeting.present.fetch_add(1, std::memory_order_acq_rel) + 1 == size()) {
    meeting.present.store(0, std::memory_order_relaxed);
    meeting.meetings.store(number, std::memory_order_release);
    meeting.event.signal();
    return;
  }
  world.wait(firstWaiter + ranks[index], meeting.event, *members[index],
             [&] { return meeting.meetings.load(std::memory_order_acquire) >= number; });
}

std::vector<int64_t> SharedMemoryGroup::Member::missing() const {
  uint64_t number = group.slots[own].arrivals.load(std::memory_order_relaxed);
  std::vector<int64_t> waiters;
  for (int64_t i = 0; i < group.size(); ++i)
    if (group.slots[i].arrivals.load(std::memory_order_relaxed) < number)
      waiters.push_back(group.firstWaiter + group.ranks[i]);
  return waiters;
}

void SharedMemoryGroup::Member::allReduce(const TensorView &input, const TensorView &output, Reduction reduction) {
  publish(input, output);
  int64_t elements = input.elements();
  int64_t grains = (elements + partGrainElements - 1) / partGrainElements;
  int64_t begin = std::min(elements, grains * own / size() * partGrainElements);
  int64_t end = std::min(elements, grains * (own + 1) / size() * partGrainElements);
  size_t element = sizeInBytes(input.dtype), bytes = static_cast<size_t>(end - begin) * element;
  for (int64_t m = 0; m < size(); ++m)
    group.pull(m, static_cast<const char *>(group.inputs[m]) + begin * element, bytes);
  reduceRange(input.dtype, reduction, group.inputs, begin, group.outputs, begin, end - begin);
  for (int64_t m = 0; m < size(); ++m)
    group.push(m, static_cast<const char *>(group.outputs[m]) + begin * element, bytes);
  group.meet(own);
}

void SharedMemoryGroup::Member::allGather(const TensorView &input, const TensorView &output, int dim) {
  publish(input, output);
  int64_t blocks = blocksBefore(input, dim);
  size_t blockBytes = input.bytes() / blocks;
  group.pullAll(input.bytes());
  for (int64_t m = 0; m < size(); ++m)
    for (int64_t b = 0; b < blocks; ++b) {
      char *to = output.as<char>() + (b * size() + m) * blockBytes;
      const char *from = static_cast<const char *>(group.inputs[m]) + b * blockBytes;
      if (to != from)
        std::memcpy(to, from, blockBytes);
    }
  group.meet(own);
}

void SharedMemoryGroup::Member::reduceScatter(const TensorView &input, const TensorView &output, int dim,
                                              Reduction reduction) {
  publish(input, output);
  int64_t blocks = blocksBefore(output, dim);
  int64_t blockElements = output.elements() / blocks;
  void *target = output.data;
  if (blocks == 1)
    for (int64_t m = 0; m < size(); ++m)
      group.pull(m, static_cast<const char *>(group.inputs[m]) + own * output.bytes(), output.bytes());
  else
    group.pullAll(input.bytes());
  for (int64_t b = 0; b < blocks; ++b)
    reduceRange(input.dtype, reduction, group.inputs, (b * size() + own) * blockElements, {&target, 1},
                b * blockElements, blockElements);
  group.meet(own);
}

void SharedMemoryGroup::Member::allToAll(const TensorView &input, const TensorView &output, int splitDim,
                                         int concatDim) {
  publish(input, output);
  TensorIndex part = input.shape;
  part[splitDim] /= size();
  group.pullAll(input.bytes());
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
