//===- JobFailure.cpp - why a job ended, and where every rank was --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of ranks. Hundreds of ranks are at a few places, so a row is a place.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/JobFailure.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>
#include <array>

using namespace tgpt;
using namespace tgpt::runtime;

RankPosition tgpt::runtime::positionAt(const plan::Plan &plan, int64_t stage, int64_t entry, int segment,
                                       int instruction) {
  const plan::StageProgram &program = plan.stages(static_cast<int>(stage));
  RankPosition position;
  position.stage = stage;
  position.entry = entry;
  position.entries = program.schedule_size();
  if (entry >= position.entries)
    return position;
  const plan::Instruction &at = program.segments(segment).instructions(instruction);
  position.state = RankPosition::State::Working;
  position.segment = program.segments(segment).name();
  position.microBatch = program.schedule(static_cast<int>(entry)).micro_batch();
  position.instruction = instruction;
  position.opcode = instructionText(at);
  if (at.location() > 0)
    position.location = plan.locations(static_cast<int>(at.location()));
  return position;
}

namespace {
/// A SchedulePlace, read once.
struct ReadPlace {
  explicit ReadPlace(const SchedulePlace &place) : entry(place.entry.load(std::memory_order_relaxed)) {
    uint64_t packed = place.instruction.load(std::memory_order_relaxed);
    isEnd = packed == SchedulePlace::behindAll;
    isAny = packed != SchedulePlace::beforeAll && !isEnd;
    segment = static_cast<int>((packed - 1) >> 32);
    index = static_cast<int>((packed - 1) & 0xffffffff);
  }
  int64_t entry;
  bool isAny, isEnd;
  int segment, index;
};
} // namespace

RankPosition tgpt::runtime::positionAt(const plan::Plan &plan, int64_t stage, const SchedulePlace &place) {
  ReadPlace at(place);
  if (at.isAny)
    return positionAt(plan, stage, at.entry, at.segment, at.index);
  RankPosition position;
  position.stage = stage;
  position.entries = plan.stages(static_cast<int>(stage)).schedule_size();
  position.entry = at.isEnd ? position.entries : 0;
  return position;
}

std::string tgpt::runtime::placeText(const plan::Plan &plan, int64_t stage, const SchedulePlace &place) {
  ReadPlace at(place);
  if (!at.isAny)
    return at.isEnd ? "the end of its step" : "the start of its step";
  const plan::StageProgram &program = plan.stages(static_cast<int>(stage));
  std::string text = instructionPlace(plan, program, at.segment, at.index);
  int64_t micro = program.schedule(static_cast<int>(at.entry)).micro_batch();
  return micro < 0 ? text : text + ", micro-batch " + std::to_string(micro);
}

const plan::Instruction *tgpt::runtime::instructionAt(const plan::Plan &plan, int64_t stage,
                                                      const SchedulePlace &place) {
  ReadPlace at(place);
  return at.isAny ? &plan.stages(static_cast<int>(stage)).segments(at.segment).instructions(at.index) : nullptr;
}

std::string tgpt::runtime::stateText(RankPosition::State state) {
  switch (state) {
  case RankPosition::State::Failed: return "failed";
  case RankPosition::State::Working: return "working";
  case RankPosition::State::Waiting: return "waiting";
  case RankPosition::State::Stopped: return "stopped";
  case RankPosition::State::Ended: return "ended";
  case RankPosition::State::Died: return "died";
  }
  return "";
}

bool tgpt::runtime::beginsWithRank(const std::string &message, int64_t rank) {
  return message.starts_with("rank " + std::to_string(rank) + " (");
}

std::string tgpt::runtime::rangesText(const std::vector<int64_t> &numbers) {
  std::string text;
  for (size_t i = 0, next; i < numbers.size(); i = next) {
    next = i + 1;
    while (next < numbers.size() && numbers[next] == numbers[next - 1] + 1)
      ++next;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (next > i + 1)
      text += (next > i + 2 ? "-" : ", ") + std::to_string(numbers[next - 1]);
  }
  return text;
}

static bool isSamePlace(const RankPosition &a, const RankPosition &b) {
  auto key = [](const RankPosition &p) {
    return std::tie(p.isCommunication, p.isBetweenSteps, p.state, p.stage, p.entry, p.instruction, p.waitsOn);
  };
  return key(a) == key(b);
}

std::vector<RanksAtPosition> tgpt::runtime::groupedByPlace(const std::vector<RankPosition> &positions) {
  std::vector<RanksAtPosition> groups;
  for (const RankPosition &position : positions) {
    auto same = std::find_if(groups.begin(), groups.end(),
                             [&](const RanksAtPosition &group) { return isSamePlace(group.position, position); });
    if (same == groups.end())
      same = groups.insert(groups.end(), {{}, position});
    same->ranks.push_back(position.rank);
    std::vector<int64_t> &missing = same->position.missing;
    missing.insert(missing.end(), position.missing.begin(), position.missing.end());
  }
  for (RanksAtPosition &group : groups) {
    std::vector<int64_t> &missing = group.position.missing;
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  }
  return groups;
}

using Row = std::array<std::string, 7>;

static Row rowOf(const RanksAtPosition &group) {
  const RankPosition &at = group.position;
  std::string state = stateText(at.state);
  if (at.state == RankPosition::State::Waiting)
    state +=
        " on " + at.waitsOn +
        (at.missing.empty() ? "" : (at.missing.size() == 1 ? " for rank " : " for ranks ") + rangesText(at.missing));
  std::string place = std::to_string(at.instruction) + " " + at.opcode;
  if (at.segment.empty())
    place = at.isBetweenSteps && at.state == RankPosition::State::Died ? "between steps"
            : at.entry == at.entries                                   ? "the end of its step"
                                                                       : "the start of its step";
  else if (!at.location.empty())
    place += " (" + at.location + ")";
  return {rangesText(group.ranks) + (at.isCommunication ? " (communication)" : ""),
          std::to_string(at.stage),
          std::to_string(at.entry) + " of " + std::to_string(at.entries),
          at.segment,
          at.microBatch < 0 ? "" : std::to_string(at.microBatch),
          place,
          state};
}

static std::string tableOf(const std::vector<RankPosition> &positions) {
  std::vector<Row> rows = {{"ranks", "stage", "entry", "segment", "micro-batch", "instruction", "state"}};
  for (const RanksAtPosition &group : groupedByPlace(positions))
    rows.push_back(rowOf(group));
  std::array<size_t, 7> widths{};
  for (const Row &row : rows)
    for (size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  std::string text;
  for (const Row &row : rows) {
    std::string line;
    for (size_t column = 0; column + 1 < row.size(); ++column)
      line += row[column] + std::string(widths[column] + 2 - row[column].size(), ' ');
    text += (text.empty() ? "  " : "\n  ") + line + row.back();
  }
  return text;
}

static std::string joined(const std::string &first, const std::string &second) {
  return first + (first.empty() || second.empty() ? "" : "\n") + second;
}

JobFailure::JobFailure(Kind kind, const std::string &message, std::vector<RankPosition> positions, bool hasLostThreads,
                       const std::string &ownDetails)
    : Error(message, joined(ownDetails, positions.empty() ? "" : tableOf(positions))), failureKind(kind),
      rankPositions(std::move(positions)), lostThreads(hasLostThreads) {}
