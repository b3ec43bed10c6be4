//===- tools/tgpt-plan/LedgerRequest.cpp - checks what tgpt-plan ledger is asked ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/RecipeShape.h"
#include "tools/tgpt-plan/LedgerFlags.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <stdexcept>

using namespace tgpt;

static std::string text(double value) {
  char text[48];
  std::snprintf(text, sizeof text, value == std::floor(value) && std::abs(value) < 1e18 ? "%.0f" : "%g", value);
  return text;
}

[[noreturn]] static void refuse(const std::string &flag, double value, const std::string &expected, double nearest) {
  throw std::runtime_error(flag + " is " + text(value) + ", " + expected + "; nearest legal value: " + text(nearest));
}

/// A whole number in a range.
static double whole(const std::string &flag, double value, double least, double most) {
  if (std::isfinite(value) && value >= least && value <= most && value == std::floor(value))
    return value;
  double nearest = std::isnan(value) ? least : std::clamp(std::round(value), least, most);
  refuse(flag, value, "expected a whole number from " + text(least) + " to " + text(most), nearest);
}

/// Refuses a count that does not divide another one.
static void requireDivisor(const std::string &flag, double value, const std::string &what, double of) {
  auto divides = [&](double candidate) { return candidate >= 1 && std::fmod(of, candidate) == 0; };
  if (divides(value))
    return;
  double nearest = value; // 1 divides
  for (double distance = 1; !divides(nearest); ++distance)
    nearest = divides(value - distance) ? value - distance : std::min(value + distance, of);
  refuse(flag, value, "which does not divide the " + text(of) + " " + what, nearest);
}

/// The shape that flags alone describe.
static cost::ModelShape shapeOfFlags(const LedgerFlags &flags) {
  cost::ModelShape shape;
  for (auto [name, value] : {std::pair("--layers", &flags.layers), std::pair("--hidden", &flags.hidden),
                             std::pair("--heads", &flags.heads), std::pair("--sequence", &flags.sequence)})
    if (!*value)
      throw std::runtime_error(std::string(name) +
                               " is missing: a shape has --layers, --hidden, --heads and --sequence; or give a recipe, "
                               "or --parameters alone");
  bool isLlama = flags.family == "llama";
  shape.gatedMlp = isLlama;
  shape.biases = shape.layerNorm = shape.tiedEmbedding = !isLlama;
  return shape;
}

/// Sizes that follow from those given; a recipe's own stay where nothing that they follow from is given.
static void applySizes(const LedgerFlags &flags, cost::ModelShape &shape) {
  auto set = [](double &size, const char *flag, const std::optional<double> &value, double least, double most) {
    if (value)
      size = whole(flag, *value, least, most);
  };
  bool givesHead = flags.hidden || flags.heads;
  set(shape.layers, "--layers", flags.layers, 1, 4096);
  set(shape.hidden, "--hidden", flags.hidden, 1, 1 << 20);
  set(shape.heads, "--heads", flags.heads, 1, 1 << 20);
  set(shape.sequence, "--sequence", flags.sequence, 1, 1 << 27);
  set(shape.vocabulary, "--vocab", flags.vocabulary, 0, (1LL << 31) - 1);
  if (flags.heads || shape.kvHeads == 0)
    shape.kvHeads = shape.heads;
  set(shape.kvHeads, "--kv-heads", flags.kvHeads, 1, 1 << 20);
  requireDivisor("--kv-heads", shape.kvHeads, "heads", shape.heads);
  if (!flags.headDim && givesHead) {
    requireDivisor("--heads", shape.heads, "elements of --hidden (or give --head-dim)", shape.hidden);
    shape.headDim = shape.hidden / shape.heads;
  }
  set(shape.headDim, "--head-dim", flags.headDim, 1, 1 << 20);
  if (flags.hidden)
    shape.ffnHidden = 4 * shape.hidden;
  set(shape.ffnHidden, "--ffn", flags.ffn, 1, 1 << 23);
  if (flags.tied)
    shape.tiedEmbedding = *flags.tied;
  shape.dropout = shape.dropout || flags.dropout;
  shape.qkNorm = shape.qkNorm || flags.qkNorm;
  shape.learnedPositions = shape.layerNorm && shape.vocabulary > 0 ? shape.sequence : 0;
}

static cost::Schedule scheduleOf(const LedgerFlags &flags) {
  if (flags.vpp > 1 && flags.schedule != "1f1b")
    throw std::runtime_error("--vpp is " + text(flags.vpp) + " with --schedule=" + flags.schedule +
                             ", expected --schedule=1f1b; nearest legal value: --vpp=1");
  if (flags.vpp > 1)
    return cost::Schedule::Interleaved;
  return flags.schedule == "gpipe"         ? cost::Schedule::GPipe
         : flags.schedule == "zero-bubble" ? cost::Schedule::ZeroBubbleH1
                                           : cost::Schedule::OneF1B;
}

static cost::Recompute recomputeOf(const std::string &name) {
  for (cost::Recompute mode : {cost::Recompute::Attention, cost::Recompute::Selective, cost::Recompute::Full})
    if (name == recomputeName(mode))
      return mode;
  return cost::Recompute::None;
}

