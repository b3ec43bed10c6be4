//===- PartPeaks.h - what is live while a part of the model runs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ops of a micro-batch in the order in which a stage runs them, each of a part and a
// phase. What an op makes has its bytes from the start of the op, what it overwrites
// becomes its result at its end. Plain numbers, no IR.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_PARTPEAKS_H
#define TGPT_PASSES_PIPELINE_PARTPEAKS_H

#include <cstdint>
#include <limits>
#include <vector>

namespace tgpt {

enum class PartPhase { Forward, Backward, WeightGradient };

/// One op.
struct PartStep {
  int64_t part = 0;
  PartPhase phase = PartPhase::Forward;
};

/// Moments count starts and ends of steps: step i starts at 2i and ends at 2i + 1.
inline int64_t startOf(int64_t step) {
  return 2 * step;
}
inline int64_t endOf(int64_t step) {
  return 2 * step + 1;
}

class PartPeaks {
public:
  static constexpr int64_t never = std::numeric_limits<int64_t>::max();

  /// The steps are sorted by phase.
  PartPeaks(std::vector<PartStep> steps, int64_t parts);

  /// Live from one moment until before another one, whatever part runs. Nothing where it does not begin before.
  void addScratch(int64_t from, int64_t until, int64_t bytes);
  /// In a slot: counts while this part runs.
  void addKept(int64_t part, int64_t from, int64_t until, int64_t bytes);

  /// The start of the part's first step of a phase; `never` where it has none.
  int64_t startOfPart(int64_t part, PartPhase phase) const;

  /// The most bytes at the start of any step: all, and of what is kept alone. 0 without steps.
  struct Peak {
    int64_t liveBytes = 0, keptBytes = 0;
  };
  /// [part][phase]
  std::vector<std::vector<Peak>> peaks() const;

private:
  struct Change {
    int64_t moment, bytes;
  };

  std::vector<PartStep> steps;
  std::vector<int64_t> scratch;             ///< changes, by moment
  std::vector<std::vector<Change>> kept;    ///< of each part
  std::vector<std::vector<int64_t>> ofPart; ///< its steps, rising
};

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_PARTPEAKS_H
