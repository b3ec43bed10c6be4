//===- MemoryReportText.cpp - the memory report for people ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formats only; what is counted is in MemoryReport.cpp.
//
//===----------------------------------------------------------------------===//

#include "compiler/report/MemoryReport.h"
#include "compiler/report/TextTable.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>

using namespace tgpt;

static std::string fixed(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// "2N + 4N + 12N with N = 1234", or under ZeRO "2 x 1234 + 4 x 1234 + 12 x 617".
static std::string formulaText(const StateLedger &ledger) {
  auto text = [](int64_t number) { return std::to_string(number); };
  if (ledger.parameters == ledger.gradients && ledger.parameters == ledger.optimizer)
    return text(ledger.parameterBytes) + "N + " + text(ledger.gradientBytes) + "N + " + text(ledger.optimizerBytes) +
           "N with N = " + text(ledger.parameters);
  return text(ledger.parameterBytes) + " x " + text(ledger.parameters) + " + " + text(ledger.gradientBytes) + " x " +
         text(ledger.gradients) + " + " + text(ledger.optimizerBytes) + " x " + text(ledger.optimizer);
}

/// "stages 1-14: 2N + 4N + 12N with N = 1234 is 21.7 KiB, planned 21.8 KiB (128 B more: metrics and alignment)".
static std::string ledgerText(const StageMemoryReport &first, const StageMemoryReport &last) {
  const StateLedger &ledger = first.ledger;
  std::string stages = first.stage == last.stage
                           ? "stage " + std::to_string(first.stage)
                           : "stages " + std::to_string(first.stage) + "-" + std::to_string(last.stage);
  std::string canonical =
      ledger.canonicalBytes > 0 ? std::to_string(ledger.canonicalBytes) + " B of canonical reduction's sums, " : "";
  return "  " + stages + ": " + formulaText(ledger) + " is " + bytesText(ledger.bytes()) + ", planned " +
         bytesText(first.stateBytes()) + " (" + std::to_string(first.stateBytes() - ledger.bytes()) +
         " B more: " + canonical + "metrics and alignment)\n";
}

/// One line for each run of stages with equal ledgers.
static std::string ledgersText(const std::vector<StageMemoryReport> &stages) {
  std::string text;
  for (size_t first = 0, next; first < stages.size(); first = next) {
    for (next = first + 1; next < stages.size(); ++next)
      if (stages[next].ledger != stages[first].ledger || stages[next].stateBytes() != stages[first].stateBytes())
        break;
    text += ledgerText(stages[first], stages[next - 1]);
  }
  return text;
}

/// What holds most of a peak: the inputs of an op of the model, or a category.
struct Holder {
  std::string what, line;
  int64_t bytes = 0;
};

static Holder largestHolder(const StageMemoryReport &stage) {
  std::map<std::pair<std::string, std::string>, Holder> holders;
  for (const LiveItem &item : stage.peak.live) {
    bool isInput = !item.inputOf.empty();
    std::string what = isInput ? item.inputOf + " inputs" : memoryCategoryNames[static_cast<size_t>(item.category)];
    Holder &holder = holders[{what, isInput ? item.inputLine : ""}];
    holder = {what, isInput ? item.inputLine : "", holder.bytes + item.bytes};
  }
  Holder largest;
  bool hasInputs = std::any_of(holders.begin(), holders.end(), [](const auto &h) { return !h.second.line.empty(); });
  for (const auto &[key, holder] : holders)
    if (holder.bytes > largest.bytes && (!holder.line.empty() || !hasInputs))
      largest = holder;
  return largest;
}

/// "stage 0 peaks at backward of micro-batch 0: 1.17 MiB, 64.0 KiB of it swiglu inputs, 2 in
/// flight, nano.mlir:48:20 (while swiglu_grad runs)".
static std::string peakText(const StageMemoryReport &stage) {
  const PeakMoment &peak = stage.peak;
  std::string text = "stage " + std::to_string(stage.stage);
  if (peak.segment.empty())
    return text + " always holds " + bytesText(peak.moment.bytes) + "\n";
  text += " peaks at " + peak.segment;
  if (peak.microBatch >= 0)
    text += " of micro-batch " + std::to_string(peak.microBatch);
  text += ": " + bytesText(peak.moment.bytes);
  Holder holder = largestHolder(stage);
  if (!holder.what.empty())
    text += ", " + bytesText(holder.bytes) + " of it " + holder.what;
  text += ", " + std::to_string(peak.inFlight) + " in flight";
  if (!holder.line.empty())
    text += ", " + holder.line;
  return text + " (while " + peak.instruction + " runs" + (peak.line.empty() ? "" : ", " + peak.line) + ")\n";
}

using Rows = std::vector<std::vector<std::string>>;

/// "2 x 1.50 KiB", of two chunks "3 x 1.50 KiB + 2 x 1.00 KiB", the pages and leaves that they share last.
static std::string slotsText(const StageMemoryReport &stage) {
  if (stage.lotBytes > 0)
    return "one lot";
  std::string text;
  auto add = [&](const StageMemoryReport::Slots &slots) {
    if (slots.bytes > 0)
      text += (text.empty() ? "" : " + ") + std::to_string(slots.count) + " x " + bytesText(slots.bytes);
  };
  for (const StageMemoryReport::Slots &slots : stage.activationSlots)
    add(slots);
  add(stage.pages);
  add(stage.leaves);
  return text.empty() ? "0" : text;
}

static std::string mainTable(const MemoryReport &report) {
  Rows rows = {{"stage", "ranks", "parameters", "gradients", "optimizer", "activations", "= slots x bytes", "scratch",
                "communication", "workspace", "total", "peak live", "total/live"}};
  for (const StageMemoryReport &stage : report.stages) {
    auto bytes = [&](MemoryCategory category) { return bytesText(stage.of(category).bytes); };
    rows.push_back({std::to_string(stage.stage), std::to_string(stage.ranks), bytes(MemoryCategory::Parameters),
                    bytes(MemoryCategory::Gradients), bytes(MemoryCategory::Optimizer),
                    bytes(MemoryCategory::Activations), slotsText(stage), bytes(MemoryCategory::Scratch),
                    bytes(MemoryCategory::Communication), bytes(MemoryCategory::Workspace), bytesText(stage.arenaBytes),
                    bytesText(stage.liveBytes()), fixed(stage.ratio(), 4)});
  }
  return alignedTable(rows);
}

/// The bytes of a peak, added up by what `keyOf` says of each item: the key's cells, then
/// the categories' columns.
static std::string groupedTable(const MemoryReport &report, const std::vector<std::string> &header,
                                const std::function<std::vector<std::string>(const LiveItem &)> &keyOf) {
  Rows rows = {header};
  rows.front().insert(rows.front().end(), memoryCategoryNames.begin(), memoryCategoryNames.end());
  rows.front().push_back("together");
  for (const StageMemoryReport &stage : report.stages) {
    std::vector<std::pair<std::vector<std::string>, std::array<int64_t, memoryCategoryNames.size()>>> groups;
    for (const LiveItem &item : stage.peak.live) {
      std::vector<std::string> key = keyOf(item);
      auto found = std::find_if(groups.begin(), groups.end(), [&](const auto &group) { return group.first == key; });
      if (found == groups.end())
        found = groups.insert(groups.end(), {key, {}});
      found->second[static_cast<size_t>(item.category)] += item.bytes;
    }
    auto sum = [](const auto &group) { return std::accumulate(group.second.begin(), group.second.end(), int64_t(0)); };
    std::stable_sort(groups.begin(), groups.end(), [&](const auto &a, const auto &b) { return sum(a) > sum(b); });
    for (const auto &group : groups) {
      std::vector<std::string> row = {std::to_string(stage.stage)};
      row.insert(row.end(), group.first.begin(), group.first.end());
      for (int64_t bytes : group.second)
        row.push_back(bytes == 0 ? "" : bytesText(bytes));
      row.push_back(bytesText(sum(group)));
      rows.push_back(row);
    }
  }
  return "live at the peak of each stage:\n" + alignedTable(rows);
}

static std::string detailTable(const MemoryReport &report, const std::string &by) {
  if (by == "category")
    return groupedTable(report, {"stage"}, [](const LiveItem &) { return std::vector<std::string>(); });
  if (by == "layer")
    return groupedTable(report, {"stage", "layer"}, [](const LiveItem &item) {
      return std::vector{item.layer.empty() ? "outside of layers" : item.layer};
    });
  return groupedTable(report, {"stage", "op", "model line"}, [](const LiveItem &item) {
    return std::vector{item.op, item.line};
  });
}

static std::string topText(const MemoryReport &report, int64_t top) {
  Rows rows = {{"stage", "buffer", "category", "micro-batches x bytes", "bytes", "input of", "model line"}};
  for (const StageMemoryReport &stage : report.stages)
    for (size_t i = 0; i < std::min<size_t>(stage.peak.live.size(), static_cast<size_t>(top)); ++i) {
      const LiveItem &item = stage.peak.live[i];
      rows.push_back({std::to_string(stage.stage), item.name, memoryCategoryNames[static_cast<size_t>(item.category)],
                      std::to_string(item.copies) + " x " + bytesText(item.bytes / item.copies), bytesText(item.bytes),
                      item.inputOf, item.line});
    }
  return "largest buffers at the peak of each stage:\n" + alignedTable(rows);
}

static std::string signedBytes(double bytes) {
  return (bytes < 0 ? "-" : bytes > 0 ? "+" : "") + bytesText(std::llround(std::abs(bytes)));
}

/// "+3.5%", "0%".
static std::string signedShare(double share) {
  std::string text = fixed(100 * share, 1);
  return text == "0.0" || text == "-0.0" ? "0%" : (share > 0 ? "+" : "") + text + "%";
}

static std::string percentText(int64_t value, int64_t base) {
  return signedShare(base == 0 ? 0 : static_cast<double>(value - base) / static_cast<double>(base));
}

/// "80238031", "9.381e+13".
static std::string flopsText(int64_t flops) {
  constexpr int64_t mostDigits = 100'000'000;
  if (flops < mostDigits)
    return std::to_string(flops);
  char text[32];
  std::snprintf(text, sizeof text, "%.3e", static_cast<double>(flops));
  return text;
}

/// What each change saves, and costs, compared with the plan itself.
static std::string whatIfText(const MemoryReport &report) {
  const WhatIf &base = report.whatIf.front();
  Rows rows = {{"what if", "largest stage", "saved", "flops of a step", "sent, exposed", "sent, overlapped"}};
  rows.push_back({base.change, bytesText(base.arenaBytes), "", flopsText(base.flops),
                  bytesText(std::llround(base.exposedBytes)), bytesText(std::llround(base.overlappedBytes))});
  bool hasTimes = base.stepSeconds > 0;
  if (hasTimes) {
    rows[0].push_back("step, simulated");
    rows[1].push_back(fixed(base.stepSeconds * 1e3, 3) + " ms");
  }
  std::string refusals;
  for (size_t i = 1; i < report.whatIf.size(); ++i) {
    const WhatIf &line = report.whatIf[i];
    if (!line.refusal.empty()) {
      refusals += "  " + line.change + " is not possible: " + line.refusal + "\n";
      continue;
    }
    rows.push_back({line.change, bytesText(line.arenaBytes),
                    signedBytes(static_cast<double>(base.arenaBytes - line.arenaBytes)),
                    percentText(line.flops, base.flops), signedBytes(line.exposedBytes - base.exposedBytes),
                    signedBytes(line.overlappedBytes - base.overlappedBytes)});
    if (hasTimes)
      rows.back().push_back(signedShare(line.stepSeconds / base.stepSeconds - 1));
  }
  return alignedTable(rows) + refusals;
}

/// "canonical order of additions costs +1.20 MiB on the largest stage and +24.1% of a step's time (...)".
static std::string canonicalText(const CanonicalPrice &price) {
  const WhatIf &own = price.canonical, &fast = price.fast;
  std::string text = "canonical order of additions costs " +
                     signedBytes(static_cast<double>(own.arenaBytes - fast.arenaBytes)) + " on the largest stage";
  if (price.cluster.empty())
    return text + "; with --cluster=FILE this line has its price in time\n";
  return text + " and " + signedShare(own.stepSeconds / fast.stepSeconds - 1) + " of a step's time (" +
         fixed(own.stepSeconds * 1e3, 3) + " ms, in any order " + fixed(fast.stepSeconds * 1e3, 3) +
         " ms, simulated on " + price.cluster + ")\n";
}

static std::string budgetText(const MemoryReport &report) {
  const DeviceBudget &budget = report.budget;
  const StageMemoryReport *largest = report.largest();
  std::string text = "outside of the plan on " + budget.device + ": " + bytesText(budget.outsideBytes());
  for (const OutsideBytes &part : budget.outside)
    text += (&part == budget.outside.data() ? " (" : ", ") + part.what + " " + bytesText(part.bytes);
  text += budget.outside.empty() ? "" : ")";
  int64_t left = budget.bytes - budget.outsideBytes() - largest->arenaBytes;
  return text + "; of " + bytesText(budget.bytes) + (left >= 0 ? " are left " : " are missing ") +
         bytesText(std::abs(left)) + " on stage " + std::to_string(largest->stage) + "\n";
}

std::string tgpt::memoryReportText(const MemoryReport &report, const MemoryReportDetail &detail) {
  std::string text = "memory of each rank of " + report.model + ", " + report.mesh + "\n" + mainTable(report);
  const StageMemoryReport *largest = report.largest();
  if (!largest)
    return text;
  text += "largest: stage " + std::to_string(largest->stage) + " with " + std::to_string(largest->arenaBytes) +
          " B a rank; one slot holds what a micro-batch in flight keeps for its backward\n";
  for (const StageMemoryReport &stage : report.stages)
    text += peakText(stage);
  if (!report.budget.device.empty())
    text += budgetText(report);
  if (report.canonicalPrice)
    text += canonicalText(*report.canonicalPrice);
  if (!detail.by.empty())
    text += detailTable(report, detail.by);
  if (detail.top > 0)
    text += topText(report, detail.top);
  if (!report.whatIf.empty())
    text += whatIfText(report);
  text += "weights, gradients and optimizer state by the closed formula (N: parameters held by the rank):\n";
  return text + ledgersText(report.stages);
}
