//===- test/e2e/Configuration.cpp - one draw of the sweep -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/e2e/Configuration.h"
#include <algorithm>
#include <cstdlib>
#include <string>

using namespace tgpt;
using runtime::IgnoredLabels;

static const char *textOf(IgnoredLabels ignored) {
  switch (ignored) {
  case IgnoredLabels::None: return "none";
  case IgnoredLabels::Uneven: return "uneven";
  case IgnoredLabels::Halves: return "halves";
  case IgnoredLabels::AllButOne: return "all-but-one";
  }
  return "";
}

std::string Configuration::text() const {
  auto number = [](const char *name, int64_t value) { return std::string(name) + std::to_string(value); };
  std::string text = model.family == ModelFamily::Llama ? "llama" : "gpt2";
  text += number(" vocabulary ", model.vocabulary) + number(" width ", model.width) + number(" layers ", model.layers) +
          number(" heads ", model.heads) + number("/", model.kvHeads) + number(" ffn ", model.ffn) +
          number(" sequence ", model.sequenceLength) + (model.dropout > 0 ? " dropout" : "") +
          (model.attentionDropout > 0 ? " attention dropout" : "") + (model.tiedEmbeddings ? " tied" : " untied") +
          (model.fusedQkv ? " fused qkv" : "") + (model.fusedGateUp ? " fused gate-up" : "") + ", ignored " +
          textOf(ignored) + ":" + number(" --tp=", options.tp) + (options.sequenceParallel ? " --sp" : "") +
          number(" --dp=", options.dp) + number(" --pp=", options.pp);
  text += " --schedule=" + options.schedule + number(" --vpp=", options.vpp);
  for (size_t i = 0; i < options.stages.size(); ++i)
    text += number(i == 0 ? " --stages=" : ",", options.stages[i]);
  if (options.lossScaling.mode == LossScaling::Mode::Fixed)
    text += " --loss-scale=" + std::to_string(options.lossScaling.initial);
  if (options.lossScaling.mode == LossScaling::Mode::Dynamic)
    text += " --loss-scale=dynamic --loss-scale-initial=" + std::to_string(options.lossScaling.initial) +
            number(" --loss-scale-growth-interval=", options.lossScaling.growthInterval);
  if (options.rankOrder != CompileOptions().rankOrder)
    text += " --rank-order=" + options.rankOrder;
  if (options.vocabularyMultiple > 1)
    text += number(" --vocabulary-multiple=", options.vocabularyMultiple);
  if (options.recompute != "none")
    text += " --recompute=" + options.recompute;
  if (options.dp > 1)
    text += number(" --bucket-mib=", options.bucketMib);
  if (options.zero > 0)
    text += number(" --zero=", options.zero) + number(" --zero-group=", options.zeroGroup);
  if (options.globalBatch)
    text += number(" --global-batch=", options.globalBatch);
  if (options.reduction != "fast")
    text += " --reduction=" + options.reduction + number(" --reduction-chunks=", options.reductionChunks);
  if (options.overlap)
    text += number(" --overlap --prefetch=", options.prefetch);
  return text + number(" --micro-batches=", options.microBatches) +
         number(" --micro-batch-samples=", options.microBatchSamples);
}

Configuration ConfigurationDraw::model() {
  Configuration drawn;
  ModelRecipe &model = drawn.model;
  model.name = "drawn";
  model.family = coin() ? ModelFamily::Llama : ModelFamily::Gpt2;
  model.heads = oneOf<int64_t>({1, 2, 4, 4, 6, 8, 8});
  // Not 2: a layer norm of two elements gives -1 and 1 whatever they are, so the gradients behind it are rounding
  // noise.
  model.width = model.heads * (model.heads == 1 ? oneOf<int64_t>({4, 6}) : oneOf<int64_t>({2, 4, 6}));
  model.kvHeads = model.heads;
  if (model.family == ModelFamily::Llama)
    while (model.kvHeads % 2 == 0 && coin())
      model.kvHeads /= 2;
  model.layers = oneOf<int64_t>({1, 2, 3, 4, 5, 5, 5, 7, 7, 30});
  model.ffn = oneOf<int64_t>({8, 12, 18, 20, 36});
  model.vocabulary = oneOf<int64_t>({8, 17, 26, 28, 44});
  model.sequenceLength = oneOf<int64_t>({4, 6, 8, 12});
  model.normEpsilon = 1e-5;
  model.ropeTheta = 100;
  model.tiedEmbeddings = coin();
  model.dropout = oneOf({0.0, 0.0, 0.0, 0.2});
  model.attentionDropout = oneOf({0.0, 0.0, 0.0, 0.3});
  model.fusedQkv = coin();
  model.fusedGateUp = model.family == ModelFamily::Llama && coin();
  model.initStddev = 0.2; // far from the uniform guess, so that every gradient is of a size

  CompileOptions &options = drawn.options;
  options.dtype = "f64";
  options.seed = random() % 1000;
  // A gradient that is zero in exact arithmetic (GPT-2's key biases) is rounding noise, up to 1e-16, of which AdamW
  // takes 1 / epsilon: with 1e-8 the noise alone would reach the tolerance.
  options.epsilon = 1e-4;
  options.maxGradNorm = oneOf({0.0, 0.1, 1.0, 100.0}); // none, always, sometimes and never in effect
  options.microBatchSamples = oneOf<int64_t>({1, 2, 4, 6, 7, 8, 11, 12, 12, 24, 32, 32, 36});
  drawn.ignored = oneOf({IgnoredLabels::None, IgnoredLabels::Uneven, IgnoredLabels::Uneven, IgnoredLabels::Halves,
                         IgnoredLabels::AllButOne});
  return drawn;
}

