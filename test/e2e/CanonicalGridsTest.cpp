//===- test/e2e/CanonicalGridsTest.cpp - numbers that are no powers of two -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --reduction=canonical on drawn grids, whose degrees, micro-batches and samples are
// what they happen to be: 2, 3, 5, 6 ... In f32, the bits of one rank after two steps.
// TGPT_CANONICAL_GRIDS=500 TGPT_CANONICAL_SEED=2 draws more of them.
//
//===----------------------------------------------------------------------===//

#include "test/e2e/InProcessCompiler.h"
#include "test/e2e/StepBits.h"

#include "cost/SumNodes.h"
#include "test/e2e/Configuration.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

using namespace tgpt;
using namespace tgpt::test;

namespace {

constexpr int64_t gridsOfModel = 5, steps = 2;

class CanonicalGrids {
public:
  explicit CanonicalGrids(uint64_t seed) : random(seed) {}

  /// A model, and how many samples its steps have.
  Configuration model() {
    Configuration drawn;
    ModelRecipe &recipe = drawn.model;
    recipe.name = "drawn";
    recipe.family = coin() ? ModelFamily::Llama : ModelFamily::Gpt2;
    recipe.heads = oneOf<int64_t>({6, 12, 12});
    recipe.width = recipe.heads * oneOf<int64_t>({4, 6});
    recipe.kvHeads = recipe.family == ModelFamily::Llama ? oneOf<int64_t>({recipe.heads, 6, 3, 2, 1}) : recipe.heads;
    recipe.layers = oneOf<int64_t>({1, 2, 3});
    recipe.ffn = oneOf<int64_t>({24, 36, 60});
    recipe.vocabulary = oneOf<int64_t>({17, 26, 48});
    recipe.sequenceLength = 12;
    recipe.normEpsilon = 1e-5;
    recipe.ropeTheta = 100;
    recipe.tiedEmbeddings = coin();
    recipe.qkNorm = recipe.family == ModelFamily::Llama && coin();
    recipe.dropout = oneOf({0.0, 0.2});
    recipe.attentionDropout = oneOf({0.0, 0.3});
    recipe.fusedQkv = coin();
    recipe.initStddev = 0.2;
    CompileOptions &options = drawn.options;
    options.reduction = "canonical";
    options.reductionChunks = oneOf<int64_t>({12, 24, 60});
    options.seed = random() % 1000;
    options.maxGradNorm = oneOf({0.0, 0.01});
    options.labelSmoothing = oneOf({0.0, 0.1});
    options.zLoss = oneOf({0.0, 0.001});
    options.microBatchSamples = oneOf<int64_t>({3, 5, 6, 7, 10, 12, 15, 18, 24, 30});
    return drawn;
  }

  Configuration grid(const Configuration &model) {
    int64_t samples = model.options.microBatchSamples;
    for (;;) {
      Configuration drawn = model;
      CompileOptions &options = drawn.options;
      options.tp = oneOf<int64_t>({1, 2, 3, 4, 6});
      options.dp = divisor(samples, {2, 3, 5, 6, 1});
      options.pp = oneOf<int64_t>({1, 1, 2, 3});
      options.microBatches = divisor(samples / options.dp, {1, 2, 3, 4, 5, 6, 7, 8});
      options.sequenceParallel = options.tp > 1 && coin();
      options.schedule = oneOf({"gpipe", "1f1b", "zero-bubble"});
      options.recompute = oneOf({"none", "selective", "full"});
      options.zero = oneOf<int64_t>({0, 1, 2, 3});
      options.zeroGroup = options.zero > 0 && options.dp == 6 ? oneOf<int64_t>({0, 2, 3}) : 0;
      options.overlap = coin();
      options.bucketMib = oneOf<int64_t>({0, 25});
      options.rankOrder = oneOf({"dp,pp,tp", "tp,pp,dp"});
      int64_t kvHeads = model.model.kvHeads;
      if (options.tp * options.dp * options.pp > 16 || model.model.heads % options.tp != 0 ||
          (kvHeads % options.tp != 0 && options.tp % kvHeads != 0))
        continue;
      options.microBatchSamples = samples / options.dp / options.microBatches;
      return drawn;
    }
  }

  void count(const CompileOptions &options) {
    int64_t addends = options.microBatches * withoutPowersOfTwo(options.microBatchSamples);
    ++counts["tp=" + std::to_string(options.tp)];
    ++counts["dp=" + std::to_string(options.dp)];
    bool ranksHaveNodes = options.dp > 1 && withoutPowersOfTwo(addends) != 1;
    counts["samples of ranks that are no power of two"] += ranksHaveNodes;
    counts["..., under zero"] += ranksHaveNodes && options.zero > 0;
    counts["samples of a micro-batch that are no power of two"] += withoutPowersOfTwo(options.microBatchSamples) > 1;
    counts["chunks of ranks that are no power of two"] +=
        options.tp > 1 && withoutPowersOfTwo(options.reductionChunks / options.tp) != 1;
    counts["sequence parallelism"] += options.sequenceParallel;
    counts["stages"] += options.pp > 1;
  }

  std::map<std::string, int64_t> counts;

private:
  template <typename T> T oneOf(std::initializer_list<T> choices) { return choices.begin()[random() % choices.size()]; }
  bool coin() { return random() % 2 == 0; }
  /// One that divides the number; 1 is among them.
  int64_t divisor(int64_t number, std::initializer_list<int64_t> choices) {
    for (;;)
      if (int64_t choice = oneOf(choices); number % choice == 0)
        return choice;
  }

  std::mt19937_64 random;
};

} // namespace

TEST(CanonicalGrids, GiveTheBitsOfOneRank) {
  int64_t grids = numberFromEnvironment("TGPT_CANONICAL_GRIDS", 40);
  CanonicalGrids draws(numberFromEnvironment("TGPT_CANONICAL_SEED", 1));
  InProcessCompiler compiler;
  for (int64_t i = 0; i < grids;) {
    Configuration model = draws.model();
    SCOPED_TRACE(model.text());
    std::vector<StepBits> one = train(compiler.compile(model.model, model.options), steps);
    for (int64_t end = std::min(i + gridsOfModel, grids); i < end; ++i) {
      Configuration grid = draws.grid(model);
      SCOPED_TRACE(grid.text());
      draws.count(grid.options);
      expectSameBits(train(compiler.compile(grid.model, grid.options), steps), one);
    }
  }
  std::printf("%lld grids\n", static_cast<long long>(grids));
  for (const auto &[what, times] : draws.counts) {
    std::printf("%6lld with %s\n", static_cast<long long>(times), what.c_str());
    EXPECT_GE(times, 1) << "the draws do not meet: " << what;
  }
}
