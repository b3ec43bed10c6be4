//===- CompileFlagTable.h - the compile flags of tgpt-opt ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TOOLS_TGPT_OPT_COMPILEFLAGTABLE_H
#define TGPT_TOOLS_TGPT_OPT_COMPILEFLAGTABLE_H

#include "llvm/Support/CommandLine.h"
#include <cstdint>
#include <string>

namespace tgpt {

namespace cl = llvm::cl;

/// The flags, registered when this is made.
struct CompileFlagTable {
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
      cl::desc("Memory-cost report of compiled.bin, on stdout: text (default), json, html (a page) or none; without -o "
               "nothing else is written"),
      cl::value_desc("form"), cl::init("text"), cl::cat(category)};
  cl::opt<std::string> memoryReportBy{
      "memory-report-by", cl::desc("Also list, as text, what is live at the peak: by category, layer or op"),
      cl::value_desc("what"), cl::cat(category)};
  cl::opt<int64_t> memoryReportTop{"memory-report-top",
                                   cl::desc("Also list, as text, the largest buffers at the peak (default 0)"),
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

} // namespace tgpt

#endif // TGPT_TOOLS_TGPT_OPT_COMPILEFLAGTABLE_H
