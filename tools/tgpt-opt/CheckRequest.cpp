//===- CheckRequest.cpp - whether the flags make sense together ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a fixed order: of several mistakes the first is the error.
//
//===----------------------------------------------------------------------===//

#include "CheckRequest.h"
#include "Fail.h"
#include "cost/KernelWorkspace.h"
#include "mlir/Support/LLVM.h"
#include "passes/pipeline/schedule/Schedule.h"
#include "llvm/ADT/STLExtras.h"
#include <array>
#include <cmath>

using namespace mlir;
using namespace tgpt;

/// The samples of a step fit the micro-batches and leave none of them empty.
static LogicalResult checkGlobalBatch(const CompileRequest &request) {
  const CompileOptions &options = request.options;
  if (!request.givesGlobalBatch)
    return success();
  int64_t batch = options.globalBatch, row = options.dp * options.microBatchSamples, held = row * options.microBatches;
  if (batch < 1 || batch > (1 << 30))
    return fail("--global-batch is " + llvm::Twine(batch) + ", expected 1 to 1073741824");
  int64_t needed = (batch - 1) / row + 1;
  if (needed == options.microBatches)
    return success();
  std::string grid = "--dp=" + std::to_string(options.dp) +
                     " x --micro-batches=" + std::to_string(options.microBatches) +
                     " x --micro-batch-samples=" + std::to_string(options.microBatchSamples);
  std::string wrong = batch > held ? " hold " + std::to_string(held) + " samples"
                                   : " would leave " + std::to_string(options.microBatches - needed) +
                                         " micro-batches without a sample";
  return fail("--global-batch is " + llvm::Twine(batch) + ", but " + grid + wrong +
              "; the nearest legal choices are --micro-batches=" + llvm::Twine(needed) +
              " and --global-batch=" + llvm::Twine(batch > held ? held : held - row + 1));
}

static LogicalResult checkLossScale(const CompileRequest &request) {
  const CompileOptions &options = request.options;
  bool isRead = options.lossScaling.mode != LossScaling::Mode::ByDtype;
  if (!request.lossScale.empty() && !isRead)
    return fail("--loss-scale is '" + request.lossScale + "', expected dynamic, none or a number");
  LossScaling::Mode mode = options.lossScaling.modeFor(options.dtype);
  if (mode == LossScaling::Mode::Fixed &&
      !(options.lossScaling.initial > 0 && std::isfinite(options.lossScaling.initial)))
    return fail("--loss-scale is '" + request.lossScale + "', expected a finite number above 0");
  if (!request.lossScaleTuning.empty() && mode != LossScaling::Mode::Dynamic)
    return fail(request.lossScaleTuning + " is for a dynamic loss scale, but " +
                (request.lossScale.empty() ? "--dtype=" + options.dtype + " has none"
                                           : "--loss-scale is '" + request.lossScale + "'") +
                "; add --loss-scale=dynamic");
  return success();
}

/// The divisor of `count` above one that is nearest to `wanted`.
static int64_t nearestGroup(int64_t count, int64_t wanted) {
  int64_t nearest = count;
  for (int64_t size = 2; size < count; ++size)
    if (count % size == 0 && std::abs(size - wanted) < std::abs(nearest - wanted))
      nearest = size;
  return nearest;
}

static LogicalResult checkZero(const CompileOptions &options) {
  if (options.zero < 0 || options.zero > 3)
    return fail("--zero is " + llvm::Twine(options.zero) + ", expected 0 to 3");
  if (options.bucketMib < 0 || options.bucketMib > (1 << 20))
    return fail("--bucket-mib is " + llvm::Twine(options.bucketMib) + ", expected 0 to 1048576");
  if (options.zeroGroup == 0)
    return success();
  if (options.zero == 0)
    return fail("--zero-group is " + llvm::Twine(options.zeroGroup) + ", but without --zero nothing is shared out");
  if (options.dp > 1 && (options.zeroGroup < 2 || options.dp % options.zeroGroup != 0))
    return fail("--zero-group is " + llvm::Twine(options.zeroGroup) + ", which does not cut --dp=" +
                llvm::Twine(options.dp) + " into groups of at least 2; the nearest legal value is " +
                llvm::Twine(nearestGroup(options.dp, options.zeroGroup)));
  if (options.zeroGroup > options.dp || options.zeroGroup < 0)
    return fail("--zero-group is " + llvm::Twine(options.zeroGroup) + ", but --dp is " + llvm::Twine(options.dp));
  return success();
}

