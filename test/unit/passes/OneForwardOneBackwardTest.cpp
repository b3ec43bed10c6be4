//===- OneForwardOneBackwardTest.cpp - the schedule is complete, small and cannot stop ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For 1 to 8 stages and 1 to 8 * stages micro-batches: the facts every schedule must
// have, and a run of all stages over channels that hold few messages.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/OneForwardOneBackward.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

using namespace tgpt;
using Kind = ScheduleEntry::Kind;

namespace {

struct Size {
  int64_t stages, microBatches;
};

std::vector<Size> sizes() {
  std::vector<Size> all;
  for (int64_t stages = 1; stages <= 8; ++stages)
    for (int64_t microBatches : std::set<int64_t>{1, stages - 1, stages, stages + 1, 8 * stages})
      if (microBatches >= 1)
        all.push_back({stages, microBatches});
  return all;
}

class ScheduleTest : public testing::TestWithParam<Size> {};

TEST_P(ScheduleTest, everyMicroBatchHasOneForwardThenOneBackwardInOrder) {
  auto [stages, microBatches] = GetParam();
  for (int64_t stage = 0; stage < stages; ++stage) {
    int64_t forwards = 0, backwards = 0;
    for (const ScheduleEntry &entry : scheduleOneForwardOneBackward(stage, stages, microBatches)) {
      EXPECT_EQ(entry.microBatch, entry.kind == Kind::Forward ? forwards++ : backwards++);
      EXPECT_LE(backwards, forwards);
    }
    EXPECT_EQ(forwards, microBatches);
    EXPECT_EQ(backwards, microBatches);
  }
}

TEST_P(ScheduleTest, noSlotIsReusedInFlightAndAllAreUsed) {
  auto [stages, microBatches] = GetParam();
  for (int64_t stage = 0; stage < stages; ++stage) {
    int64_t slots = slotsInFlight(stage, stages, microBatches);
    EXPECT_EQ(slots, std::min(microBatches, stages - stage));
    std::map<int64_t, int64_t> inFlight;
    size_t most = 0;
    for (const ScheduleEntry &entry : scheduleOneForwardOneBackward(stage, stages, microBatches)) {
      ASSERT_GE(entry.slot, 0);
      ASSERT_LT(entry.slot, slots);
      if (entry.kind == Kind::Forward) {
        EXPECT_TRUE(inFlight.emplace(entry.slot, entry.microBatch).second) << entry.toString();
      } else {
        ASSERT_TRUE(inFlight.count(entry.slot)) << entry.toString();
        EXPECT_EQ(inFlight[entry.slot], entry.microBatch);
        inFlight.erase(entry.slot);
      }
      most = std::max(most, inFlight.size());
    }
    EXPECT_TRUE(inFlight.empty());
    EXPECT_EQ(most, static_cast<size_t>(slots));
  }
}

/// What one stage hands another for one entry of its schedule.
struct Message {
  int64_t from, to;
  bool forward;
  int64_t microBatch;
  bool operator==(const Message &) const = default;
};

using Depth = int64_t (*)(int64_t from, int64_t to);
int64_t one(int64_t, int64_t) {
  return 1;
}

/// All stages run their schedules. A channel is a (from, to) pair that holds up to
/// `depth` messages in order; a send waits for room, a receive for a message.
class PipelineRun {
public:
  /// With `skips`, every stage also sends to the stages beyond its neighbours.
  PipelineRun(Size size, bool skips, Depth depth) : size(size), skips(skips), depth(depth), ranks(size.stages) {
    for (int64_t stage = 0; stage < size.stages; ++stage)
      for (const ScheduleEntry &entry : scheduleOneForwardOneBackward(stage, size.stages, size.microBatches))
        addEntry(stage, entry);
  }

  /// True when every stage came to its end.
  bool run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int64_t stage = 0; stage < size.stages; ++stage)
        while (step(stage))
          moved = true;
    }
    for (const Rank &rank : ranks)
      if (rank.next < rank.actions.size())
        return false;
    return true;
  }

  int64_t countMixedUp() const { return mixedUp; }
  bool channelsEmpty() const {
    return std::all_of(channels.begin(), channels.end(), [](const auto &channel) { return channel.second.empty(); });
  }

