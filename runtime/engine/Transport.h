//===- Transport.h - the groups and channels of a job -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_TRANSPORT_H
#define TGPT_RUNTIME_ENGINE_TRANSPORT_H

#include "runtime/comm/SharedMemoryChannel.h"
#include "runtime/comm/SharedMemoryGroup.h"
#include "runtime/engine/Arena.h"
#include "runtime/plan/RankGrid.h"
#include "runtime/plan/plan.pb.h"

#include <memory>
#include <vector>

namespace tgpt::runtime {

/// One rank's ends, by the plan's group and channel indices; null where it has none.
struct RankEndpoints {
  std::vector<Communicator *> groups;
  std::vector<Communicator *> startedGroups; // for what is started: perhaps used by another thread
  std::vector<Sender *> senders;
  std::vector<Receiver *> receivers;
};

/// All communicators of a job whose ranks reach each other's arenas, as threads or, with `areProcesses`, in shared
/// memory. Message buffers are the plan's receive buffers in the receivers' arenas. `startedWaiters` is the number of
/// the world's waiters before the communication threads; 0: there are none. The links are of the rank of this process
/// and its communication thread, where there are ranks on other machines.
class Transport {
public:
  Transport(const plan::Plan &plan, const RankGrid &grid, SharedMemoryWorld &world,
            const std::vector<std::unique_ptr<Arena>> &arenas, int64_t startedWaiters = 0, bool areProcesses = false,
            const RemoteLinks *links = nullptr, const RemoteLinks *startedLinks = nullptr);

  /// What the state of all of them takes of a world's memory, at most.
  static size_t stateBytes(const plan::Plan &plan, const RankGrid &grid);

  const RankEndpoints &of(int64_t rank) const { return endpoints[rank]; }

private:
  using GroupEnds = std::vector<Communicator *> RankEndpoints::*;
  void addGroups(const plan::Plan &plan, const RankGrid &grid, SharedMemoryWorld &world, GroupEnds ends,
                 int64_t waiters, const RemoteLinks *links);
  std::vector<std::byte *> basesOf(const std::vector<int64_t> &ranks) const;
  void addChannels(const plan::Plan &plan, const RankGrid &grid, SharedMemoryWorld &world,
                   const std::vector<std::unique_ptr<Arena>> &arenas, const RemoteLinks *links);

  std::vector<std::byte *> bases; // of the ranks' arenas, where ranks are processes
  std::vector<std::unique_ptr<SharedMemoryGroup>> groups;
  std::vector<std::unique_ptr<SharedMemoryChannel>> channels;
  std::vector<RankEndpoints> endpoints;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_TRANSPORT_H