/// JSON and the page are documents, beside which nothing may stand on stdout.
static LogicalResult checkDocuments(const CompileRequest &request, StringRef output) {
  bool hasPlan = output.ends_with(".bin") || onlyReports(request, output);
  auto ofPlan = [&](StringRef form) { return hasPlan ? form : StringRef("none"); };
  std::string document, other;
  for (auto [name, form] : {std::pair<StringRef, StringRef>{"memory-report", ofPlan(request.memoryReport)},
                            {"communication-report", ofPlan(request.communicationReport)},
                            {"print-schedule", request.printSchedule},
                            {"stage-report", ofPlan(request.stageReport)}})
    if (form != "none") {
      bool isDocument = document.empty() && form != "text";
      (isDocument ? document : other) = ("--" + name + "=" + form).str();
    }
  if (document.empty() || other.empty())
    return success();
  return fail(document + " and " + other + " would share stdout; the nearest legal choice is " + document +
              " with every other report 'none'");
}

/// What of a report is asked for is printed.
static LogicalResult checkReportOfPlan(const CompileRequest &request, StringRef output) {
  StringRef detail = !request.memoryReportBy.empty() ? "--memory-report-by"
                     : request.memoryReportTop > 0   ? "--memory-report-top"
                                                     : "";
  if (!detail.empty() && request.memoryReport != "text")
    return fail(detail + " is for --memory-report=text, but it is '" + request.memoryReport +
                (request.memoryReport == "none" ? "'" : "', which has all of it"));
  if (!request.asksForReport || output.ends_with(".bin") || onlyReports(request, output))
    return success();
  if (request.lastPhase != "plan")
    return fail("a report of memory or communication is of a plan, but --compile-to=" + request.lastPhase +
                " ends before there is one; the nearest legal choice is --compile-to=plan");
  return fail("a report of memory or communication is of a plan, but '" + output +
              "' gets IR; name a file *.bin, or leave -o out for the report alone");
}

static LogicalResult checkReports(const CompileRequest &request) {
  StringRef memory = request.memoryReport, by = request.memoryReportBy;
  if (memory != "text" && memory != "json" && memory != "html" && memory != "none")
    return fail("--memory-report is '" + memory + "', expected text, json, html or none");
  if (by != "" && by != "category" && by != "layer" && by != "op")
    return fail("--memory-report-by is '" + by + "', expected category, layer or op");
  if (request.memoryReportTop < 0 || request.memoryReportTop > (1 << 20))
    return fail("--memory-report-top is " + llvm::Twine(request.memoryReportTop) + ", expected 0 to 1048576");
  for (auto [name, form] : {std::pair<StringRef, StringRef>{"communication-report", request.communicationReport},
                            {"print-schedule", request.printSchedule},
                            {"stage-report", request.stageReport}})
    if (form != "text" && form != "json" && form != "none")
      return fail("--" + name + " is '" + form + "', expected text, json or none");
  return success();
}

static LogicalResult checkGrid(const CompileOptions &options) {
  for (auto [name, value] : {std::pair<StringRef, int64_t>{"tp", options.tp},
                             {"pp", options.pp},
                             {"dp", options.dp},
                             {"vocabulary-multiple", options.vocabularyMultiple},
                             {"micro-batches", options.microBatches},
                             {"micro-batch-samples", options.microBatchSamples}})
    if (value < 1 || value > (1 << 20))
      return fail("--" + name + " is " + llvm::Twine(value) + ", expected 1 to 1048576");
  return success();
}