static cost::Execution executionOf(const LedgerFlags &flags) {
  cost::Execution run;
  run.dp = whole("--dp", flags.dp, 1, 1 << 20);
  run.tp = whole("--tp", flags.tp, 1, 1 << 20);
  run.pp = whole("--pp", flags.pp, 1, 4096);
  run.chunks = whole("--vpp", flags.vpp, 1, 4096);
  run.zero = static_cast<int>(whole("--zero", flags.zero, 0, 3));
  if (flags.zeroGroup != 0)
    requireDivisor("--zero-group", whole("--zero-group", flags.zeroGroup, 1, 1 << 20), "dp ranks", run.dp);
  run.zeroRanks = flags.zeroGroup;
  run.schedule = scheduleOf(flags);
  run.recompute = recomputeOf(flags.recompute);
  run.sequenceParallel = flags.sequenceParallel;
  run.microBatch = whole("--micro-batch", flags.microBatch, 1, 1 << 20);
  run.microBatches = whole("--micro-batches", flags.microBatches.value_or(run.pp), 1, 1 << 20);
  run.fusedAttention = flags.attention == "fused";
  return run;
}

static KvCacheRequest kvCacheOf(const LedgerFlags &flags, const LedgerRequest &request) {
  KvCacheRequest cache;
  cache.sequences = whole("--kv-batch", flags.kvBatch.value_or(request.run.microBatch), 1, 1 << 20);
  cache.tokens = whole("--kv-tokens", flags.kvTokens.value_or(request.shape.sequence), 1, 1 << 27);
  cache.type = flags.kvType;
  cache.elementBytes = cache.type == "f32"                                     ? 4
                       : cache.type == "int4"                                  ? 0.5
                       : cache.type.starts_with("fp8") || cache.type == "int8" ? 1
                                                                               : 2;
  return cache;
}

/// As many stages, or chunks of them, as layers at most; and under sequence parallelism whole tokens on each rank.
static void checkGrid(const LedgerFlags &flags, const LedgerRequest &request) {
  double layers = request.shape.layers;
  if (request.run.pp > layers)
    refuse("--pp", request.run.pp, "but there are " + text(layers) + " layers", layers);
  if (request.run.pp * request.run.chunks > layers)
    refuse("--vpp", request.run.chunks, "but --pp=" + text(request.run.pp) + " stages have " + text(layers) + " layers",
           std::floor(layers / request.run.pp));
  double tp = request.run.tp, nearest = tp, tokens = request.shape.sequence;
  while (std::fmod(tokens, nearest) != 0 || std::fmod(request.shape.heads, nearest) != 0)
    --nearest; // 1 divides both
  if (flags.sequenceParallel && nearest != tp)
    refuse("--tp", tp, "which does not divide the " + text(tokens) + " tokens of --sequence, as --sp asks", nearest);
}

/// What only a shape, or a plan, makes use of.
static void refuseShapeBeside(const LedgerFlags &flags) {
  LedgerFlags otherwise;
  bool hasShape = !flags.model.empty() || flags.family || flags.tied || flags.dropout || flags.qkNorm ||
                  !flags.plan.empty() || flags.sequenceParallel || flags.recompute != otherwise.recompute ||
                  flags.attention != otherwise.attention;
  for (const std::optional<double> &size : {flags.layers, flags.hidden, flags.heads, flags.kvHeads, flags.headDim,
                                            flags.ffn, flags.vocabulary, flags.sequence, flags.kvBatch, flags.kvTokens})
    hasShape |= size.has_value();
  if (hasShape)
    throw std::runtime_error("--parameters stands for a shape, so neither a model nor options of one may be given");
}

LedgerRequest tgpt::ledgerRequestOf(const LedgerFlags &flags) {
  LedgerRequest request;
  request.run = executionOf(flags);
  request.states.gradient = flags.gradients == "32" ? 4 : 2;
  if (flags.parameters) {
    refuseShapeBeside(flags);
    request.model = "a model";
    request.parameters = whole("--parameters", *flags.parameters, 1, 1e15);
    return request;
  }
  if (flags.model.empty()) {
    request.model = "a shape";
    request.shape = shapeOfFlags(flags);
  } else {
    for (const char *ending : {".mlir", ".mlirbc", ".bin"})
      if (flags.model.ends_with(ending))
        throw std::runtime_error("'" + flags.model +
                                 "' is no recipe (recipes/models/*.yaml): a model goes to tgpt-opt, " +
                                 "and a plan stands beside its recipe as --plan=FILE");
    ModelRecipe recipe = readModelRecipe(flags.model);
    if (flags.family)
      throw std::runtime_error("--family is given beside a recipe, which has one: " + flags.model);
    request.model = recipe.name;
    request.shape = shapeOf(recipe);
  }
  applySizes(flags, request.shape);
  requireDivisor("--tp", request.run.tp, "heads", request.shape.heads);
  if (flags.plan.empty()) // whose compiler has looked at its own
    checkGrid(flags, request);
  request.kvCache = kvCacheOf(flags, request);
  return request;
}
