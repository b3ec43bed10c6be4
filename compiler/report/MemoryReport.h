//===- MemoryReport.h - where the memory of a plan goes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Read from the plan itself, so that the numbers are those a run allocates. Ranks of
// one pipeline stage need the same memory, so there is one report per stage.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_REPORT_MEMORYREPORT_H
#define TGPT_COMPILER_REPORT_MEMORYREPORT_H

#include "compiler/report/ScheduleTimes.h"
#include "compiler/report/StageLiveness.h"
#include "runtime/plan/plan.pb.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tgpt {

enum class MemoryCategory { Parameters, Gradients, Optimizer, Activations, Scratch, Communication, Workspace };
constexpr std::array<const char *, 7> memoryCategoryNames = {"parameters", "gradients",     "optimizer", "activations",
                                                             "scratch",    "communication", "workspace"};

/// Memory of one category on one rank.
struct CategoryMemory {
  int64_t bytes = 0;     ///< in the arena, all slots
  int64_t liveBytes = 0; ///< live at the peak of the stage
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

/// A buffer that is live at the peak, and why.
struct LiveItem {
  std::string name;
  MemoryCategory category = MemoryCategory::Scratch;
  std::string layer;     ///< "layers.3"; empty outside of the layers
  std::string op;        ///< what it is in its layer: "attn.q.linear", "mlp.up.weight"
  std::string line;      ///< of the model: "nano.mlir:42:5"; empty where it has none
  std::string inputOf;   ///< activations: the op of the model whose backward reads it, "attention"
  std::string inputLine; ///< and its line
  int64_t copies = 1;    ///< micro-batches that hold one
  int64_t bytes = 0;     ///< of all of them
};

/// The moment when most is live.
struct PeakMoment {
  MemoryMoment moment;
  std::string segment;        ///< "forward"; empty in a plan without a schedule
  int64_t microBatch = -1;    ///< -1 at the begin and the update of a step
  int64_t inFlight = 0;       ///< micro-batches of which something is kept
  std::string instruction;    ///< "linear"
  std::string line;           ///< "nano.mlir:42:5"
  std::vector<LiveItem> live; ///< the largest first
};

/// Memory of each rank of one pipeline stage.
struct StageMemoryReport {
  explicit StageMemoryReport(const plan::StageProgram &program) : program(&program), liveness(program) {}

  int64_t stage = 0;
  int64_t ranks = 0;
  std::array<CategoryMemory, memoryCategoryNames.size()> categories;
  /// For each model chunk of the stage: micro-batches in flight, and bytes that each keeps.
  struct Slots {
    int64_t count = 0;
    int64_t bytes = 0;
  };
  std::vector<Slots> activationSlots;
  Slots pages;          ///< that the chunks share, beside their slots; none in a lot
  Slots leaves;         ///< likewise
  int64_t lotBytes = 0; ///< of slots, pages and leaves that lie anywhere, together
  int64_t arenaBytes = 0;
  StateLedger ledger;
  PeakMoment peak;
  int64_t flops = 0;                            ///< of a rank in a step
  double exposedBytes = 0, overlappedBytes = 0; ///< that it sends in a step: waited for, and beside computation
  const plan::StageProgram *program;            ///< of the plan, which outlives the report
  StageLiveness liveness;

  const CategoryMemory &of(MemoryCategory category) const { return categories[static_cast<size_t>(category)]; }
  CategoryMemory &of(MemoryCategory category) { return categories[static_cast<size_t>(category)]; }
  int64_t liveBytes() const { return peak.moment.bytes; }
  int64_t stateBytes() const {
    return of(MemoryCategory::Parameters).bytes + of(MemoryCategory::Gradients).bytes +
           of(MemoryCategory::Optimizer).bytes;
  }
  /// Arena over live bytes; 1 is perfect.
  double ratio() const {
    return liveBytes() == 0 ? 1 : static_cast<double>(arenaBytes) / static_cast<double>(liveBytes());
  }
};

/// Bytes of a device that no plan has.
struct OutsideBytes {
  std::string what; ///< "device context"
  int64_t bytes = 0;
  std::string source; ///< "h100.yaml:12", "NCCL: 4 communicators"
};

/// The memory of a device, from a cluster file.
struct DeviceBudget {
  std::string device; ///< empty: there is no cluster file
  int64_t bytes = 0;
  std::vector<OutsideBytes> outside;

  int64_t outsideBytes() const {
    int64_t sum = 0;
    for (const OutsideBytes &part : outside)
      sum += part.bytes;
    return sum;
  }
};

/// What another choice of options would change; from compiling it.
struct WhatIf {
  std::string change;                           ///< "--recompute=full"
  std::string refusal;                          ///< why it can't be compiled; then there are no numbers
  int64_t arenaBytes = 0;                       ///< of the largest stage
  int64_t flops = 0;                            ///< of the busiest
  double exposedBytes = 0, overlappedBytes = 0; ///< of the stage that sends most
  double stepSeconds = 0;                       ///< simulated; 0: no cluster is known
};

/// The plan beside the one in which additions have no fixed order.
struct CanonicalPrice {
  WhatIf canonical, fast;
  std::string cluster; ///< that steps were simulated on; empty: none
};

struct MemoryReport {
  std::string model;
  std::string mesh; ///< "dp=2 pp=2 tp=2"
  std::vector<StageMemoryReport> stages;
  DeviceBudget budget;
  const plan::Plan *plan = nullptr;             ///< outlives the report
  std::vector<WhatIf> whatIf;                   ///< the first is the plan itself; empty: not asked for
  std::optional<CanonicalPrice> canonicalPrice; ///< of --reduction=canonical
  /// When each entry of each stage's schedule runs on the cluster, in nanoseconds; empty: there is no cluster file.
  std::vector<std::vector<EntryTime>> entryTimes;

  const StageMemoryReport *largest() const;
};

/// The report of a plan that the plan checker accepts. The plan outlives it.
MemoryReport memoryReportOf(const plan::Plan &plan);
MemoryReport memoryReportOf(plan::Plan &&plan) = delete;

/// Slots of ACTIVATIONS that micro-batches ever have at one time: all there are, but of those that lie anywhere.
int64_t slotsHeld(const plan::StageProgram &stage, const plan::Region &region);

/// The line of a what-if table for a compiled plan.
WhatIf whatIfOf(const MemoryReport &report, const std::string &change);

/// How much the text says.
struct MemoryReportDetail {
  std::string by;  ///< "category", "layer", "op" or empty
  int64_t top = 0; ///< largest buffers at the peak
};

/// Tables for people, ending in a newline.
std::string memoryReportText(const MemoryReport &report, const MemoryReportDetail &detail = {});
/// One JSON object, all sizes in bytes, ending in a newline.
std::string memoryReportJson(const MemoryReport &report);
/// A page that needs nothing else.
std::string memoryReportHtml(const MemoryReport &report);

} // namespace tgpt

#endif // TGPT_COMPILER_REPORT_MEMORYREPORT_H
