//===- runtime/training/ProgressLine.h - one line that says how training goes -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TGPT_RUNTIME_TRAINING_PROGRESSLINE_H
#define TGPT_RUNTIME_TRAINING_PROGRESSLINE_H

#include "runtime/training/StepReport.h"

#include <ostream>
#include <string>

namespace tgpt::runtime {

/// On a terminal the line is rewritten in place with colour at every step; else a line is printed every `every` steps.
/// Both keep a line for the first, the last and every `every`-th step.
class ProgressLine {
public:
  ProgressLine(std::ostream &out, bool terminal, bool colour, int64_t every, int64_t lastStep)
      : out(out), terminal(terminal), colour(colour), every(every), lastStep(lastStep) {}

  void show(const StepReport &report);
  /// Prints a line of its own, without tearing the progress line.
  void note(const std::string &text);

private:
  std::string format(const StepReport &report) const;
  double secondsLeft(const StepReport &report) const;
  std::string paint(const char *code, const std::string &text) const;

  std::ostream &out;
  bool terminal, colour;
  int64_t every, lastStep;
  bool first = true;
  int64_t timedSteps = 0; // all but the first, which is slower than the rest
  double timedSeconds = 0;
};

/// "950", "12.3k", "4.56M", "1.2G".
std::string shortCount(double value);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRAINING_PROGRESSLINE_H
