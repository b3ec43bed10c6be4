//===- runtime/training/PartTimes.cpp - where the time of a step goes -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/PartTimes.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

using namespace tgpt::runtime;

/// An opcode belongs to the part whose entry it starts with.
static constexpr std::array<std::pair<std::string_view, std::string_view>, 19> parts = {{
    {"linear", "GEMM"},
    {"attention", "attention"},
    {"rope", "attention"},
    {"rms_norm", "norms"},
    {"layer_norm", "norms"},
    {"cross_entropy", "loss"},
    {"loss_statistics", "loss"},
    {"token_loss", "loss"},
    {"divide", "loss"},
    {"adamw", "optimizer"},
    {"sum_squares", "optimizer"},
    {"clip_scale", "optimizer"},
    {"all_reduce", "communication"},
    {"all_gather", "communication"},
    {"all_to_all", "communication"},
    {"reduce_scatter", "communication"},
    {"send", "communication"},
    {"recv", "communication"},
    {"wait", "communication"},
}};

/// What runs beside the ranks' own threads, and takes none of their time.
static constexpr std::string_view inFlight = "in flight";

std::string_view tgpt::runtime::partOf(std::string_view opcode) {
  for (auto [prefix, part] : parts)
    if (opcode.substr(0, prefix.size()) == prefix)
      return part;
  return "other";
}

namespace {
struct Times {
  double seconds = 0, cpuSeconds = 0, flops = 0, bytes = 0;
  int64_t calls = 0;

  void add(const Times &more) {
    seconds += more.seconds, cpuSeconds += more.cpuSeconds, flops += more.flops, bytes += more.bytes,
        calls += more.calls;
  }
};
} // namespace

template <typename Key> static std::vector<std::pair<Key, Times>> bySeconds(const std::map<Key, Times> &times) {
  std::vector<std::pair<Key, Times>> sorted(times.begin(), times.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) { return a.second.seconds > b.second.seconds; });
  return sorted;
}

static void printRow(std::ostream &out, std::string_view name, const Times &times, double total, double perStep) {
  char row[160];
  std::snprintf(row, sizeof(row), "%-24.*s %10.3f %7.1f %10.3f %9.1f %10.2f %9.2f\n", static_cast<int>(name.size()),
                name.data(), 1e3 * times.seconds * perStep, total > 0 ? 100 * times.seconds / total : 0,
                1e3 * times.cpuSeconds * perStep, static_cast<double>(times.calls) * perStep,
                times.seconds > 0 ? times.flops / times.seconds / 1e9 : 0,
                times.seconds > 0 ? times.bytes / times.seconds / 1e9 : 0);
  out << row;
}

void tgpt::runtime::printPartTimes(const Job &job, int64_t steps, std::ostream &out) {
  std::map<std::string, Times> byOpcode;
  std::map<std::string_view, Times> byPart;
  std::map<std::string, Times> started;
  double total = 0;
  for (int64_t rank = 0; rank < job.ranks(); ++rank)
    for (const ProfileEntry &entry : job.profile(rank)) {
      Times times{entry.seconds, entry.cpuSeconds, entry.flops, entry.bytes, entry.calls};
      if (entry.inFlight) {
        started[entry.opcode].add(times);
        byPart[inFlight].add(times);
        continue;
      }
      byOpcode[entry.opcode].add(times);
      byPart[partOf(entry.opcode)].add(times);
      total += entry.seconds;
    }
  double perStep = 1.0 / static_cast<double>(std::max<int64_t>(steps, 1) * job.ranks());
  out << "part (mean over ranks)      ms/step       %     cpu ms calls/step    Gflop/s      GB/s\n";
  for (const auto &[part, times] : bySeconds(byPart)) {
    printRow(out, part, times, total, perStep);
    for (const auto &[opcode, opcodeTimes] : bySeconds(part == inFlight ? started : byOpcode))
      if (part == inFlight || partOf(opcode) == part)
        printRow(out, "  " + opcode, opcodeTimes, total, perStep);
  }
}
