//===- MemoryReport.h - where the memory of a plan goes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Read from the plan itself, so that the numbers are those a run allocates. Ranks of
// one pipeline stage need the same memory, so there is one line per stage.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_REPORT_MEMORYREPORT_H
#define TGPT_COMPILER_REPORT_MEMORYREPORT_H

#include "runtime/plan/plan.pb.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tgpt {

/// Memory of one category on one rank.
struct CategoryMemory {
  int64_t bytes = 0;     ///< all slots
  int64_t liveBytes = 0; ///< least that would do: what is live at once, in all slots
};

/// The closed formula for weights, gradients and optimizer state: so many bytes per
/// element that the rank holds; under ZeRO it holds a piece of some of them, padding
/// included. It knows no alignment and no metrics.
struct StateLedger {
  int64_t parameters = 0, gradients = 0, optimizer = 0;              ///< elements held by the rank
  int64_t parameterBytes = 0, gradientBytes = 0, optimizerBytes = 0; ///< per element
  /// Of further gradient sums that --reduction=canonical keeps: sums of micro-batches that
  /// wait for others, and the uses of a tied weight apart.
  int64_t canonicalBytes = 0;

  bool operator==(const StateLedger &) const = default;
  int64_t bytes() const { return parameters * parameterBytes + gradients * gradientBytes + optimizer * optimizerBytes; }
};

/// Memory of each rank of one pipeline stage.
struct StageMemoryReport {
  int64_t stage = 0;
  int64_t ranks = 0;
  CategoryMemory parameters, gradients, optimizer, activations, scratch, communication;
  /// For each model chunk of the stage: micro-batches in flight, and bytes of each of them.
  struct Slots {
    int64_t count = 0;
    int64_t bytes = 0;
  };
  std::vector<Slots> activationSlots;
  int64_t arenaBytes = 0;
  StateLedger ledger;

  int64_t liveBytes() const;
  int64_t stateBytes() const { return parameters.bytes + gradients.bytes + optimizer.bytes; }
  /// Arena over live bytes; 1 is perfect.
  double ratio() const {
    return liveBytes() == 0 ? 1 : static_cast<double>(arenaBytes) / static_cast<double>(liveBytes());
  }
};

struct MemoryReport {
  std::string model;
  std::string mesh; ///< "dp=2 pp=2 tp=2"
  std::vector<StageMemoryReport> stages;
};

/// The report of a plan that the plan checker accepts.
MemoryReport memoryReportOf(const plan::Plan &plan);

/// A table for people, ending in a newline.
std::string memoryReportText(const MemoryReport &report);
/// One JSON object, all sizes in bytes, ending in a newline.
std::string memoryReportJson(const MemoryReport &report);

} // namespace tgpt

#endif // TGPT_COMPILER_REPORT_MEMORYREPORT_H
