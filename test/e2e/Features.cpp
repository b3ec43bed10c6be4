//===- Features.cpp - what a configuration has that a sweep should have met ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/e2e/Features.h"

#include <numeric>

using namespace tgpt;

namespace {
class Features {
public:
  explicit Features(const Configuration &configuration) : configuration(configuration) {}

  void addModel();
  void addGrid();
  void addSchedule();
  void addZero();
  void addRest();
  std::vector<std::pair<std::string, bool>> all;

private:
  void add(const std::string &feature, bool has) { all.emplace_back(feature, has); }

  const Configuration &configuration;
  const CompileOptions &options = configuration.options;
  const ModelRecipe &model = configuration.model;
};
} // namespace

void Features::addModel() {
  add("llama", model.family == ModelFamily::Llama);
  add("gpt2", model.family == ModelFamily::Gpt2);
  add("tied", model.tiedEmbeddings);
  add("tied over stages", model.tiedEmbeddings && options.pp > 1);
  add("fewer KV heads", model.kvHeads < model.heads);
  add("fewer KV heads than tp", model.kvHeads < options.tp);
  add("fewer KV heads than tp, sp", model.kvHeads < options.tp && options.sequenceParallel);
  bool isPadded = model.vocabulary % std::lcm(options.tp, options.vocabularyMultiple) != 0;
  add("padded vocabulary", isPadded);
  add("padded vocabulary, tied over stages", isPadded && model.tiedEmbeddings && options.pp > 1);
  add("padded vocabulary, untied", isPadded && !model.tiedEmbeddings);
  add("fused qkv", model.fusedQkv);
  add("fused qkv and biases, tp", model.fusedQkv && model.family == ModelFamily::Gpt2 && options.tp > 1);
  add("fused gate-up", model.fusedGateUp);
}

void Features::addGrid() {
  for (int64_t size : {2, 3, 4})
    add("tp=" + std::to_string(size), options.tp == size);
  for (int64_t size : {2, 3, 4, 6})
    add("dp=" + std::to_string(size), options.dp == size);
  for (int64_t size : {2, 3, 4, 8})
    add("pp=" + std::to_string(size), options.pp == size);
  for (int64_t size : {2, 3})
    add("vpp=" + std::to_string(size), options.vpp == size);
  add("sp", options.sequenceParallel);
  add("sp and pp", options.sequenceParallel && options.pp > 1);
  add("tp, dp and pp", options.tp > 1 && options.dp > 1 && options.pp > 1);
  add("uneven stages", options.pp > 1 && model.layers % options.pp != 0);
  add("fewer micro-batches than stages", options.microBatches < options.pp);
}

void Features::addSchedule() {
  bool isZeroBubble = options.schedule == "zero-bubble" && options.pp > 1;
  add("gpipe", options.schedule == "gpipe" && options.pp > 1);
  add("interleaved 1f1b", options.schedule == "1f1b" && options.pp > 1 && options.vpp > 1);
  add("interleaved, no multiple", options.vpp > 1 && options.microBatches % options.pp != 0);
  add("zero-bubble", isZeroBubble);
  add("zero-bubble, interleaved", isZeroBubble && options.vpp > 1);
  add("zero-bubble and tp", isZeroBubble && options.tp > 1);
  add("zero-bubble and sp", isZeroBubble && options.sequenceParallel);
  add("zero-bubble and recompute", isZeroBubble && options.recompute != "none");
  add("zero-bubble and zero", isZeroBubble && options.zero > 0 && options.dp > 1);
  add("zero-bubble and overlap", isZeroBubble && options.overlap);
  add("more virtual stages than layers", options.pp * options.vpp > model.layers);
  add("30 layers", model.layers == 30 && options.pp > 1);
  add("as many micro-batches as stages", options.pp > 1 && options.microBatches == options.pp);
  add("one micro-batch less", options.pp > 1 && options.microBatches == options.pp - 1);
  add("eight micro-batches a stage", options.pp > 1 && options.microBatches == 8 * options.pp);
  add("one micro-batch more", options.pp > 1 && options.microBatches == options.pp + 1);
}

void Features::addZero() {
  for (int64_t zero : {1, 2, 3}) {
    bool isShared = options.zero == zero && options.dp > 1;
    add("zero=" + std::to_string(zero), isShared);
    add("zero=" + std::to_string(zero) + ", tp and pp", isShared && options.tp > 1 && options.pp > 1);
  }
  add("zero in groups", options.zeroGroup > 0);
  add("zero in groups and pp", options.zeroGroup > 0 && options.pp > 1);
  add("zero ahead of use", options.zero == 3 && options.overlap && options.prefetch > 0 && options.dp > 1);
  add("buckets of gradients", options.zero == 0 && options.dp > 1);
  add("zero and recompute", options.zero > 0 && options.dp > 1 && options.recompute != "none");
}

void Features::addRest() {
  for (const char *mode : {"selective", "full"})
    add(std::string("recompute ") + mode, options.recompute == mode);
  add("fixed loss scale", options.lossScaling.mode == LossScaling::Mode::Fixed);
  add("dynamic loss scale", options.lossScaling.mode == LossScaling::Mode::Dynamic);
  add("uneven batch", options.globalBatch > 0);
  bool isCanonical = options.reduction == "canonical";
  add("canonical reduction", isCanonical);
  add("canonical reduction and zero", isCanonical && options.zero > 0 && options.dp > 1);
  add("canonical reduction, fewer KV heads than tp", isCanonical && model.kvHeads < options.tp);
  add("overlap", options.overlap);
  add("overlap and zero=3", options.overlap && options.zero == 3 && options.dp > 1);
  add("dropout", model.dropout > 0);
  add("attention dropout", model.attentionDropout > 0);
  add("ignored labels", configuration.ignored != runtime::IgnoredLabels::None);
}

std::vector<std::pair<std::string, bool>> tgpt::featuresOf(const Configuration &configuration) {
  Features features(configuration);
  features.addModel();
  features.addGrid();
  features.addSchedule();
  features.addZero();
  features.addRest();
  return std::move(features.all);
}
