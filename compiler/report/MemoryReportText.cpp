//===- MemoryReportText.cpp - the memory report for people and programs ---*- C++ -*-===//
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
#include <cstdio>

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

/// "2 x 1.50 KiB", of two chunks "3 x 1.50 KiB + 2 x 1.00 KiB".
static std::string slotsText(const std::vector<StageMemoryReport::Slots> &chunks) {
  std::string text;
  for (const StageMemoryReport::Slots &slots : chunks)
    text += (text.empty() ? "" : " + ") + std::to_string(slots.count) + " x " + bytesText(slots.bytes);
  return text.empty() ? "0" : text;
}

std::string tgpt::memoryReportText(const MemoryReport &report) {
  std::string text = "memory of each rank of " + report.model + ", " + report.mesh + "\n";
  std::vector<std::vector<std::string>> rows = {{"stage", "ranks", "parameters", "gradients", "optimizer",
                                                 "activations", "= slots x bytes", "scratch", "communication", "total",
                                                 "live", "total/live"}};
  const StageMemoryReport *largest = nullptr;
  for (const StageMemoryReport &stage : report.stages) {
    rows.push_back({std::to_string(stage.stage), std::to_string(stage.ranks), bytesText(stage.parameters.bytes),
                    bytesText(stage.gradients.bytes), bytesText(stage.optimizer.bytes),
                    bytesText(stage.activations.bytes), slotsText(stage.activationSlots),
                    bytesText(stage.scratch.bytes), bytesText(stage.communication.bytes), bytesText(stage.arenaBytes),
                    bytesText(stage.liveBytes()), fixed(stage.ratio(), 4)});
    if (!largest || stage.arenaBytes > largest->arenaBytes)
      largest = &stage;
  }
  text += alignedTable(rows);
  if (!largest)
    return text;
  text += "largest: stage " + std::to_string(largest->stage) + " with " + std::to_string(largest->arenaBytes) +
          " B a rank; one slot holds what a micro-batch in flight keeps for its backward\n";
  text += "weights, gradients and optimizer state by the closed formula (N: parameters held by the rank):\n";
  return text + ledgersText(report.stages);
}

static std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\')
      result += std::string("\\") + c;
    else if (static_cast<unsigned char>(c) < 0x20) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      result += escaped;
    } else
      result += c;
  }
  return result + "\"";
}

std::string tgpt::memoryReportJson(const MemoryReport &report) {
  std::string text = "{\"model\": " + quoted(report.model) + ", \"mesh\": " + quoted(report.mesh) + ", \"stages\": [";
  auto category = [](const char *name, const CategoryMemory &memory) {
    return std::string(", \"") + name + "\": {\"bytes\": " + std::to_string(memory.bytes) +
           ", \"live_bytes\": " + std::to_string(memory.liveBytes) + "}";
  };
  auto slots = [](int64_t StageMemoryReport::Slots::*field, const StageMemoryReport &stage) {
    std::string list;
    for (const StageMemoryReport::Slots &chunk : stage.activationSlots)
      list += (list.empty() ? "" : ", ") + std::to_string(chunk.*field);
    return "[" + list + "]";
  };
  for (const StageMemoryReport &stage : report.stages) {
    text += &stage == report.stages.data() ? "\n" : ",\n";
    text += "  {\"stage\": " + std::to_string(stage.stage) + ", \"ranks\": " + std::to_string(stage.ranks) +
            category("parameters", stage.parameters) + category("gradients", stage.gradients) +
            category("optimizer", stage.optimizer) + category("activations", stage.activations) +
            category("scratch", stage.scratch) + category("communication", stage.communication) +
            ", \"activation_slots\": " + slots(&StageMemoryReport::Slots::count, stage) +
            ", \"activation_slot_bytes\": " + slots(&StageMemoryReport::Slots::bytes, stage) +
            ", \"arena_bytes\": " + std::to_string(stage.arenaBytes) +
            ", \"live_bytes\": " + std::to_string(stage.liveBytes()) +
            ", \"held_parameters\": " + std::to_string(stage.ledger.parameters) +
            ", \"ledger_state_bytes\": " + std::to_string(stage.ledger.bytes()) +
            ", \"canonical_reduction_bytes\": " + std::to_string(stage.ledger.canonicalBytes) + "}";
  }
  return text + "\n]}\n";
}
