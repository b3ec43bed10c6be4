//===- ScheduleProgressTest.cpp - no schedule waits in a circle, or for room ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two judges that share no code with the schedules: all stages run action by action over
// channels that hold few messages, and the earliest begin of every entry is computed with
// and without waiting for room.
//
//===----------------------------------------------------------------------===//

#include "ScheduleCases.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <functional>
#include <map>

using namespace tgpt;

namespace {

/// Where in an entry its messages are taken and sent.
enum class MessageOrder { TakeFirst, SendFirst };

/// All stages, one action at a time. A send waits for room, a receive for a message.
class PipelineRun {
public:
  PipelineRun(const PipelineShape &shape, const std::vector<StageSchedule> &schedules,
              const std::vector<Transfer> &transfers, const std::vector<int64_t> &depths, MessageOrder order)
      : depths(depths), stages(shape.stages), channels(transfers.size()) {
    for (int64_t stage = 0; stage < shape.stages; ++stage)
      for (const ScheduleEntry &entry : schedules[stage].entries()) {
        std::vector<Action> sends, receives;
        int64_t v = shape.virtualStage(stage, entry.chunk);
        for (size_t i = 0; i < transfers.size(); ++i) {
          if (transfers[i].kind != entry.kind)
            continue;
          if (transfers[i].from == v)
            sends.push_back({true, i, entry.microBatch});
          if (transfers[i].to == v)
            receives.push_back({false, i, entry.microBatch});
        }
        std::vector<Action> &all = stages[stage].actions;
        auto &first = order == MessageOrder::TakeFirst ? receives : sends;
        auto &second = order == MessageOrder::TakeFirst ? sends : receives;
        all.insert(all.end(), first.begin(), first.end());
        all.insert(all.end(), second.begin(), second.end());
      }
  }

  /// True when every stage comes to its end, each message is the one expected and none is left.
  bool run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Stage &stage : stages)
        while (step(stage))
          moved = true;
    }
    return isRight &&
           std::all_of(stages.begin(), stages.end(),
                       [](const Stage &stage) { return stage.next == stage.actions.size(); }) &&
           std::all_of(channels.begin(), channels.end(), [](const Channel &c) { return c.sent == c.taken; });
  }

private:
  struct Action {
    bool isSend;
    size_t channel;
    int64_t microBatch;
  };
  struct Stage {
    std::vector<Action> actions;
    size_t next = 0;
  };
  struct Channel {
    int64_t sent = 0, taken = 0; ///< the micro-batches up to these, in order
  };

  bool step(Stage &stage) {
    if (stage.next == stage.actions.size())
      return false;
    const Action &action = stage.actions[stage.next];
    Channel &channel = channels[action.channel];
    if (action.isSend ? channel.sent - channel.taken == depths[action.channel] : channel.sent == channel.taken)
      return false;
    isRight = isRight && (action.isSend ? channel.sent++ : channel.taken++) == action.microBatch;
    ++stage.next;
    return true;
  }

  const std::vector<int64_t> &depths;
  std::vector<Stage> stages;
  std::vector<Channel> channels;
  bool isRight = true;
};

/// When each entry begins, every entry one unit long: after the one before it, what it needs,
/// and, where depths are given, what has to be taken first to make room.
class EarliestBegins {
public:
  static constexpr int64_t never = -1;
  using Key = std::tuple<int64_t, WorkKind, int64_t>; // virtual stage, kind, micro-batch

  EarliestBegins(const PipelineShape &shape, const std::vector<StageSchedule> &schedules) {
    int64_t last = -1;
    std::vector<int64_t> before(shape.virtualStages(), -1), after = before;
    for (int64_t v = 0; v < shape.virtualStages(); ++v)
      if (shape.hasWork(v)) {
        before[v] = last;
        if (last >= 0)
          after[last] = v;
        last = v;
      }
    for (int64_t stage = 0; stage < shape.stages; ++stage) {
      int previous = -1;
      for (const ScheduleEntry &entry : schedules[stage].entries()) {
        int64_t v = shape.virtualStage(stage, entry.chunk);
        int node = static_cast<int>(edges.size());
        number[{v, entry.kind, entry.microBatch}] = node;
        keys.push_back({v, entry.kind, entry.microBatch});
        edges.emplace_back();
        if (previous >= 0)
          edges[node].push_back({previous, 1});
        previous = node;
      }
    }
    for (size_t node = 0; node < keys.size(); ++node) {
      auto [v, kind, microBatch] = keys[node];
      if (kind == WorkKind::Forward && before[v] >= 0)
        edges[node].push_back({number.at({before[v], kind, microBatch}), 1});
      if (kind == WorkKind::Backward && after[v] >= 0)
        edges[node].push_back({number.at({after[v], kind, microBatch}), 1});
    }
  }

  std::vector<int64_t> find(const std::vector<Transfer> &transfers, const std::vector<int64_t> &depths,
                            int64_t microBatches) const {
    std::vector<std::vector<Edge>> all = edges;
    for (size_t i = 0; i < transfers.size(); ++i)
      for (int64_t k = depths[i]; k < microBatches; ++k)
        all[number.at({transfers[i].from, transfers[i].kind, k})].push_back(
            {number.at({transfers[i].to, transfers[i].kind, k - depths[i]}), 0});
    return longest(all);
  }
  std::vector<int64_t> find() const { return longest(edges); }

private:
  struct Edge {
    int from;
    int64_t length;
  };

