//===- CachingAllocatorTest.cpp - reserved bytes and lost seconds, by hand ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "validation/CachingAllocator.h"
#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::validation;

namespace {

/// Gated, without biases and tied weights; a layer has 2 * 8 * 8 + 2 * 8 * 4 + 3 * 8 * 16 weights and two norms.
cost::ModelShape smallModel() {
  cost::ModelShape shape;
  shape.layers = 3;
  shape.hidden = 8;
  shape.heads = 2;
  shape.kvHeads = 1;
  shape.headDim = 4;
  shape.ffnHidden = 16;
  shape.vocabulary = 100;
  shape.sequence = 10;
  shape.gatedMlp = true;
  shape.biases = shape.layerNorm = shape.tiedEmbedding = false;
  return shape;
}
constexpr double layerWeights = 2 * 8 * 8 + 2 * 8 * 4 + 3 * 8 * 16 + 2 * 8;

cost::Execution shardedRun() {
  cost::Execution run;
  run.dp = 4;
  run.zero = 3;
  run.recompute = cost::Recompute::Full;
  run.microBatch = 2; // 20 tokens
  return run;
}

TEST(CachingAllocatorTest, reservedIsWhatEachPoolHolds) {
  cost::StateBytes states{4, 4, 0, 8, 0};
  states.logit = 14;
  double all = 3 * layerWeights + 2 * 100 * 8 + 8;
  double expected = 16 * all / 4                               // parameters, gradients, moments of a quarter
                    + 3 * 20 * 8 * 2                           // layers' inputs
                    + 14 * 20 * 100                            // the loss
                    + 2 * 2 * (2 * 100 * 8 + 2 * layerWeights) // embedding, head and two layers, twice
                    + 2 * 20 * 3 * 16;                         // gate, up and product
  EXPECT_DOUBLE_EQ(reservedBytes(smallModel(), shardedRun(), states), expected);
}

TEST(CachingAllocatorTest, tensorParallelismAddsWholeSequences) {
  cost::ModelShape shape = smallModel();
  cost::Execution run = shardedRun(), split = run;
  split.tp = 2;
  split.sequenceParallel = true;
  shape.kvHeads = 2;
  cost::StateBytes states{4, 4, 0, 8, 0};
  // The gathered input of a product, a partial result, and the head's input: 20 x 8 in 16 bits each.
  double norms = 16. / 4 * (3 * 16 + 8) / 2; // states of norms are whole on both ranks
  double whole = reservedBytes(shape, run, states), half = reservedBytes(shape, split, states);
  EXPECT_NEAR(half, whole / 2 + norms + 3 * 2 * 20 * 8, 1e-6);
}

TEST(CachingAllocatorTest, whatDoesNotFitIsMappedAgain) {
  cost::ModelShape shape = smallModel();
  cost::Execution run = shardedRun();
  run.microBatches = 5;
  cost::StateBytes states{4, 4, 0, 8, 0};
  double held = cost::fullestRank(shape, run, states).totalBytes(), layer = 2 * layerWeights;
  AllocatorEdge edge{held + 8 * layer, 8, 1000};
  EXPECT_EQ(remapSeconds(shape, run, states, edge), 0);
  edge.capacityBytes -= layer / 2;
  EXPECT_NEAR(remapSeconds(shape, run, states, edge), 2 * 3 * 5 * layer / 2 / 1000, 1e-9);
  edge.capacityBytes -= 3 * layer; // one layer at a time is all that is asked for
  EXPECT_NEAR(remapSeconds(shape, run, states, edge), 2 * 3 * 5 * layer / 1000, 1e-9);
  edge.capacityBytes = 0;
  EXPECT_NEAR(remapSeconds(shape, run, states, edge), 2 * 3 * 5 * layer / 1000, 1e-9);
  run.zero = 2; // nothing is gathered
  EXPECT_EQ(remapSeconds(shape, run, states, edge), 0);
  run.zero = 3;
  EXPECT_EQ(remapSeconds(shape, run, states, AllocatorEdge()), 0);
}

} // namespace
