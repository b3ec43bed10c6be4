//===- Gantt.cpp - a schedule for people and for programs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/schedule/Gantt.h"
#include "passes/pipeline/schedule/Simulation.h"
#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace tgpt;

namespace {

std::string padded(std::string text, size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string rightAligned(const std::string &text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * share);
  return text;
}

/// A line without the spaces at its end.
std::string line(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string slotsText(const StageSchedule &schedule) {
  std::string text;
  for (int64_t slots : schedule.slots)
    text += (text.empty() ? "" : " + ") + std::to_string(slots);
  return text;
}

/// The rows of all stages over time.
class Chart {
public:
  Chart(const std::vector<StageSchedule> &schedules, const Timeline &timeline, const GanttStyle &style)
      : schedules(schedules), timeline(timeline), style(style), units(std::llround(timeline.makespan)) {
    labelWidth = std::string("stage ").size() + std::to_string(schedules.size() - 1).size() + 2;
    cellWidth = std::to_string(std::max<int64_t>(units - 1, 0)).size() + 1;
    for (const auto &stage : timeline.stages)
      for (const TimedEntry &timed : stage)
        cellWidth = std::max(cellWidth, timed.entry.workToString().size() + 1);
    chooseColumns();
  }

  std::string text() const {
    std::string result = line(row("time", [&](int64_t unit) { return padded(std::to_string(unit), cellWidth); }));
    for (size_t stage = 0; stage < schedules.size(); ++stage)
      result += line(stageRow(stage));
    return result;
  }

private:
  static constexpr std::string_view gap = " ...  ";

  /// What does not fit is left out between the first and the last columns.
  void chooseColumns() {
    int64_t room = std::max<int64_t>(style.width - static_cast<int64_t>(labelWidth), 0) / cellWidth;
    headEnd = tailBegin = units;
    if (units <= room)
      return;
    int64_t gapWidth = gap.size();
    room = std::max<int64_t>((style.width - static_cast<int64_t>(labelWidth) - gapWidth) / cellWidth, 2);
    headEnd = (room + 1) / 2;
    tailBegin = units - room / 2;
  }

  template <typename Cell> std::string row(const std::string &label, Cell cell) const {
    std::string text = padded(label, labelWidth);
    for (int64_t unit = 0; unit < headEnd; ++unit)
      text += cell(unit);
    if (headEnd < tailBegin)
      text += gap;
    for (int64_t unit = tailBegin; unit < units; ++unit)
      text += cell(unit);
    return text;
  }

  std::string coloured(WorkKind kind, const std::string &text) const {
    static const char *const colours[] = {"\033[34m", "\033[32m", "\033[33m"}; // blue, green, yellow
    return style.isColoured ? colours[static_cast<int>(kind)] + text + "\033[0m" : text;
  }

  std::string stageRow(size_t stage) const {
    const std::vector<TimedEntry> &entries = timeline.stages[stage];
    const StageSchedule &schedule = schedules[stage];
    // Each phase ends with the unit before the first entry behind it.
    size_t steady = schedule.warmUp.size(), coolDown = steady + schedule.steady.size();
    std::vector<const TimedEntry *> at(units, nullptr);
    std::vector<bool> isBoundary(units, false);
    for (size_t i = 0; i < entries.size(); ++i) {
      int64_t unit = std::llround(entries[i].begin);
      at[unit] = &entries[i];
      if (unit > 0 && i > 0 && (i == steady || i == coolDown))
        isBoundary[std::llround(entries[i - 1].end) - 1] = true;
    }
    return row("stage " + std::to_string(stage), [&](int64_t unit) {
      std::string mark(1, isBoundary[unit] ? '|' : ' ');
      if (!at[unit])
        return padded(".", cellWidth - 1) + mark;
      std::string work = at[unit]->entry.workToString();
      return coloured(at[unit]->entry.kind, work) + std::string(cellWidth - 1 - work.size(), ' ') + mark;
    });
  }

  const std::vector<StageSchedule> &schedules;
  const Timeline &timeline;
  const GanttStyle &style;
  int64_t units, headEnd = 0, tailBegin = 0;
  size_t labelWidth = 0, cellWidth = 0;
};

/// The entries of a phase over as many lines as it takes; very many are cut in the middle.
std::string phaseText(const std::string &name, const std::vector<ScheduleEntry> &entries, int64_t width) {
  constexpr size_t most = 96, shown = 32;
  if (entries.empty())
    return "";
  std::string text, current = padded("  " + name, 13);
  auto add = [&](const std::string &word) {
    if (static_cast<int64_t>(current.size() + word.size()) > width) {
      text += line(current);
      current = std::string(13, ' ');
    }
    current += word + " ";
  };
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries.size() > most && i == shown) {
      add("... " + std::to_string(entries.size() - 2 * shown) + " more ...");
      i = entries.size() - shown;
    }
    add(entries[i].toString());
  }
  return text + line(current);
}