/// Layers wherever they fall; virtual stages may be empty.
std::vector<int64_t> ConfigurationDraw::stages(int64_t layers, int64_t virtualStages) {
  std::vector<int64_t> stages(virtualStages, 0);
  for (int64_t layer = 0; layer < layers; ++layer)
    ++stages[random() % virtualStages];
  return stages;
}

/// Whether the compiler serves the grid; it refuses the others (test/passes/shard-invalid.mlir).
static bool isServed(const Configuration &drawn) {
  const ModelRecipe &model = drawn.model;
  int64_t tp = drawn.options.tp;
  bool hasKvHeads = model.kvHeads % tp == 0 || tp % model.kvHeads == 0;
  bool isDivided = model.heads % tp == 0 && hasKvHeads && model.ffn % tp == 0;
  return isDivided && (!drawn.options.sequenceParallel || model.sequenceLength % tp == 0);
}

Configuration ConfigurationDraw::grid(const Configuration &model) {
  constexpr int64_t mostRanks = 16; // threads on a few cores
  int64_t samples = model.globalSamples();
  for (;;) {
    Configuration drawn = model;
    CompileOptions &options = drawn.options;
    options.tp = oneOf<int64_t>({1, 2, 2, 3, 3, 4, 4, 4});
    options.vocabularyMultiple = oneOf<int64_t>({1, 1, 1, 5, 16});
    options.pp = oneOf<int64_t>({1, 2, 2, 3, 4, 4, 8});
    options.dp = oneOf<int64_t>({1, 2, 3, 3, 4, 6});
    options.schedule = oneOf({"gpipe", "1f1b", "1f1b", "zero-bubble", "zero-bubble"});
    options.vpp = oneOf<int64_t>({1, 1, 2, 3});
    options.sequenceParallel = options.tp > 1 && coin();
    options.microBatches = oneOf<int64_t>({1, 2, 3, 4, 6, std::max<int64_t>(options.pp - 1, 1), options.pp,
                                           options.pp + 1, 8 * options.pp, 8 * options.pp});
    options.rankOrder = oneOf({"dp,pp,tp", "dp,pp,tp", "pp,dp,tp", "tp,pp,dp", "pp,tp,dp"});
    options.recompute = oneOf({"none", "none", "selective", "full"});
    options.zero = oneOf<int64_t>({0, 1, 2, 3});
    options.overlap = coin();
    options.prefetch = oneOf<int64_t>({0, 1, 2, 5});
    options.bucketMib = oneOf<int64_t>({0, 25}); // a bucket a layer, or all of a stage in one
    options.zeroGroup = options.zero > 0 && options.dp > 3 ? oneOf<int64_t>({0, 2, options.dp / 2}) : 0;
    options.lossScaling.mode =
        oneOf({LossScaling::Mode::None, LossScaling::Mode::None, LossScaling::Mode::Fixed, LossScaling::Mode::Dynamic});
    options.lossScaling.initial = oneOf({0.3, 7.0, 1024.0, 1e5});
    options.lossScaling.growthInterval = oneOf({1, 2000});
    int64_t parts = options.dp * options.microBatches;
    options.microBatchSamples = (samples - 1) / parts + 1;
    bool leavesNoneEmpty = samples > (parts - options.dp) * options.microBatchSamples;
    if (!leavesNoneEmpty || (samples % parts != 0 && coin()) || drawn.ranks() > mostRanks || !isServed(drawn))
      continue;
    options.globalBatch = samples % parts != 0 ? samples : 0;
    options.reduction = coin() ? "canonical" : "fast";
    options.reductionChunks = options.tp == 3 ? 24 : 8;
    if (options.pp > 1 && coin())
      options.stages = stages(model.model.layers, options.pp * options.vpp);
    return drawn;
  }
}

int64_t tgpt::numberFromEnvironment(const char *variable, int64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::stoll(text) : otherwise;
}
