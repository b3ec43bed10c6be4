//===- runtime/training/ProgressLine.cpp - one line that says how training goes ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/ProgressLine.h"

#include <cmath>
#include <cstdio>

using namespace tgpt::runtime;

template <typename... Values> static std::string printed(const char *format, Values... values) {
  char text[128];
  std::snprintf(text, sizeof(text), format, values...);
  return text;
}

std::string tgpt::runtime::shortCount(double value) {
  const char *unit = "";
  for (const char *next : {"k", "M", "G", "T"}) {
    if (value < 999.5)
      break;
    value /= 1000;
    unit = next;
  }
  const char *format = *unit == 0 || value >= 99.95 ? "%.0f%s" : value >= 9.995 ? "%.1f%s" : "%.2f%s";
  return printed(format, value, unit);
}

static std::string remaining(double seconds) {
  auto whole = static_cast<long long>(seconds + 0.5);
  if (whole >= 3600)
    return printed("%lldh%02lldm", whole / 3600, whole / 60 % 60);
  return whole >= 60 ? printed("%lldm%02llds", whole / 60, whole % 60) : printed("%llds", whole);
}

std::string ProgressLine::paint(const char *code, const std::string &text) const {
  return colour ? printed("\x1b[%sm", code) + text + "\x1b[0m" : text;
}

std::string ProgressLine::format(const StepReport &report) const {
  int digits = static_cast<int>(std::to_string(lastStep).size());
  std::string line =
      printed("step %*lld/%lld", digits, static_cast<long long>(report.step), static_cast<long long>(lastStep)) +
      "  loss " + paint("1;32", printed("%.4f", report.loss)) + printed("  grad norm %.3f", std::abs(report.gradNorm)) +
      printed("  lr %.2e", report.learningRate) + "  " + paint("36", shortCount(report.tokensPerSecond) + " tokens/s");
  if (report.lossScale > 0)
    line += printed("  scale %g", report.lossScale);
  if (report.skippedSteps > 0)
    line += printed("  %lld skipped", static_cast<long long>(report.skippedSteps));
  if (report.flopsShare > 0)
    line += printed("  %.1f%% of GEMM peak", 100 * report.flopsShare);
  if (report.step < lastStep)
    line += "  " + paint("2", remaining(secondsLeft(report)) + " left");
  return line;
}

double ProgressLine::secondsLeft(const StepReport &report) const {
  double secondsPerStep = timedSteps > 0 ? timedSeconds / static_cast<double>(timedSteps) : report.stepSeconds;
  return secondsPerStep * static_cast<double>(lastStep - report.step);
}

void ProgressLine::show(const StepReport &report) {
  bool keep = first || report.step == lastStep || report.step % every == 0;
  if (!first) {
    timedSeconds += report.stepSeconds;
    ++timedSteps;
  }
  first = false;
  if (terminal)
    out << "\r" << format(report) << "\x1b[K" << (keep ? "\n" : "") << std::flush;
  else if (keep)
    out << format(report) << std::endl;
}

void ProgressLine::note(const std::string &text) {
  out << (terminal ? "\r" : "") << text << (terminal ? "\x1b[K" : "") << std::endl;
}
