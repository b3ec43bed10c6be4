//===- CheckTransport.cpp - groups and channels -----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After these checks every group names known axes and stages, and every channel
// has its message buffers to itself.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/PlanProblems.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>
#include <set>

using namespace tgpt;
using namespace tgpt::runtime;

static void checkGroup(const plan::Plan &plan, int index, const RankGrid &grid, PlanProblems &problems) {
  const plan::Group &group = plan.groups(index);
  std::string where = "group " + std::to_string(index);
  std::set<std::string> axes;
  if (group.axes_size() == 0)
    problems.add(where + " has no axes");
  for (const std::string &axis : group.axes()) {
    bool known = std::any_of(plan.mesh().axes().begin(), plan.mesh().axes().end(),
                             [&](const plan::MeshAxis &candidate) { return candidate.name() == axis; });
    if (!known)
      problems.add(where + " spans axis '" + axis + "', which the mesh does not have");
    if (!axes.insert(axis).second)
      problems.add(where + " names axis '" + axis + "' twice");
  }
  if (group.stages_size() > 0 && !axes.count("pp"))
    problems.add(where + " lists stages, but 'pp' is not among its axes");
  for (int i = 0; i < group.stages_size(); ++i) {
    int64_t stage = group.stages(i);
    if (stage < 0 || stage >= grid.stages())
      problems.add(where + " lists stage " + std::to_string(stage) + ", but there are " +
                   std::to_string(grid.stages()));
    if (i > 0 && group.stages(i - 1) >= stage)
      problems.add(where + " lists its stages out of order: " + std::to_string(group.stages(i - 1)) + " before " +
                   std::to_string(stage));
  }
}

static void checkReceiveBuffers(const plan::Plan &plan, int index, PlanProblems &problems) {
  const plan::Channel &channel = plan.channels(index);
  const plan::StageProgram &stage = plan.stages(static_cast<int>(channel.to_stage()));
  std::string where = "channel " + std::to_string(index);
  if (channel.receive_buffers_size() != static_cast<int64_t>(channel.depth()))
    return problems.add(where + " has depth " + std::to_string(channel.depth()) + ", but " +
                        std::to_string(channel.receive_buffers_size()) + " receive buffers");
  for (uint32_t buffer : channel.receive_buffers()) {
    if (buffer >= static_cast<uint32_t>(stage.buffers_size()))
      return problems.add(where + " receives in buffer " + std::to_string(buffer) + ", but stage " +
                          std::to_string(stage.stage()) + " has " + std::to_string(stage.buffers_size()) + " buffers");
    const plan::Buffer &message = stage.buffers(buffer);
    if (stage.regions(message.region()).kind() != plan::Region::COMMUNICATION)
      problems.add(where + " receives in buffer " + std::to_string(buffer) + " '" + message.name() +
                   "', which does not lie in a COMMUNICATION region");
    if (message.dtype() != channel.dtype() ||
        !std::equal(message.shape().begin(), message.shape().end(), channel.shape().begin(), channel.shape().end()))
      problems.add(where + " carries " +
                   tensorText(channel.dtype(), {channel.shape().data(), static_cast<size_t>(channel.shape_size())}) +
                   ", but its receive buffer " + std::to_string(buffer) + " is " + tensorText(message));
  }
}

static void checkChannel(const plan::Plan &plan, int index, const RankGrid &grid, PlanProblems &problems) {
  const plan::Channel &channel = plan.channels(index);
  std::string where = "channel " + std::to_string(index);
  for (int64_t stage : {channel.from_stage(), channel.to_stage()})
    if (stage < 0 || stage >= grid.stages())
      return problems.add(where + " joins stage " + std::to_string(channel.from_stage()) + " to stage " +
                          std::to_string(channel.to_stage()) + ", but there are " + std::to_string(grid.stages()) +
                          " stages");
  checkReceiveBuffers(plan, index, problems);
}

/// The message buffers of a stage share no byte with any other buffer.
static void checkMessagesApart(const plan::Plan &plan, const plan::StageProgram &stage, PlanProblems &problems) {
  struct Entry {
    Extent extent;
    uint32_t buffer;
    bool message;
  };
  std::vector<Entry> entries;
  std::set<uint32_t> messages;
  for (const plan::Channel &channel : plan.channels())
    if (channel.to_stage() == stage.stage())
      for (uint32_t buffer : channel.receive_buffers()) {
        if (!messages.insert(buffer).second)
          problems.add("stage " + std::to_string(stage.stage()) + ", buffer " + std::to_string(buffer) + " '" +
                       stage.buffers(buffer).name() + "' holds messages twice");
        entries.push_back({extentOf(stage.buffers(buffer)), buffer, true});
      }
  for (int i = 0; i < stage.buffers_size(); ++i)
    if (!messages.count(i))
      entries.push_back({extentOf(stage.buffers(i)), static_cast<uint32_t>(i), false});
  std::stable_sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::pair(a.extent.region, a.extent.begin) < std::pair(b.extent.region, b.extent.begin);
  });
  const Entry *furthest = nullptr, *furthestMessage = nullptr;
  auto extends = [](const Entry *old, const Entry &entry) {
    return !old || old->extent.region != entry.extent.region || old->extent.end < entry.extent.end;
  };
  for (const Entry &entry : entries) {
    const Entry *before = entry.message ? furthest : furthestMessage;
    if (before && before->extent.overlaps(entry.extent))
      problems.add("stage " + std::to_string(stage.stage()) + ", message buffer overlaps: buffer " +
                   std::to_string(before->buffer) + " '" + stage.buffers(before->buffer).name() + "' and buffer " +
                   std::to_string(entry.buffer) + " '" + stage.buffers(entry.buffer).name() + "'");
    if (extends(furthest, entry))
      furthest = &entry;
    if (entry.message && extends(furthestMessage, entry))
      furthestMessage = &entry;
  }
}

void tgpt::runtime::checkTransport(const plan::Plan &plan, const RankGrid &grid, PlanProblems &problems) {
  for (int i = 0; i < plan.groups_size(); ++i)
    checkGroup(plan, i, grid, problems);
  for (int i = 0; i < plan.channels_size(); ++i)
    checkChannel(plan, i, grid, problems);
  if (problems.any())
    return;
  for (const plan::StageProgram &stage : plan.stages())
    checkMessagesApart(plan, stage, problems);
}
