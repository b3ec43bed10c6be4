//===- test/e2e/SweepTest.cpp - drawn models on drawn grids equal one rank -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Draws models and, for each, grids (Configuration.cpp), trains two steps in f64 and
// compares loss, gradient norm, every gradient, parameter and moment with the plan of
// one rank (Comparison.h) after each step. Prints the worst error of each quantity with
// its configuration. The draws follow from the seed alone.
//
//   TGPT_SWEEP_CONFIGURATIONS=5000 TGPT_SWEEP_SEED=2 build/test/unit/test-sweep
//
//===----------------------------------------------------------------------===//

#include "test/e2e/Comparison.h"
#include "test/e2e/Configuration.h"
#include "test/e2e/InProcessCompiler.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <exception>
#include <map>
#include <numeric>

using namespace tgpt;
using namespace tgpt::runtime;

namespace {

constexpr double tolerance = 1e-10; // Comparison.h says why
constexpr int gridsPerModel = 6;

class Sweep {
public:
  explicit Sweep(uint64_t seed) : draw(seed) {}

  void run(int64_t configurations) {
    for (int64_t done = 0; done < configurations;) {
      Configuration model = draw.model();
      std::vector<Snapshot> expected = train(model);
      for (int i = 0; i < gridsPerModel && done < configurations; ++i, ++done)
        runOne(draw.grid(model), expected);
    }
  }

  /// How often a feature was drawn.
  const std::map<std::string, int64_t> &getDrawn() const { return drawn; }
  const WorstErrors &getWorst() const { return worst; }

private:
  std::vector<Snapshot> train(const Configuration &configuration) {
    TrainingSettings settings;
    settings.ignored = configuration.ignored;
    return runtime::train(compiler.compile(configuration.model, configuration.options), settings);
  }

  void runOne(const Configuration &configuration, const std::vector<Snapshot> &expected) {
    count(configuration);
    try {
      std::vector<Difference> differences = compare(train(configuration), expected, TrainingSettings().learningRate);
      for (const Difference &difference : differences)
        EXPECT_LE(difference.error, tolerance) << difference.text() << "\n" << configuration.text();
      worst.note(differences, configuration.text());
    } catch (const std::exception &error) {
      ADD_FAILURE() << error.what() << "\n" << configuration.text();
    }
  }

  void count(const Configuration &configuration) {
    const CompileOptions &options = configuration.options;
    const ModelRecipe &model = configuration.model;
    auto add = [&](const std::string &feature, bool has) { drawn[feature] += has; };
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
    for (int64_t size : {2, 3, 4})
      add("tp=" + std::to_string(size), options.tp == size);
    for (int64_t size : {2, 3, 4, 6})
      add("dp=" + std::to_string(size), options.dp == size);
    for (int64_t size : {2, 3, 4, 8})
      add("pp=" + std::to_string(size), options.pp == size);
    for (int64_t size : {2, 3})
      add("vpp=" + std::to_string(size), options.vpp == size);
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
    add("sp", options.sequenceParallel);
    add("sp and pp", options.sequenceParallel && options.pp > 1);
    add("tp, dp and pp", options.tp > 1 && options.dp > 1 && options.pp > 1);
    add("uneven stages", options.pp > 1 && model.layers % options.pp != 0);
    add("fewer micro-batches than stages", options.microBatches < options.pp);
    for (const char *mode : {"selective", "full"})
      add(std::string("recompute ") + mode, options.recompute == mode);
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
    add("ignored labels", configuration.ignored != IgnoredLabels::None);
  }

  InProcessCompiler compiler;
  ConfigurationDraw draw;
  std::map<std::string, int64_t> drawn;
  WorstErrors worst;
};

} // namespace

TEST(SweepTest, EveryDrawEqualsOneRank) {
  int64_t configurations = numberFromEnvironment("TGPT_SWEEP_CONFIGURATIONS", 450);
  Sweep sweep(numberFromEnvironment("TGPT_SWEEP_SEED", 1));
  sweep.run(configurations);
  std::printf("%lld configurations\n%s", static_cast<long long>(configurations), sweep.getWorst().text().c_str());
  for (const auto &[feature, times] : sweep.getDrawn()) {
    std::printf("%6lld with %s\n", static_cast<long long>(times), feature.c_str());
    EXPECT_GE(times, (configurations - 150) / 100) << "the draws hardly meet: " << feature;
  }
}
