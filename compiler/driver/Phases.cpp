//===- Phases.cpp - the phases of a compilation ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Phases.h"
#include "cost/SumNodes.h"
#include <algorithm>
#include <charconv>
#include <numeric>

using namespace tgpt;

/// Shortest text that gives the same double back.
static std::string exact(double value) {
  char text[32];
  std::to_chars_result end = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end.ptr);
}

static std::string joined(const std::vector<int64_t> &values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

static bool isCanonical(const CompileOptions &options) {
  return options.reduction == "canonical";
}

/// What divides the padded vocabulary: tp, what was asked for, and where bits must not depend on the grid the chunks of
/// sums, so that every grid pads alike.
static int64_t vocabularyMultiple(const CompileOptions &options) {
  int64_t chunks = isCanonical(options) && options.reductionChunks > 0 ? options.reductionChunks : 1;
  return std::lcm(std::lcm(options.tp, options.vocabularyMultiple), chunks);
}

static std::string modelPipeline(const CompileOptions &options) {
  return "tgpt-specialize-batch{samples=" + std::to_string(options.microBatchSamples * options.dp) +
         " dtype=" + options.dtype + "},tgpt-unroll-layers,tgpt-split-fused,tgpt-pad-vocabulary{multiple=" +
         std::to_string(vocabularyMultiple(options)) +
         "},tgpt-set-regularization{seed=" + std::to_string(options.seed) +
         " label-smoothing=" + exact(options.labelSmoothing) + " z-loss=" + exact(options.zLoss) + "}";
}

static std::string scaleLoss(const CompileOptions &options) {
  const LossScaling &scaling = options.lossScaling;
  switch (scaling.modeFor(options.dtype)) {
  case LossScaling::Mode::Fixed: return ",tgpt-scale-loss{fixed=true initial=" + exact(scaling.initial) + "}";
  case LossScaling::Mode::Dynamic:
    return ",tgpt-scale-loss{initial=" + exact(scaling.initial) + " growth=" + exact(scaling.growth) +
           " backoff=" + exact(scaling.backoff) + " growth-interval=" + std::to_string(scaling.growthInterval) + "}";
  default: return "";
  }
}

/// Each rank has a part of the vocabulary's statistics; where bits must not depend on the grid, every grid has as many.
static std::string splitLoss(const CompileOptions &options) {
  int64_t parts = isCanonical(options) ? std::max<int64_t>(options.reductionChunks, 1) : options.tp;
  return "tgpt-split-loss{parts=" + std::to_string(parts) + "}";
}

static std::string canonicalReduction(const CompileOptions &options) {
  if (!isCanonical(options))
    return "";
  return "," + splitLoss(options) + ",tgpt-canonical-reduction{chunks=" + std::to_string(options.reductionChunks) +
         " dp=" + std::to_string(options.dp) + " tp=" + std::to_string(options.tp) +
         " micro-batches=" + std::to_string(options.microBatches) + "}";
}

static std::string trainingPipeline(const CompileOptions &options) {
  return "tgpt-differentiate,tgpt-choose-recompute{mode=" + options.recompute +
         "},tgpt-recompute,tgpt-add-optimizer{max-grad-norm=" + exact(options.maxGradNorm) +
         " beta1=" + exact(options.beta1) + " beta2=" + exact(options.beta2) + " epsilon=" + exact(options.epsilon) +
         " weight-decay=" + exact(options.weightDecay) + "}" + scaleLoss(options) + ",tgpt-advance-loss-gradient" +
         canonicalReduction(options);
}

static bool isShared(const CompileOptions &options) {
  return options.zero > 0 && options.dp > 1;
}

static std::string shardingPipeline(const CompileOptions &options) {
  int64_t replicas = isShared(options) && options.zeroGroup > 0 ? options.dp / options.zeroGroup : 1;
  std::string pipeline = "tgpt-shard{dp=" + std::to_string(options.dp / replicas) +
                         (replicas > 1 ? " dp-replicas=" + std::to_string(replicas) : "") +
                         " pp=" + std::to_string(options.pp) + " tp=" + std::to_string(options.tp) +
                         " sequence-parallel=" + (options.sequenceParallel && options.tp > 1 ? "true" : "false") +
                         (options.rankOrder != CompileOptions().rankOrder ? " axis-order=" + options.rankOrder : "") +
                         "}";
  if (options.tp > 1 && !isCanonical(options)) // then it is split already
    pipeline = splitLoss(options) + "," + pipeline;
  pipeline += ",dist-propagate,canonicalize";
  if (isCanonical(options))
    pipeline += ",dist-chunk-reductions{chunks=" + std::to_string(options.reductionChunks) + "}";
  return pipeline;
}

/// An option of the passes that count it and that plan it.
static std::string productWorkspace(const CompileOptions &options) {
  return options.productWorkspaceBytes > 0 ? " product-workspace-bytes=" + std::to_string(options.productWorkspaceBytes)
                                           : "";
}

static std::string chooseStages(const CompileOptions &options) {
  std::string pass =
      "dist-choose-stages{schedule=" + options.schedule + " micro-batches=" + std::to_string(options.microBatches);
  if (options.vpp > 1)
    pass += " chunks=" + std::to_string(options.vpp);
  if (!options.stages.empty())
    pass += " stages=" + joined(options.stages);
  if (!options.device.empty())
    pass += " device=" + options.device;
  if (!options.links.empty())
    pass += " links=" + options.links + (options.overlap ? " overlap=true" : "");
  if (options.memoryLimitBytes > 0)
    pass += " memory-limit-bytes=" + std::to_string(options.memoryLimitBytes);
  pass += productWorkspace(options);
  if (isShared(options))
    pass += " zero=" + std::to_string(options.zero) + " zero-prefetch=" + std::to_string(options.gathersAhead());
  return pass + (options.stageReport ? " report=true}" : "}");
}

/// In the tree of canonical reduction the samples of a rank come before the sum over ranks. So a micro-batch's
/// gradients can be summed over ranks where it is the only one, the samples of a rank are a node, and so are those of a
/// group.
static bool addsOverRanksFirst(const CompileOptions &options) {
  bool groupsAreNodes =
      options.zeroGroup == 0 || options.zeroGroup == options.dp || withoutPowersOfTwo(options.zeroGroup) == 1;
  return options.microBatches == 1 && withoutPowersOfTwo(options.microBatchSamples) == 1 && groupsAreNodes;
}

// Buckets end where stages do, so the cut is decided first; the pipelined phase keeps it.
static std::string zeroPipeline(const CompileOptions &options) {
  std::string bucketMib = "bucket-mib=" + std::to_string(options.zero == 3 ? 0 : options.bucketMib);
  std::string pipeline = chooseStages(options) + ",zero-form-buckets{" + bucketMib;
  if (options.zero == 0)
    return pipeline + " only-gradients=true},zero-reduce-buckets";
  pipeline += "},zero-shard-optimizer";
  if (options.zero >= 2 && (!isCanonical(options) || addsOverRanksFirst(options)))
    pipeline += ",zero-shard-gradients";
  if (options.zero >= 3)
    pipeline += ",zero-shard-parameters{prefetch=" + std::to_string(options.gathersAhead()) + "}";
  return pipeline;
}

static std::string pipelinePipeline(const CompileOptions &options) {
  std::string exchange = isCanonical(options) ? "dist-exchange-nodes," : "";
  return exchange + (options.dp > 1 ? "dist-choose-stages" : chooseStages(options)) + ",dist-split-stages" +
         (options.schedule == "zero-bubble" ? ",dist-split-weight-gradients" : "") +
         ",dist-schedule{kind=" + options.schedule + " micro-batches=" + std::to_string(options.microBatches) + "}" +
         (options.overlap ? ",dist-overlap-collectives{prefetch=" + std::to_string(options.collectivesAhead()) + "}"
                          : "");
}

static std::string assignMemory(const CompileOptions &options) {
  std::string limit = std::to_string(options.memoryLimitBytes);
  return options.memoryLimitBytes > 0 ? "plan-assign-memory{limit-bytes=" + limit + "}" : "plan-assign-memory";
}

std::vector<Phase> tgpt::phasesOf(const CompileOptions &options) {
  std::vector<Phase> phases = {
      {"model", "static shapes, layers written out", modelPipeline(options)},
      {"training", "forward, backward and update, on one device", trainingPipeline(options)},
      {"sharded", "a layout in every type", shardingPipeline(options)},
      {"partitioned", "the program of one rank, with collectives", "dist-partition,dist-verify-partitioned"},
  };
  if (options.dp > 1)
    phases.push_back(
        {"zero", "buckets: of gradients, and under --zero of what each dp rank keeps a piece", zeroPipeline(options)});
  phases.push_back({"pipelined", "segments of stages, and their schedule", pipelinePipeline(options)});
  phases.push_back({"plan", "kernel calls on buffers at planned offsets",
                    "plan-lower{global-batch=" + std::to_string(options.globalBatch) + productWorkspace(options) +
                        "}," + assignMemory(options)});
  return phases;
}

std::string tgpt::pipelineUpTo(const std::vector<Phase> &phases, const std::string &last) {
  std::string pipeline;
  for (const Phase &phase : phases) {
    pipeline += (pipeline.empty() ? "" : ",") + phase.pipeline;
    if (phase.name == last)
      return pipeline;
  }
  return "";
}
