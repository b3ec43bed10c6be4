//===- CompileFlags.cpp - what the compile flags of tgpt-opt ask for ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileFlags.h"
#include "CompileFlagTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ManagedStatic.h"
#include "llvm/Support/raw_ostream.h"
#include <charconv>

using namespace tgpt;

namespace {

llvm::ManagedStatic<CompileFlagTable> flags;

template <typename T> void append(std::string &text, const cl::opt<T> &flag) {
  if (flag.getNumOccurrences() == 0)
    return;
  llvm::raw_string_ostream stream(text);
  stream << (text.empty() ? "" : " ") << "--" << flag.ArgStr;
  if constexpr (std::is_same_v<T, double>) { // the shortest text that reads back as the same number
    char number[32];
    stream << "="
           << llvm::StringRef(number, std::to_chars(number, number + sizeof number, flag.getValue()).ptr - number);
  } else if constexpr (!std::is_same_v<T, bool>) {
    stream << "=" << flag.getValue();
  }
}

/// The flags that change the plan, as given.
std::string givenFlags() {
  std::string text;
  auto appendAll = [&](const auto &...given) { (append(text, given), ...); };
  appendAll(flags->tp, flags->pp, flags->vpp, flags->schedule, flags->dp, flags->sp, flags->zero, flags->bucketMib,
            flags->zeroGroup, flags->rankOrder, flags->vocabularyMultiple, flags->microBatches,
            flags->microBatchSamples, flags->globalBatch, flags->dtype, flags->recompute, flags->overlap,
            flags->prefetch, flags->reduction, flags->reductionChunks, flags->maxGradNorm, flags->beta1, flags->beta2,
            flags->epsilon, flags->weightDecay, flags->lossScale, flags->lossScaleInitial, flags->lossScaleGrowth,
            flags->lossScaleBackoff, flags->lossScaleGrowthInterval, flags->labelSmoothing, flags->zLoss, flags->seed,
            flags->cluster, flags->memoryGib, flags->productWorkspaceBytes);
  for (auto [i, layers] : llvm::enumerate(flags->stages))
    text += (i == 0 ? " --stages=" : ",") + std::to_string(layers);
  return text;
}

/// "dynamic", "none" or a number.
void readLossScaling(CompileRequest &request) {
  LossScaling &scaling = request.options.lossScaling;
  request.lossScale = flags->lossScale;
  scaling.initial = flags->lossScaleInitial;
  scaling.growth = flags->lossScaleGrowth;
  scaling.backoff = flags->lossScaleBackoff;
  scaling.growthInterval = flags->lossScaleGrowthInterval;
  std::initializer_list<const cl::Option *> tuning = {&flags->lossScaleInitial, &flags->lossScaleGrowth,
                                                      &flags->lossScaleBackoff, &flags->lossScaleGrowthInterval};
  for (const cl::Option *flag : tuning)
    if (flag->getNumOccurrences() > 0 && request.lossScaleTuning.empty())
      request.lossScaleTuning = "--" + flag->ArgStr.str();
  if (request.lossScale == "dynamic")
    scaling.mode = LossScaling::Mode::Dynamic;
  else if (request.lossScale == "none")
    scaling.mode = LossScaling::Mode::None;
  else if (!llvm::StringRef(request.lossScale).getAsDouble(scaling.initial))
    scaling.mode = LossScaling::Mode::Fixed;
}

/// How ranks share the model and the work.
void readGrid(CompileRequest &request) {
  CompileOptions &options = request.options;
  options.tp = flags->tp;
  options.pp = flags->pp;
  options.vpp = flags->vpp;
  options.schedule = flags->schedule;
  options.stages.assign(flags->stages.begin(), flags->stages.end());
  options.dp = flags->dp;
  options.sequenceParallel = flags->sp;
  options.zero = flags->zero;
  options.bucketMib = flags->bucketMib;
  options.zeroGroup = flags->zeroGroup;
  options.rankOrder = flags->rankOrder;
  options.vocabularyMultiple = flags->vocabularyMultiple;
  options.overlap = flags->overlap;
  options.prefetch = flags->prefetch;
  request.givesPrefetch = flags->prefetch.getNumOccurrences() > 0;
}

/// Of a global batch follows the number of micro-batches that hold it.
void readBatch(CompileRequest &request) {
  CompileOptions &options = request.options;
  options.microBatches = flags->microBatches;
  options.microBatchSamples = flags->microBatchSamples;
  options.globalBatch = flags->globalBatch;
  request.givesGlobalBatch = flags->globalBatch.getNumOccurrences() > 0;
  int64_t row = options.dp > 0 && options.microBatchSamples > 0 ? options.dp * options.microBatchSamples : 0;
  if (request.givesGlobalBatch && flags->microBatches.getNumOccurrences() == 0 && row > 0 && options.globalBatch > 0)
    options.microBatches = (options.globalBatch - 1) / row + 1;
}

/// In which numbers, which of them again, and in which order they are added.
void readPrecision(CompileOptions &options) {
  options.dtype = flags->dtype;
  options.recompute = flags->recompute;
  options.reduction = flags->reduction;
  options.reductionChunks = flags->reductionChunks;
}

/// Loss and optimizer.
void readTraining(CompileRequest &request) {
  CompileOptions &options = request.options;
  options.maxGradNorm = flags->maxGradNorm;
  options.beta1 = flags->beta1;
  options.beta2 = flags->beta2;
  options.epsilon = flags->epsilon;
  options.weightDecay = flags->weightDecay;
  readLossScaling(request);
  options.labelSmoothing = flags->labelSmoothing;
  options.zLoss = flags->zLoss;
  options.seed = flags->seed;
}

void readMachine(CompileRequest &request) {
  request.cluster = flags->cluster;
  request.memoryGib = flags->memoryGib;
  request.givesMemoryGib = flags->memoryGib.getNumOccurrences() > 0;
  if (flags->productWorkspaceBytes.getNumOccurrences() > 0)
    request.productWorkspaceBytes = flags->productWorkspaceBytes;
}

void readReports(CompileRequest &request) {
  request.memoryReport = flags->memoryReport;
  request.memoryReportBy = flags->memoryReportBy;
  request.memoryReportTop = flags->memoryReportTop;
  request.memoryWhatIf = flags->memoryWhatIf || flags->memoryReport == "html";
  request.communicationReport = flags->communicationReport;
  bool asksForMemory = flags->memoryReport.getNumOccurrences() > 0 || !request.memoryReportBy.empty() ||
                       request.memoryReportTop > 0 || flags->memoryWhatIf;
  request.asksForReport = (asksForMemory && request.memoryReport != "none") || request.communicationReport != "none";
  // --print-schedule alone has no value.
  request.printSchedule = flags->printSchedule.empty() ? "text" : flags->printSchedule.getValue();
  request.stageReport = flags->stageReport;
  request.options.stageReport = request.stageReport != "none";
}

} // namespace

void tgpt::registerCompileFlags() {
  *flags;
}

CompileRequest tgpt::readCompileFlags() {
  CompileRequest request;
  readGrid(request);
  readBatch(request);
  readPrecision(request.options);
  readTraining(request);
  readMachine(request);
  readReports(request);
  request.lastPhase = flags->compileTo;
  request.flags = givenFlags();
  for (const auto &[name, option] : cl::getRegisteredOptions())
    request.isRequested |= llvm::is_contained(option->Categories, &flags->category) && option->getNumOccurrences() > 0;
  return request;
}