static LogicalResult checkRecompute(const CompileOptions &options) {
  if (options.recompute != "none" && options.recompute != "selective" && options.recompute != "full")
    return fail("--recompute is '" + options.recompute + "', expected none, selective or full");
  return success();
}

static LogicalResult checkPrefetch(const CompileRequest &request) {
  const CompileOptions &options = request.options;
  if (options.prefetch < 0 || options.prefetch > 1024)
    return fail("--prefetch is " + llvm::Twine(options.prefetch) + ", expected 0 to 1024");
  if (request.givesPrefetch && !options.overlap)
    return fail("--prefetch is " + llvm::Twine(options.prefetch) +
                ", but without --overlap every collective is waited for where it starts");
  return success();
}

static LogicalResult checkProductWorkspace(const CompileRequest &request) {
  int64_t bytes = request.productWorkspaceBytes.value_or(0);
  if (bytes < 0 || bytes > cost::mostProductWorkspaceBytes)
    return fail("--product-workspace-bytes is " + llvm::Twine(bytes) + ", expected 0 to " +
                llvm::Twine(cost::mostProductWorkspaceBytes));
  return success();
}

/// The order of ranks and that of additions.
static LogicalResult checkOrders(const CompileOptions &options) {
  static constexpr std::array orders = {"dp,pp,tp", "dp,tp,pp", "pp,dp,tp", "pp,tp,dp", "tp,dp,pp", "tp,pp,dp"};
  if (!llvm::is_contained(orders, options.rankOrder))
    return fail("--rank-order is '" + options.rankOrder + "', expected dp, pp and tp, each once, such as dp,pp,tp");
  if (options.reduction != "fast" && options.reduction != "canonical")
    return fail("--reduction is '" + options.reduction + "', expected fast or canonical");
  return success();
}

static LogicalResult checkSchedule(const CompileOptions &options) {
  if (options.vpp < 1 || options.vpp > 1024)
    return fail("--vpp is " + llvm::Twine(options.vpp) + ", expected 1 to 1024");
  if (!parseScheduleKind(options.schedule))
    return fail("--schedule is '" + options.schedule + "', expected " + scheduleKindChoices());
  return success();
}

/// The last phase gives what is to be written and reported.
static LogicalResult checkLastPhase(const CompileRequest &request, StringRef output) {
  if (output.ends_with(".bin") && request.lastPhase != "plan")
    return fail("--compile-to=" + request.lastPhase + " gives IR, but '" + output +
                "' is a compiled plan; use .mlir or .mlirbc");
  static constexpr std::array beforeStages = {"model", "training", "sharded", "partitioned"};
  if (request.stageReport != "none" && llvm::is_contained(beforeStages, request.lastPhase))
    return fail("--stage-report is '" + request.stageReport + "', but --compile-to=" + request.lastPhase +
                " ends before stages are chosen; the nearest legal choice is --compile-to=pipelined");
  return success();
}

LogicalResult tgpt::checkRequest(const CompileRequest &request, StringRef output) {
  const CompileOptions &options = request.options;
  return success(succeeded(checkGrid(options)) && succeeded(checkRecompute(options)) &&
                 succeeded(checkPrefetch(request)) && succeeded(checkZero(options)) &&
                 succeeded(checkProductWorkspace(request)) && succeeded(checkOrders(options)) &&
                 succeeded(checkReports(request)) && succeeded(checkSchedule(options)) &&
                 succeeded(checkLastPhase(request, output)) && succeeded(checkReportOfPlan(request, output)) &&
                 succeeded(checkDocuments(request, output)) && succeeded(checkGlobalBatch(request)) &&
                 succeeded(checkLossScale(request)));
}