  /// Longest ways; `never` for what is on or behind a circle.
  static std::vector<int64_t> longest(const std::vector<std::vector<Edge>> &edges) {
    std::vector<std::vector<int>> users(edges.size());
    std::vector<int64_t> waiting(edges.size()), begin(edges.size(), never);
    std::vector<int> ready;
    for (size_t node = 0; node < edges.size(); ++node) {
      waiting[node] = static_cast<int64_t>(edges[node].size());
      for (const Edge &edge : edges[node])
        users[edge.from].push_back(static_cast<int>(node));
      if (edges[node].empty())
        ready.push_back(static_cast<int>(node));
    }
    while (!ready.empty()) {
      int node = ready.back();
      ready.pop_back();
      begin[node] = 0;
      for (const Edge &edge : edges[node])
        begin[node] = std::max(begin[node], begin[edge.from] + edge.length);
      for (int user : users[node])
        if (--waiting[user] == 0)
          ready.push_back(user);
    }
    return begin;
  }

  std::map<Key, int> number;
  std::vector<Key> keys;
  std::vector<std::vector<Edge>> edges;
};

void expectProgress(const ScheduleCase &each, bool skips) {
  SCOPED_TRACE(each.toString() + (skips ? " with values that skip stages" : ""));
  std::vector<StageSchedule> schedules = makeSchedule(each.kind, each.shape);
  std::vector<Transfer> transfers = transfersOf(each.shape, skips);
  std::vector<int64_t> depths = channelDepths(each.shape, schedules, transfers);
  for (MessageOrder order : {MessageOrder::TakeFirst, MessageOrder::SendFirst})
    EXPECT_TRUE(PipelineRun(each.shape, schedules, transfers, depths, order).run());
  EarliestBegins begins(each.shape, schedules);
  std::vector<int64_t> unbounded = begins.find();
  EXPECT_EQ(std::count(unbounded.begin(), unbounded.end(), EarliestBegins::never), 0);
  EXPECT_EQ(begins.find(transfers, depths, each.shape.microBatches), unbounded) << "entries wait for room";
}

TEST(ScheduleProgress, noStageWaitsInACircleOrForRoom) {
  for (const ScheduleCase &each : allCases())
    expectProgress(each, /*skips=*/false);
}

TEST(ScheduleProgress, norWithValuesThatSkipStages) {
  for (const ScheduleCase &each : allCases(5))
    expectProgress(each, /*skips=*/true);
}

TEST(ScheduleProgress, norWithStagesWithoutWork) {
  for (const ScheduleCase &each : casesWithEmptyStages()) {
    expectProgress(each, /*skips=*/false);
    expectProgress(each, /*skips=*/true);
  }
}

TEST(ChannelDepth, isTheLeastWithWhichNothingWaitsForRoom) {
  for (const ScheduleCase &each : allCases(4)) {
    SCOPED_TRACE(each.toString());
    std::vector<StageSchedule> schedules = makeSchedule(each.kind, each.shape);
    std::vector<Transfer> transfers = transfersOf(each.shape, /*skips=*/true);
    std::vector<int64_t> depths = channelDepths(each.shape, schedules, transfers);
    EarliestBegins begins(each.shape, schedules);
    std::vector<int64_t> unbounded = begins.find();
    for (int64_t &depth : depths) {
      if (depth == 1)
        continue;
      --depth;
      EXPECT_NE(begins.find(transfers, depths, each.shape.microBatches), unbounded);
      ++depth;
    }
  }
}

TEST(ChannelDepth, isOneBetweenNeighboursOfOneForwardOneBackward) {
  for (int64_t stages = 2; stages <= 8; ++stages) {
    PipelineShape shape{stages, 1, 8 * stages};
    auto schedules = makeSchedule(ScheduleKind::OneForwardOneBackward, shape);
    auto transfers = transfersOf(shape, /*skips=*/false);
    EXPECT_EQ(channelDepths(shape, schedules, transfers), std::vector<int64_t>(transfers.size(), 1));
  }
}

// Why depths are computed: the first stage fills the pipeline while the last sends back to it.
TEST(ChannelDepth, oneMessageIsTooFewForFourStagesThatSendPastNeighbours) {
  PipelineShape shape{4, 1, 4};
  auto schedules = makeSchedule(ScheduleKind::OneForwardOneBackward, shape);
  auto transfers = transfersOf(shape, /*skips=*/true);
  std::vector<int64_t> one(transfers.size(), 1);
  EXPECT_FALSE(PipelineRun(shape, schedules, transfers, one, MessageOrder::TakeFirst).run());
  EXPECT_EQ(channelDepths(shape, schedules, {{WorkKind::Forward, 0, 3}, {WorkKind::Backward, 3, 0}}),
            (std::vector<int64_t>{3, 2}));
}

} // namespace