std::string stagesTable(const std::vector<StageSchedule> &schedules, const Timeline &timeline) {
  std::string text = "stage  work  idle  slots\n";
  for (size_t stage = 0; stage < schedules.size(); ++stage) {
    int64_t work = std::llround(timeline.busy(static_cast<int64_t>(stage)));
    text += line(rightAligned(std::to_string(stage), 5) + rightAligned(std::to_string(work), 6) +
                 rightAligned(std::to_string(std::llround(timeline.makespan) - work), 6) + "  " +
                 slotsText(schedules[stage]));
  }
  return text;
}

} // namespace

std::string tgpt::scheduleText(const std::string &title, const PipelineShape &shape,
                               const std::vector<StageSchedule> &schedules, const GanttStyle &style) {
  Timeline timeline = simulate(shape, schedules, unitTimes(shape, schedules));
  auto count = [](int64_t number, const std::string &what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : what.back() == 'h' ? "es" : "s");
  };
  std::string text = title + ": " + count(shape.stages, "stage") +
                     (shape.chunks > 1 ? " of " + std::to_string(shape.chunks) + " chunks" : "") + ", " +
                     count(shape.microBatches, "micro-batch") + "\n";
  if (!timeline.isComplete)
    return text + "the stages wait for each other in a circle\n";
  bool isSplit = false;
  for (const StageSchedule &schedule : schedules)
    for (const ScheduleEntry &entry : schedule.entries())
      isSplit |= entry.kind == WorkKind::WeightGradient;
  text += std::string("F forward, B backward") + (isSplit ? ", W weight gradient" : "") + " of a micro-batch" +
          (shape.chunks > 1 ? " (.chunk)" : "") + ", each a unit of time; | steady phase begins and ends\n\n";
  text += Chart(schedules, timeline, style).text() + "\n" + stagesTable(schedules, timeline);
  text += "bubble: " + percent(timeline.bubble()) + " of the time that the stages work\n";
  for (int64_t stage = 0; stage < shape.stages; ++stage) {
    const StageSchedule &schedule = schedules[stage];
    text += "\nstage " + std::to_string(stage) + ", @slot" + "\n" + phaseText("warm-up", schedule.warmUp, style.width) +
            phaseText("steady", schedule.steady, style.width) + phaseText("cool-down", schedule.coolDown, style.width);
  }
  return text;
}

static std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text)
    result += (c == '"' || c == '\\' ? std::string("\\") : "") + c;
  return result + "\"";
}

std::string tgpt::scheduleJson(const std::string &title, const PipelineShape &shape,
                               const std::vector<StageSchedule> &schedules) {
  Timeline timeline = simulate(shape, schedules, unitTimes(shape, schedules));
  std::string text = "{\"schedule\": " + quoted(title) + ", \"stages\": " + std::to_string(shape.stages) +
                     ", \"chunks\": " + std::to_string(shape.chunks) +
                     ", \"micro_batches\": " + std::to_string(shape.microBatches) +
                     ", \"units\": " + std::to_string(std::llround(timeline.makespan)) +
                     ", \"bubble\": " + std::to_string(timeline.bubble()) + ", \"order\": [";
  for (size_t stage = 0; stage < schedules.size(); ++stage) {
    const StageSchedule &schedule = schedules[stage];
    text += (stage == 0 ? "\n" : ",\n") + std::string("  {\"stage\": ") + std::to_string(stage) + ", \"slots\": [";
    for (size_t chunk = 0; chunk < schedule.slots.size(); ++chunk)
      text += (chunk == 0 ? "" : ", ") + std::to_string(schedule.slots[chunk]);
    text += "], \"entries\": [";
    size_t steady = schedule.warmUp.size(), coolDown = steady + schedule.steady.size();
    for (size_t i = 0; i < timeline.stages[stage].size(); ++i) {
      const TimedEntry &timed = timeline.stages[stage][i];
      text += (i == 0 ? "\n" : ",\n") + std::string("    {\"kind\": \"") + "FBW"[static_cast<int>(timed.entry.kind)] +
              "\", \"micro_batch\": " + std::to_string(timed.entry.microBatch) +
              ", \"chunk\": " + std::to_string(timed.entry.chunk) + ", \"slot\": " + std::to_string(timed.entry.slot) +
              ", \"phase\": \"" +
              (i < steady     ? "warm_up"
               : i < coolDown ? "steady"
                              : "cool_down") +
              "\", \"unit\": " + std::to_string(std::llround(timed.begin)) + "}";
    }
    text += "]}";
  }
  return text + "]}\n";
}
