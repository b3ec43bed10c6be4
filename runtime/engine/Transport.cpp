//===- Transport.cpp - the groups and channels of a job ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds each group once, from its first member.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Transport.h"
#include "runtime/engine/PlanViews.h"

#include <algorithm>

using namespace tgpt;
using namespace tgpt::runtime;

Transport::Transport(const plan::Plan &plan, const RankGrid &grid, SharedMemoryWorld &world,
                     const std::vector<std::unique_ptr<Arena>> &arenas, int64_t startedWaiters, bool areProcesses,
                     const RemoteLinks *links, const RemoteLinks *startedLinks)
    : endpoints(grid.ranks()) {
  if (areProcesses)
    for (const std::unique_ptr<Arena> &arena : arenas)
      bases.push_back(arena->base());
  for (RankEndpoints &ends : endpoints) {
    ends.groups.resize(plan.groups_size());
    ends.startedGroups.resize(plan.groups_size());
    ends.senders.resize(plan.channels_size());
    ends.receivers.resize(plan.channels_size());
  }
  addGroups(plan, grid, world, &RankEndpoints::groups, 0, links);
  if (startedWaiters > 0)
    addGroups(plan, grid, world, &RankEndpoints::startedGroups, startedWaiters, startedLinks);
  else
    for (RankEndpoints &ends : endpoints)
      ends.startedGroups = ends.groups;
  addChannels(plan, grid, world, arenas, links);
}

/// Two cache lines a member and two a group; a few a channel.
size_t Transport::stateBytes(const plan::Plan &plan, const RankGrid &grid) {
  constexpr size_t endBytes = 512;
  size_t ends = 2 * static_cast<size_t>(plan.groups_size()) + static_cast<size_t>(plan.channels_size());
  return ends * static_cast<size_t>(grid.ranks()) * endBytes;
}

std::vector<std::byte *> Transport::basesOf(const std::vector<int64_t> &ranks) const {
  std::vector<std::byte *> result;
  for (int64_t rank : ranks)
    if (!bases.empty())
      result.push_back(bases[rank]);
  return result;
}

void Transport::addGroups(const plan::Plan &plan, const RankGrid &grid, SharedMemoryWorld &world, GroupEnds ends,
                          int64_t waiters, const RemoteLinks *links) {
  for (int g = 0; g < plan.groups_size(); ++g) {
    const plan::Group &group = plan.groups(g);
    std::string name = "group " + std::to_string(g) + " (";
    for (const std::string &axis : group.axes())
      name += (name.back() == '(' ? "" : ", ") + axis;
    name += ")";
    for (int64_t rank = 0; rank < grid.ranks(); ++rank) {
      bool takesPart = group.stages_size() == 0 || std::find(group.stages().begin(), group.stages().end(),
                                                             grid.stageOf(rank)) != group.stages().end();
      if (!takesPart || (endpoints[rank].*ends)[g])
        continue;
      std::vector<int64_t> members = grid.groupMembers(group, rank);
      groups.push_back(std::make_unique<SharedMemoryGroup>(world, name, members, waiters, basesOf(members), links));
      for (size_t i = 0; i < members.size(); ++i)
        (endpoints[members[i]].*ends)[g] = &groups.back()->member(static_cast<int64_t>(i));
    }
  }
}

/// The one of the two that is on another machine: the process uses the other end, if any.
static RemoteMemory *farEnd(const RemoteLinks *links, int64_t from, int64_t to) {
  if (!links)
    return nullptr;
  return links->to(from) ? links->to(from) : links->to(to);
}

void Transport::addChannels(const plan::Plan &plan, const RankGrid &grid, SharedMemoryWorld &world,
                            const std::vector<std::unique_ptr<Arena>> &arenas, const RemoteLinks *links) {
  for (int c = 0; c < plan.channels_size(); ++c) {
    const plan::Channel &channel = plan.channels(c);
    const plan::StageProgram &receiver = plan.stages(static_cast<int>(channel.to_stage()));
    for (int64_t rank = 0; rank < grid.ranks(); ++rank) {
      if (grid.stageOf(rank) != channel.to_stage())
        continue;
      int64_t from = grid.sameButStage(rank, channel.from_stage());
      std::vector<void *> messages;
      for (uint32_t buffer : channel.receive_buffers())
        messages.push_back(addressOf(receiver, buffer, {}, arenas[rank]->base()));
      channels.push_back(
          std::make_unique<SharedMemoryChannel>(world, "channel " + std::to_string(c), from, rank, std::move(messages),
                                                bases.empty() ? nullptr : bases[from], farEnd(links, from, rank)));
      endpoints[from].senders[c] = channels.back().get();
      endpoints[rank].receivers[c] = channels.back().get();
    }
  }
}
