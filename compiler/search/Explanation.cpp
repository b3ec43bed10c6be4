//===- Explanation.cpp - why a plan loses ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/search/Explanation.h"
#include "cost/BytesText.h"
#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tgpt::search {

std::vector<TimePart> timePartsOf(const cost::StepBreakdown &split) {
  return {{"products", "matrix products", split.products},
          {"attention", "attention", split.attention},
          {"elementwise", "elementwise kernels", split.elementwise},
          {"ends", "embedding, head and loss", split.ends},
          {"recomputation", "recomputation", split.recomputation},
          {"bubble", "waiting for stages", split.bubble},
          {"tensor_communication", "tensor-parallel communication", split.tensorCommunication},
          {"stage_communication", "sends between stages", split.stageCommunication},
          {"shard_communication", "ZeRO-3's gathers and scatters", split.shardCommunication},
          {"data_communication", "gradients and states over dp", split.dataCommunication},
          {"optimizer", "optimizer", split.optimizer},
          {"overhead", "host", split.overhead}};
}

Difference differenceOf(const Problem &problem, const Scored &plan, const Scored &other) {
  Difference difference{plan.seconds - other.seconds, plan.bytes - other.bytes, {}};
  difference.parts = timePartsOf(breakdownOf(problem, plan.candidate));
  std::vector<TimePart> others = timePartsOf(breakdownOf(problem, other.candidate));
  for (std::size_t i = 0; i < others.size(); ++i)
    difference.parts[i].seconds -= others[i].seconds;
  std::stable_sort(difference.parts.begin(), difference.parts.end(),
                   [](const TimePart &a, const TimePart &b) { return std::abs(a.seconds) > std::abs(b.seconds); });
  return difference;
}

std::string plainSecondsText(double seconds) {
  double size = std::abs(seconds);
  const char *unit = size >= 1 ? "s" : size >= 1e-3 ? "ms" : "us";
  double shown = size >= 1 ? size : size >= 1e-3 ? 1e3 * size : 1e6 * size;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : 2, shown, unit);
  return text;
}

std::string signedSecondsText(double seconds) {
  constexpr double least = 0.5e-8; // what plainSecondsText rounds to nothing
  if (std::abs(seconds) < least)
    return "+0 s";
  return (seconds < 0 ? "-" : "+") + plainSecondsText(seconds);
}

std::string signedBytesText(double bytes) {
  return (bytes < 0 ? "-" : "+") + bytesText(bytes);
}

std::string mainPartsText(const Difference &difference) {
  constexpr std::size_t most = 3;
  double least = difference.parts.empty() ? 0 : std::abs(difference.parts.front().seconds) / 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, difference.parts.size()); ++i) {
    const TimePart &part = difference.parts[i];
    if (part.seconds != 0 && std::abs(part.seconds) >= least)
      text += (text.empty() ? "" : ", ") + std::string(part.name) + " " + signedSecondsText(part.seconds);
  }
  return text.empty() ? "the same time" : text;
}

} // namespace tgpt::search
