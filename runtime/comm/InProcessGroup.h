//===- InProcessGroup.h - collectives between threads -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two phases: members publish the addresses of their tensors and meet; then each
// reads the others' memory directly, reducing its own part of an all_reduce into
// every member's output; then they meet again, after which tensors may change.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_INPROCESSGROUP_H
#define TGPT_RUNTIME_COMM_INPROCESSGROUP_H

#include "runtime/comm/InProcessWorld.h"

#include <memory>
#include <string>
#include <vector>

namespace tgpt::runtime {

class InProcessGroup {
public:
  /// `ranks` in member order; `name` is for messages ("group 1 (tp)"). The thread of rank r
  /// is the world's waiter `firstWaiter` + r.
  InProcessGroup(InProcessWorld &world, std::string name, std::vector<int64_t> ranks, int64_t firstWaiter = 0);
  ~InProcessGroup();

  int64_t size() const { return static_cast<int64_t>(ranks.size()); }
  /// The endpoint of member `index`, to be used by one thread.
  Communicator &member(int64_t index);

private:
  class Member;
  void meet(int64_t index);

  InProcessWorld &world;
  std::string name;
  std::vector<int64_t> ranks;
  int64_t firstWaiter;
  std::vector<std::unique_ptr<Member>> members;
  // Addresses in member order, as reduceRange takes them.
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  EventWord event;
  std::atomic<int64_t> present{0};
  std::atomic<uint64_t> meetings{0};
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_INPROCESSGROUP_H
