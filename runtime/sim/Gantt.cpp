//===- Gantt.cpp - what each stage does when, as text ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Gantt.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

using namespace tgpt;
using namespace tgpt::runtime::sim;

/// A forward is the last digit of its micro-batch, a backward a letter for it, so that neighbours differ.
static char symbolOf(const plan::Segment &segment, int64_t microBatch) {
  switch (segment.kind()) {
  case plan::Segment::FORWARD: return static_cast<char>('0' + microBatch % 10);
  case plan::Segment::BACKWARD: return static_cast<char>('a' + microBatch % 10);
  case plan::Segment::WEIGHT_GRADIENT: return 'w';
  case plan::Segment::UPDATE: return 'U';
  case plan::Segment::BEGIN: return 'i';
  default: return '?';
  }
}

namespace {
/// What happens in a column.
struct Column {
  char symbol = '.';
  double most = 0; ///< of one entry
  double busy = 0; ///< of all
};
} // namespace

/// Of each column that is busy for half of its time, what takes most of it.
static std::string rowOf(const plan::StageProgram &stage, const RankSeconds &rank, double secondsPerColumn,
                         int columns) {
  std::vector<Column> row(columns);
  for (size_t i = 0; i < rank.entries.size(); ++i) {
    const plan::ScheduleEntry &entry = stage.schedule(static_cast<int>(i));
    char symbol = symbolOf(stage.segments(static_cast<int>(entry.segment())), entry.micro_batch());
    auto [begin, end] = rank.entries[i];
    int first = static_cast<int>(begin / secondsPerColumn), last = static_cast<int>(end / secondsPerColumn);
    for (int c = std::max(first, 0); c <= std::min(last, columns - 1); ++c) {
      double within = std::min(end, (c + 1) * secondsPerColumn) - std::max(begin, c * secondsPerColumn);
      row[c].busy += within;
      if (within > row[c].most)
        row[c].most = within, row[c].symbol = symbol;
    }
  }
  std::string text;
  for (const Column &column : row)
    text += column.busy >= secondsPerColumn / 2 ? column.symbol : '.';
  return text;
}

void tgpt::runtime::sim::printGantt(const plan::Plan &plan, const SimulatedStep &step, int columns, std::ostream &out) {
  double end = step.seconds - step.overheadSeconds;
  if (end <= 0)
    return;
  char line[160];
  std::snprintf(line, sizeof line, "a column is %.4g ms; forward 0-9 and backward a-j by micro-batch",
                1e3 * end / columns);
  out << line << ", w weight gradients, U update, . idle\n";
  size_t width = std::to_string(plan.stages_size() - 1).size();
  for (int s = 0; s < plan.stages_size(); ++s) {
    std::string number = std::to_string(s);
    out << "stage " << std::string(width - number.size(), ' ') << number << " |"
        << rowOf(plan.stages(s), step.stages[s], end / columns, columns) << "|\n";
  }
}
