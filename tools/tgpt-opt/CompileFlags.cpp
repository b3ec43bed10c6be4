//===- CompileFlags.cpp - the compile flags of tgpt-opt ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileFlags.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ManagedStatic.h"
#include "llvm/Support/raw_ostream.h"
#include <charconv>

using namespace tgpt;
namespace cl = llvm::cl;

namespace {

struct Flags {
  cl::OptionCategory category{"Compilation", "Compile a model into a plan (any of these flags starts a compilation)"};
  cl::opt<int64_t> tp{"tp", cl::desc("Tensor-parallel ranks (default 1)"), cl::value_desc("ranks"), cl::init(1),
                      cl::cat(category)};
  cl::opt<int64_t> pp{"pp", cl::desc("Pipeline stages (default 1)"), cl::value_desc("stages"), cl::init(1),
                      cl::cat(category)};
  cl::opt<int64_t> dp{"dp", cl::desc("Data-parallel ranks (default 1)"), cl::value_desc("ranks"), cl::init(1),
                      cl::cat(category)};
  cl::opt<bool> sp{"sp", cl::desc("Sequence parallelism: shard the sequence over tp between tensor-parallel regions"),
                   cl::cat(category)};
  cl::opt<int64_t> zero{
      "zero",
      cl::desc("What dp ranks share out (ZeRO): 1 optimizer states, 2 gradients too, 3 parameters too (default 0)"),
      cl::value_desc("stage"), cl::init(0), cl::cat(category)};
  cl::opt<int64_t> bucketMib{"bucket-mib",
                             cl::desc("MiB of gradients up to which consecutive layers share a collective over dp; 0: "
                                      "one layer, as --zero=3 always (default 25)"),
                             cl::value_desc("MiB"), cl::init(25), cl::cat(category)};
  cl::opt<int64_t> zeroGroup{
      "zero-group",
      cl::desc("dp ranks that share out what --zero says; groups of so many hold the same (default: all of them)"),
      cl::value_desc("ranks"), cl::init(0), cl::cat(category)};
  cl::opt<std::string> rankOrder{
      "rank-order",
      cl::desc("How ranks are numbered: dp, pp and tp from the outside in; those of the last axis are neighbours, on "
               "the links within a node (default dp,pp,tp)"),
      cl::value_desc("axes"), cl::init("dp,pp,tp"), cl::cat(category)};
  cl::opt<int64_t> vocabularyMultiple{
      "vocabulary-multiple",
      cl::desc(
          "Pad the vocabulary to a multiple of this number and of tp; padding is masked and never saved (default 1)"),
      cl::value_desc("rows"), cl::init(1), cl::cat(category)};
  cl::opt<int64_t> microBatches{"micro-batches", cl::desc("Micro-batches of a step, for each dp rank (default 1)"),
                                cl::value_desc("count"), cl::init(1), cl::cat(category)};
  cl::opt<int64_t> microBatchSamples{"micro-batch-samples",
                                     cl::desc("Samples of a micro-batch, for each dp rank (default 1)"),
                                     cl::value_desc("samples"), cl::init(1), cl::cat(category)};
  cl::opt<int64_t> globalBatch{"global-batch",
                               cl::desc("Samples of a step; they need not fill the last micro-batches. Sets "
                                        "--micro-batches unless that is given (default: as many as these hold)"),
                               cl::value_desc("samples"), cl::init(0), cl::cat(category)};
  cl::opt<std::string> dtype{"dtype",
                             cl::desc("Compute dtype: f64, f32 (default), bf16 or f16 (with f32 master weights)"),
                             cl::value_desc("dtype"), cl::init("f32"), cl::cat(category)};
  cl::opt<std::string> recompute{
      "recompute",
      cl::desc("Compute again in the backward instead of keeping: none (default), selective "
               "(attention core, norms, activations) or full (all of a layer but its input)"),
      cl::value_desc("mode"), cl::init("none"), cl::cat(category)};
  cl::opt<std::string> reduction{
      "reduction",
      cl::desc("Order of additions: fast (default) or canonical (every grid gives the very bits of one rank, f32 and "
               "f64)"),
      cl::value_desc("order"), cl::init("fast"), cl::cat(category)};
  cl::opt<int64_t> reductionChunks{
      "reduction-chunks",
      cl::desc("Chunks of what tensor parallelism may shard under --reduction=canonical: every tp that divides them "
               "gives the same bits (default 8)"),
      cl::value_desc("count"), cl::init(8), cl::cat(category)};
  cl::opt<bool> overlap{"overlap",
                        cl::desc("Start collectives early and wait for them late, so that computation hides them"),
                        cl::cat(category)};
  cl::opt<int64_t> prefetch{
      "prefetch",
      cl::desc(
          "With --overlap, layers ahead of use whose gathers of parameters (--zero=3) and sums of gradients may be "
          "under way (default 1)"),
      cl::value_desc("layers"), cl::init(1), cl::cat(category)};
  cl::opt<std::string> schedule{
      "schedule",
      cl::desc("Order of the micro-batches on each pipeline stage: gpipe (all forwards, then all backwards), 1f1b "
               "(default: a forward and a backward in turn, the least memory) or zero-bubble (as 1f1b, and weight "
               "gradients fill the gaps)"),
      cl::value_desc("kind"), cl::init("1f1b"), cl::cat(category)};
  cl::opt<int64_t> vpp{
      "vpp",
      cl::desc("Model chunks of each pipeline stage: more than 1 interleaves them, for shorter bubbles "
               "and more messages (default 1)"),
      cl::value_desc("chunks"), cl::init(1), cl::cat(category)};
  cl::opt<std::string> printSchedule{
      "print-schedule",
      cl::desc("Print which stage does what when, as text (default) or json; without -o nothing else is written"),
      cl::value_desc("form"),
      cl::ValueOptional,
      cl::init("none"),
      cl::cat(category)};
  cl::list<int64_t> stages{
      "stages",
      cl::desc(
          "Layers of each pipeline stage, such as 9,8,8,7; with --vpp those of chunk 0 of all "
          "stages, then of chunk 1... (default: where the slowest stage is fastest and every rank's memory suffices)"),
      cl::value_desc("layers,..."), cl::CommaSeparated, cl::cat(category)};
  cl::opt<std::string> cluster{
      "cluster",
      cl::desc("Cluster file (recipes/clusters) whose device and links give the times that stages are cut by, and the "
               "memory of a rank (default: an H100, collectives left out, without a limit of memory)"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<double> memoryGib{"memory-gib",
                            cl::desc("GiB that a rank may need (default: with --cluster what its device has for a "
                                     "plan, else no limit)"),
                            cl::value_desc("GiB"), cl::init(0), cl::cat(category)};
  cl::opt<int64_t> productWorkspaceBytes{
      "product-workspace-bytes",
      cl::desc("Bytes of the plan's arena for the algorithms of cuBLASLt that need some; NVIDIA advises 33554432 from "
               "Hopper on and 4194304 before (default: what the cluster file says, else 0, and such are not chosen)"),
      cl::value_desc("bytes"), cl::init(0), cl::cat(category)};
  cl::opt<double> maxGradNorm{"max-grad-norm",
                              cl::desc("Clip gradients to this global norm; 0: no clipping (default 1)"),
                              cl::value_desc("norm"), cl::init(1.0), cl::cat(category)};
  cl::opt<double> beta1{"beta1", cl::desc("AdamW decay of the first moment (default 0.9)"), cl::init(0.9),
                        cl::cat(category)};
  cl::opt<double> beta2{"beta2", cl::desc("AdamW decay of the second moment (default 0.95)"), cl::init(0.95),
                        cl::cat(category)};
  cl::opt<double> epsilon{"adam-epsilon", cl::desc("AdamW epsilon (default 1e-8)"), cl::init(1e-8), cl::cat(category)};
  cl::opt<double> weightDecay{"weight-decay",
                              cl::desc("AdamW decoupled weight decay, of all but norms and biases (default 0.1)"),
                              cl::init(0.1), cl::cat(category)};
  cl::opt<std::string> lossScale{
      "loss-scale",
      cl::desc("Multiply the loss before the backward, and skip steps whose gradients overflow: dynamic (default for "
               "f16), none (default otherwise) or a number"),
      cl::value_desc("scale"), cl::cat(category)};
  cl::opt<double> lossScaleInitial{"loss-scale-initial",
                                   cl::desc("Dynamic loss scale of the first step (default 65536)"),
                                   cl::value_desc("scale"), cl::init(65536), cl::cat(category)};
  cl::opt<double> lossScaleGrowth{"loss-scale-growth",
                                  cl::desc("Factor after enough good steps in a row, at least 1 (default 2)"),
                                  cl::value_desc("factor"), cl::init(2), cl::cat(category)};
  cl::opt<double> lossScaleBackoff{"loss-scale-backoff",
                                   cl::desc("Factor after a skipped step, above 0 and at most 1 (default 0.5)"),
                                   cl::value_desc("factor"), cl::init(0.5), cl::cat(category)};
  cl::opt<int64_t> lossScaleGrowthInterval{"loss-scale-growth-interval",
                                           cl::desc("Good steps in a row before the loss scale grows (default 2000)"),
                                           cl::value_desc("steps"), cl::init(2000), cl::cat(category)};
  cl::opt<double> labelSmoothing{"label-smoothing",
                                 cl::desc("Share of each label that is spread over the vocabulary (default 0)"),
                                 cl::value_desc("share"), cl::init(0.0), cl::cat(category)};
  cl::opt<double> zLoss{"z-loss", cl::desc("Weight of the squared log-sum-exp in the loss (default 0)"),
                        cl::value_desc("weight"), cl::init(0.0), cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::desc("Seed of the initial weights and the dropout masks (default 0)"),
                         cl::value_desc("number"), cl::init(0), cl::cat(category)};
  cl::opt<std::string> compileTo{
      "compile-to",
      cl::desc("Stop after a phase: model, training, sharded, partitioned, zero, pipelined or plan (default)"),
      cl::value_desc("phase"), cl::init("plan"), cl::cat(category)};
  cl::opt<std::string> memoryReport{
      "memory-report",
      cl::desc("Memory-cost report of compiled.bin, on stdout: text (default), json, html (a page) or none"),
      cl::value_desc("form"), cl::init("text"), cl::cat(category)};
  cl::opt<std::string> memoryReportBy{"memory-report-by",
                                      cl::desc("Also list what is live at the peak: by category, layer or op"),
                                      cl::value_desc("what"), cl::cat(category)};
  cl::opt<int64_t> memoryReportTop{"memory-report-top",
                                   cl::desc("Also list the largest buffers at the peak (default 0)"),
                                   cl::value_desc("count"), cl::init(0), cl::cat(category)};
  cl::opt<bool> memoryWhatIf{
      "memory-what-if",
      cl::desc(
          "Also compile other choices of --recompute, --zero, --sp and --micro-batch-samples, and report what each "
          "would save and cost; html always does"),
      cl::cat(category)};
  cl::opt<std::string> communicationReport{
      "communication-report",
      cl::desc("Report of what the ranks of compiled.bin exchange: text, json or none (default)"),
      cl::value_desc("form"), cl::init("none"), cl::cat(category)};
  cl::opt<std::string> stageReport{
      "stage-report", cl::desc("Report of the time and memory of each pipeline stage: text, json or none (default)"),
      cl::value_desc("form"), cl::init("none"), cl::cat(category)};
};

llvm::ManagedStatic<Flags> flags;

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

} // namespace

void tgpt::registerCompileFlags() {
  *flags;
}

CompileRequest tgpt::readCompileFlags() {
  CompileRequest request;
  CompileOptions &options = request.options;
  options.tp = flags->tp;
  options.pp = flags->pp;
  options.vpp = flags->vpp;
  options.schedule = flags->schedule;
  options.dp = flags->dp;
  options.sequenceParallel = flags->sp;
  options.zero = flags->zero;
  options.bucketMib = flags->bucketMib;
  options.zeroGroup = flags->zeroGroup;
  options.rankOrder = flags->rankOrder;
  options.vocabularyMultiple = flags->vocabularyMultiple;
  options.microBatches = flags->microBatches;
  options.microBatchSamples = flags->microBatchSamples;
  options.globalBatch = flags->globalBatch;
  request.givesGlobalBatch = flags->globalBatch.getNumOccurrences() > 0;
  int64_t row = options.dp > 0 && options.microBatchSamples > 0 ? options.dp * options.microBatchSamples : 0;
  if (request.givesGlobalBatch && flags->microBatches.getNumOccurrences() == 0 && row > 0 && options.globalBatch > 0)
    options.microBatches = (options.globalBatch - 1) / row + 1;
  options.dtype = flags->dtype;
  options.recompute = flags->recompute;
  options.reduction = flags->reduction;
  options.reductionChunks = flags->reductionChunks;
  options.overlap = flags->overlap;
  options.prefetch = flags->prefetch;
  request.givesPrefetch = flags->prefetch.getNumOccurrences() > 0;
  options.stages.assign(flags->stages.begin(), flags->stages.end());
  options.maxGradNorm = flags->maxGradNorm;
  options.beta1 = flags->beta1;
  options.beta2 = flags->beta2;
  options.epsilon = flags->epsilon;
  options.weightDecay = flags->weightDecay;
  readLossScaling(request);
  options.labelSmoothing = flags->labelSmoothing;
  options.zLoss = flags->zLoss;
  options.seed = flags->seed;
  request.lastPhase = flags->compileTo;
  request.memoryReport = flags->memoryReport;
  request.memoryReportBy = flags->memoryReportBy;
  request.memoryReportTop = flags->memoryReportTop;
  request.memoryWhatIf = flags->memoryWhatIf || flags->memoryReport == "html";
  request.communicationReport = flags->communicationReport;
  // --print-schedule alone has no value.
  request.printSchedule = flags->printSchedule.empty() ? "text" : flags->printSchedule.getValue();
  request.stageReport = flags->stageReport;
  options.stageReport = request.stageReport != "none";
  request.cluster = flags->cluster;
  request.memoryGib = flags->memoryGib;
  if (flags->productWorkspaceBytes.getNumOccurrences() > 0)
    request.productWorkspaceBytes = flags->productWorkspaceBytes;
  request.givesMemoryGib = flags->memoryGib.getNumOccurrences() > 0;
  request.flags = givenFlags();
  for (const auto &[name, option] : cl::getRegisteredOptions())
    request.isRequested |= llvm::is_contained(option->Categories, &flags->category) && option->getNumOccurrences() > 0;
  return request;
}
