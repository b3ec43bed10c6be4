//===- SharedMemoryGroup.h - collectives in common memory ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two phases: members publish the addresses of their tensors and meet; then each
// reads the others' memory directly, reducing its own part of an all_reduce into
// every member's output; then they meet again, after which tensors may change.
// Members that are processes see each other's arenas at addresses of their own, so what
// is published is the distance to the arena's base.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_SHAREDMEMORYGROUP_H
#define TGPT_RUNTIME_COMM_SHAREDMEMORYGROUP_H

#include "runtime/comm/RemoteMemory.h"
#include "runtime/comm/SharedMemoryWorld.h"

#include <memory>
#include <string>
#include <vector>

namespace tgpt::runtime {

class SharedMemoryGroup {
public:
  /// `ranks` in member order; `name` is for messages ("group 1 (tp)"). The thread of rank r
  /// is the world's waiter `firstWaiter` + r. Where ranks are processes, `bases` has the members' arenas as this
  /// process sees them, and only one member is used in it;
  /// `links` are the ways of its thread to members of other machines.
  SharedMemoryGroup(SharedMemoryWorld &world, std::string name, std::vector<int64_t> ranks, int64_t firstWaiter = 0,
                    std::vector<std::byte *> bases = {}, const RemoteLinks *links = nullptr);
  ~SharedMemoryGroup();

  int64_t size() const { return static_cast<int64_t>(ranks.size()); }
  /// The endpoint of member `index`, to be used by one thread.
  Communicator &member(int64_t index);

private:
  class Member;
  struct alignas(64) Slot {
    std::atomic<uint64_t> arrivals; ///< how many times the member has come to a meeting
    int64_t input, output;          ///< distances of its tensors to its base
  };
  struct Meeting {
    EventWord event;
    std::atomic<int64_t> present;
    std::atomic<uint64_t> meetings;
  };
  void publish(int64_t index, const TensorView &input, const TensorView &output);
  void meet(int64_t index);
  /// Bring a member's memory here, or what was written for it there; nothing to do for members of this machine.
  void pull(int64_t index, const void *at, size_t bytes);
  void pullAll(size_t bytes); // of every member's input
  void push(int64_t index, const void *at, size_t bytes);

  SharedMemoryWorld &world;
  std::string name;
  std::vector<int64_t> ranks;
  int64_t firstWaiter;
  std::vector<std::unique_ptr<Member>> members;
  std::vector<std::byte *> bases;
  std::vector<RemoteMemory *> far;         // by member; null: on this machine
  std::vector<RemoteMemory *> farMachines; // each once; empty: all members are here
  // Addresses in member order, as reduceRange takes them.
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  std::span<Slot> slots; // of the members
  Meeting &meeting;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_SHAREDMEMORYGROUP_H
