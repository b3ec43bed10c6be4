//===- RankMemoryTest.cpp - bytes against published formulas ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/RankMemory.h"
#include "StepFixture.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace tgpt::cost;

namespace {

/// arXiv 2205.05198, table 2: the cases of one layer, in units of s b h.
TEST(RankMemoryTest, activationsOfTable2) {
  ModelShape shape = gpt22b();
  Execution run;
  run.fusedAttention = false;
  run.microBatch = 4;
  double sbh = 2048. * 4 * 6144, core = 5 * 64. * 2048 / 6144;
  EXPECT_DOUBLE_EQ(layerActivationBytes(shape, run), sbh * (34 + core));
  run.tp = 8;
  EXPECT_DOUBLE_EQ(layerActivationBytes(shape, run), sbh * (10 + 24 / 8. + core / 8));
  run.recompute = Recompute::Attention;
  EXPECT_DOUBLE_EQ(layerActivationBytes(shape, run), sbh * (10 + 24 / 8.));
  run.sequenceParallel = true;
  EXPECT_DOUBLE_EQ(layerActivationBytes(shape, run), sbh * 34 / 8);
  run.recompute = Recompute::None;
  EXPECT_DOUBLE_EQ(layerActivationBytes(shape, run), sbh * (34 / 8. + core / 8));
  run.recompute = Recompute::Full;
  run.sequenceParallel = false;
  EXPECT_DOUBLE_EQ(layerActivationBytes(shape, run), sbh * 2);
}

TEST(RankMemoryTest, fusedAttentionKeepsALogarithmARow) {
  ModelShape shape = llama7b();
  Execution run;
  // Norms' inputs and results 8 h, q, k, v and the sum 8 h, gate, up and product 6 ffn; 4 bytes a row and head.
  double tokens = 4096;
  EXPECT_DOUBLE_EQ(layerActivationBytes(shape, run), tokens * (16 * 4096. + 6 * 11008.) + 4 * tokens * 32);
}

/// The compiler's selective mode keeps the inputs of the two norms, q, k, v and the activation's inputs: 3d + 2k + 2f
/// elements (docs/memory.md); tp divides all but the residual stream, sp that too.
TEST(RankMemoryTest, selectiveKeepsWhatTheCompilerKeeps) {
  ModelShape shape = llama7b();
  Execution run;
  run.recompute = Recompute::Selective;
  double tokens = 4096;
  EXPECT_DOUBLE_EQ(layerActivationBytes(shape, run), 2 * tokens * (5 * 4096. + 2 * 11008.));
  run.tp = 4;
  EXPECT_DOUBLE_EQ(layerActivationBytes(shape, run), 2 * tokens * (2 * 4096. + (3 * 4096. + 2 * 11008.) / 4));
  run.sequenceParallel = true;
  EXPECT_DOUBLE_EQ(layerActivationBytes(shape, run), 2 * tokens * (5 * 4096. + 2 * 11008.) / 4);
}

/// LLaMA-2 7B, 16 sequences of 4096 tokens of 2 bytes; grouped-query attention divides by heads over key-value heads.
TEST(RankMemoryTest, kvCacheOfKnownModel) {
  ModelShape shape = llama7b();
  EXPECT_EQ(kvCacheBytes(shape, 16, 4096, 2), 32. * (1 << 30));
  shape.kvHeads = 8;
  EXPECT_EQ(kvCacheBytes(shape, 16, 4096, 2), 8. * (1 << 30));
}

TEST(RankMemoryTest, layersInFlightBySchedule) {
  ModelShape shape = gpt22b();
  Execution run;
  run.pp = 8;
  run.microBatches = 64;
  run.schedule = Schedule::OneF1B;
  // The first stage holds as many layers as the model has.
  EXPECT_DOUBLE_EQ(layersInFlight(shape, run, 0), 48);
  EXPECT_DOUBLE_EQ(layersInFlight(shape, run, 7), 6);
  run.microBatches = 3;
  EXPECT_DOUBLE_EQ(layersInFlight(shape, run, 0), 18);
  run.microBatches = 64;
  run.schedule = Schedule::Interleaved;
  run.chunks = 3;
  // arXiv 2205.05198, section 4.2.3: L (1 + (p - 1) / (p m)).
  EXPECT_DOUBLE_EQ(layersInFlight(shape, run, 0), 48 * (1 + 7. / 24));
  run.schedule = Schedule::GPipe;
  EXPECT_DOUBLE_EQ(layersInFlight(shape, run, 0), 64 * 6);
  run.schedule = Schedule::ZeroBubbleH2;
  EXPECT_DOUBLE_EQ(layersInFlight(shape, run, 0), 15 * 6);
}

/// 2 + 2 + 12 bytes a parameter: the known answers for 7 billion parameters.
TEST(RankMemoryTest, statesByZeroStage) {
  double expected[] = {112e9, 38.5e9, 26.25e9, 14e9};
  for (int stage = 0; stage < 4; ++stage)
    EXPECT_DOUBLE_EQ(shardedStates(7e9, stage, 8, {}).stateBytes(), expected[stage]);
}

/// Parameters as their authors count them.
TEST(RankMemoryTest, parametersOfKnownModels) {
  EXPECT_EQ(llama7b().parameters(), 6738415616.);
  ModelShape gpt2;
  gpt2.layers = 12;
  gpt2.hidden = 768;
  gpt2.heads = gpt2.kvHeads = 12;
  gpt2.headDim = 64;
  gpt2.ffnHidden = 3072;
  gpt2.vocabulary = 50257;
  gpt2.sequence = gpt2.learnedPositions = 1024;
  EXPECT_EQ(gpt2.parameters(), 124439808.);
}

TEST(RankMemoryTest, stagesAndRanksHoldTheModelOnce) {
  ModelShape shape = llama7b();
  Execution run;
  run.pp = 5; // 32 layers: two stages of seven, three of six
  double sum = 0;
  for (double stage = 0; stage < 5; ++stage)
    sum += stageParameters(shape, run, stage);
  EXPECT_DOUBLE_EQ(sum, shape.parameters());
}

// LLaMA 3 70B has 8 key-value heads: of 64 tp ranks each has a whole one, as 7 others do. 1250500608 are those of its
// plan.
TEST(RankMemoryTest, ranksBeyondTheKeyValueHeadsShareThem) {
  ModelShape shape = llama70b();
  Execution run;
  run.tp = 64;
  EXPECT_DOUBLE_EQ(stageParameters(shape, run, 0), 1250500608.);
  run.tp = 1;
  EXPECT_DOUBLE_EQ(stageParameters(shape, run, 0), shape.parameters());
}

TEST(RankMemoryTest, theFullestStageMayBeTheSecond) {
  ModelShape shape = gpt22b();
  shape.layers = 22;
  shape.vocabulary = shape.learnedPositions = 0;
  Execution run;
  run.fusedAttention = false;
  run.pp = 8;
  run.microBatches = 64;
  run.edgeStagesShorter = true; // two layers on the first stage, three on the second
  double second = rankMemory(shape, run, {}, 1).totalBytes();
  EXPECT_GT(second, rankMemory(shape, run, {}, 0).totalBytes());
  EXPECT_DOUBLE_EQ(fullestRank(shape, run, {}).totalBytes(), second);
}

/// Stages hold the model once, wherever it is cut, and no other number of layers of the last chunk makes the slowest
/// one faster.
TEST(RankMemoryTest, theLastChunkHasRoomForTheHead) {
  ModelShape shape = llama7b();
  for (double layers : {4, 12, 32, 61})
    for (double pp : {2, 3, 4, 5})
      for (double chunks : {1, 2, 4})
        for (double head : {0.0, 0.4, 1.5, 4.7}) {
          if (layers < pp * chunks)
            continue;
          shape.layers = layers;
          Execution run;
          run.pp = pp;
          run.chunks = chunks;
          run.lastChunkLayers = lastChunkLayers(shape, run, head);
          double sum = 0, others = pp * chunks - 1;
          for (double stage = 0; stage < pp; ++stage)
            sum += layersOfStage(shape, run, stage);
          EXPECT_EQ(sum, layers) << pp << " " << chunks << " " << head;
          auto slowest = [&](double last) { return std::max(last + head, std::ceil((layers - last) / others)); };
          for (double last = chunks > 1 ? 0 : 1; last <= layers / (others + 1); ++last)
            EXPECT_LE(slowest(run.lastChunkLayers), slowest(last)) << pp << " " << chunks << " " << head;
        }
}

/// What the third stage of plans of nano and nano-gpt2 keeps under zero-bubble, a layer a stage: before its backward
/// 54,528 and 67,072 B of a micro-batch (256 and 512 B of row statistics of the norms are no part of the formula),
/// waiting 61,440 and 81,920 B. Two micro-batches are before or in their backward, and three in it or behind.
TEST(RankMemoryTest, whatWaitsForWeightGradientsIsWhatPlansKeep) {
  Execution run;
  run.tp = 2;
  run.pp = 4;
  run.sequenceParallel = true;
  run.microBatches = 8;
  run.schedule = Schedule::ZeroBubbleH1;
  run.keepsForWeightGradients = true;
  run.held.second = {4, 3};
  run.held.first.kept = 4;
  ModelShape shape;
  shape.layers = 4;
  shape.hidden = shape.sequence = 64;
  shape.heads = 8;
  shape.headDim = 8;
  shape.kvHeads = 4;
  shape.ffnHidden = 128;
  shape.vocabulary = 256;
  shape.gatedMlp = true;
  shape.biases = shape.layerNorm = false;
  EXPECT_DOUBLE_EQ(rankMemory(shape, run, {}, 2).activationBytes, 54528. - 256 + 3 * 61440);
  shape.kvHeads = 8;
  shape.ffnHidden = 256;
  shape.gatedMlp = false;
  shape.biases = shape.layerNorm = true;
  EXPECT_DOUBLE_EQ(rankMemory(shape, run, {}, 2).activationBytes, 67072. - 512 + 3 * 81920);
}

/// Kernels run one after the other: the workspace is the most that one needs, once a rank.
TEST(RankMemoryTest, aWorkspaceIsCountedOnce) {
  ModelShape shape = llama7b();
  Execution run;
  run.countsPassing = true;
  double own = workspaceBytes(shape, run, 0);
  EXPECT_EQ(own, 256. * 4096 * 4) << "of a norm's weight, 256 sums of rows; rope's angles take half of it";
  for (double stages : {1, 4}) {
    run.pp = run.microBatches = stages;
    for (double stage = 0; stage < stages; ++stage) {
      run.productWorkspaceBytes = own / 2;
      double before = rankMemory(shape, run, {}, stage).totalBytes();
      run.productWorkspaceBytes = 0;
      EXPECT_DOUBLE_EQ(rankMemory(shape, run, {}, stage).totalBytes(), before);
      run.productWorkspaceBytes = 8 * own;
      EXPECT_DOUBLE_EQ(rankMemory(shape, run, {}, stage).totalBytes(), before + 7 * own);
    }
  }
  run = {};
  double without = fullestRank(shape, run, {}).totalBytes();
  run.productWorkspaceBytes = own;
  EXPECT_EQ(fullestRank(shape, run, {}).totalBytes(), without) << "papers' formulas have none";
  shape.learnedPositions = shape.sequence, shape.layerNorm = true;
  run = {};
  run.microBatch = 9;
  EXPECT_EQ(workspaceBytes(shape, run, 0), 2 * shape.sequence * shape.hidden * 4) << "sums of 8 samples and of one";
  EXPECT_EQ(workspaceBytes(shape, run, 1), 2 * own) << "a weight and a bias";
}

/// docs/memory.md: 3d + 2k + 2f elements a token, no row statistics; in four bytes each twice as many.
TEST(RankMemoryTest, selectiveKeepsWhatItsTableSays) {
  ModelShape shape = llama7b();
  shape.kvHeads = 8;
  Execution run;
  run.recompute = Recompute::Selective;
  double d = 4096, k = 1024, f = 11008, tokens = 4096;
  EXPECT_DOUBLE_EQ(layerActivationBytes(shape, run), tokens * 2 * (3 * d + 2 * k + 2 * f));
  run.elementBytes = 4;
  EXPECT_DOUBLE_EQ(layerActivationBytes(shape, run), tokens * 4 * (3 * d + 2 * k + 2 * f));
  run.tp = 16; // two ranks share a KV head
  run.sequenceParallel = true;
  EXPECT_DOUBLE_EQ(layerActivationBytes(shape, run), tokens * 4 * ((3 * d + 2 * f) / 16 + 2 * 128));
}

} // namespace