private:
  struct Action {
    bool send;
    Message message;
  };
  struct Rank {
    std::vector<Action> actions;
    size_t next = 0;
  };

  void addEntry(int64_t stage, const ScheduleEntry &entry) {
    bool forward = entry.kind == Kind::Forward;
    int64_t reach = skips ? size.stages : 1;
    for (int64_t distance = reach; distance >= 1; --distance)
      add(false, forward ? stage - distance : stage + distance, stage, forward, entry.microBatch);
    for (int64_t distance = 1; distance <= reach; ++distance)
      add(true, stage, forward ? stage + distance : stage - distance, forward, entry.microBatch);
  }

  void add(bool send, int64_t from, int64_t to, bool forward, int64_t microBatch) {
    int64_t self = send ? from : to, other = send ? to : from;
    if (other >= 0 && other < size.stages)
      ranks[self].actions.push_back({send, {from, to, forward, microBatch}});
  }

  bool step(int64_t stage) {
    Rank &rank = ranks[stage];
    if (rank.next == rank.actions.size())
      return false;
    const auto &[send, message] = rank.actions[rank.next];
    std::deque<Message> &held = channels[{message.from, message.to}];
    if (send ? static_cast<int64_t>(held.size()) == depth(message.from, message.to) : held.empty())
      return false;
    if (send) {
      held.push_back(message);
    } else {
      mixedUp += !(held.front() == message);
      held.pop_front();
    }
    ++rank.next;
    return true;
  }

  Size size;
  bool skips;
  Depth depth;
  std::vector<Rank> ranks;
  std::map<std::pair<int64_t, int64_t>, std::deque<Message>> channels;
  int64_t mixedUp = 0;
};

void expectRuns(PipelineRun pipeline) {
  EXPECT_TRUE(pipeline.run());
  EXPECT_EQ(pipeline.countMixedUp(), 0);
  EXPECT_TRUE(pipeline.channelsEmpty());
}

TEST_P(ScheduleTest, neverStopsWithOneMessageAChannelBetweenNeighbours) {
  expectRuns(PipelineRun(GetParam(), /*skips=*/false, one));
}

TEST_P(ScheduleTest, neverStopsWithSendsPastNeighboursAndTheirDepth) {
  expectRuns(PipelineRun(GetParam(), /*skips=*/true, channelDepth));
}

// Why channelDepth is not one everywhere.
TEST(ChannelDepth, oneMessageIsTooFewForFourStagesThatSendPastNeighbours) {
  EXPECT_FALSE(PipelineRun({4, 4}, /*skips=*/true, one).run());
  EXPECT_EQ(channelDepth(0, 1), 1);
  EXPECT_EQ(channelDepth(3, 0), 3);
}

/// Time units until all stages are done, each F and B one unit, messages instant.
int64_t makespan(Size size) {
  std::map<std::tuple<int64_t, bool, int64_t>, int64_t> doneAt; // (stage, forward, micro-batch)
  std::vector<size_t> next(size.stages, 0);
  std::vector<int64_t> freeAt(size.stages, 0);
  int64_t last = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t stage = 0; stage < size.stages; ++stage) {
      auto entries = scheduleOneForwardOneBackward(stage, size.stages, size.microBatches);
      if (next[stage] == entries.size())
        continue;
      ScheduleEntry entry = entries[next[stage]];
      bool forward = entry.kind == Kind::Forward;
      int64_t before = forward ? stage - 1 : stage + 1;
      auto input = doneAt.find({before, forward, entry.microBatch});
      bool hasInput = before < 0 || before == size.stages || input != doneAt.end();
      if (!hasInput)
        continue;
      int64_t start = std::max(freeAt[stage], input == doneAt.end() ? 0 : input->second);
      last = std::max(last, freeAt[stage] = doneAt[{stage, forward, entry.microBatch}] = start + 1);
      ++next[stage];
      moved = true;
    }
  }
  return last;
}

// The bubble of the schedule is (stages - 1) units each way: no order does better.
TEST_P(ScheduleTest, takesTheLeastTime) {
  auto [stages, microBatches] = GetParam();
  EXPECT_EQ(makespan(GetParam()), 2 * (microBatches + stages - 1));
}

INSTANTIATE_TEST_SUITE_P(Sizes, ScheduleTest, testing::ValuesIn(sizes()), [](const auto &info) {
  return "stages" + std::to_string(info.param.stages) + "MicroBatches" + std::to_string(info.param.microBatches);
});

TEST(ScheduleEntry, isWrittenAsInTheSchedule) {
  EXPECT_EQ((ScheduleEntry{Kind::Forward, 3, 1}.toString()), "F3@1");
  EXPECT_EQ((ScheduleEntry{Kind::Backward, 12, 0}.toString()), "B12@0");
}

TEST(OneForwardOneBackward, firstOfTwoStagesAlternatesAfterOneForward) {
  std::vector<ScheduleEntry> expected = {{Kind::Forward, 0, 0}, {Kind::Forward, 1, 1},  {Kind::Backward, 0, 0},
                                         {Kind::Forward, 2, 0}, {Kind::Backward, 1, 1}, {Kind::Backward, 2, 0}};
  EXPECT_EQ(scheduleOneForwardOneBackward(0, 2, 3), expected);
}

} // namespace
