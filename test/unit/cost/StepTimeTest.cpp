//===- StepTimeTest.cpp - steps against sums by hand ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepFixture.h"
#include "cost/CollectiveTime.h"
#include <gtest/gtest.h>

using namespace tgpt::cost;

namespace {

TEST(StepTimeTest, modelFlopsOfThePaper) {
  // arXiv 2205.05198, equation 7: 72 B L s h^2 (1 + s / 6h + v / 12 h L).
  ModelShape shape = gpt22b();
  double h = shape.hidden, L = shape.layers, s = shape.sequence, v = shape.vocabulary;
  EXPECT_NEAR(shape.modelFlops(4) / (72 * 4 * L * s * h * h * (1 + s / (6 * h) + v / (12 * h * L))), 1, 1e-12);
}

TEST(StepTimeTest, productsAreThreeTimesForward) {
  Machine machine = roundMachine();
  machine.device.memoryBytesPerSecond = 1e18; // products alone
  ModelShape shape = llama7b();
  Execution run;
  LayerParts parts = layerParts(machine, shape, run);
  double weights = 4 * 4096. * 4096 + 3 * 4096. * 11008;
  EXPECT_NEAR(parts.forwardProducts, 2 * 4096 * weights / 1e14, 1e-9);
  EXPECT_NEAR(parts.inputProducts, parts.forwardProducts, 1e-9);
  EXPECT_NEAR(parts.weightProducts, parts.forwardProducts, 1e-9);
  // The causal half of 4 s^2 d a, and five products for two in backward.
  EXPECT_NEAR(parts.forwardAttention, 2 * 4096. * 4096 * 4096 / 1e14, 1e-12);
  EXPECT_NEAR(parts.backwardAttention, 2.5 * parts.forwardAttention, 1e-12);
}

TEST(StepTimeTest, aRingMergesBlocksAndCarriesHeads) {
  Machine machine = roundMachine();
  ModelShape shape = llama7b();
  shape.kvHeads = 8;
  Execution run;
  run.cp = 4;
  LayerParts plain = layerParts(machine, shape, run);
  machine.software.ringForwardTraffic = 10;
  machine.software.ringBackwardTraffic = 20;
  LayerParts merging = layerParts(machine, shape, run);
  double merged = 3 * 1024. * 4096; // three further blocks, a quarter of 4096 tokens, all heads
  EXPECT_NEAR(merging.forwardElementwise - plain.forwardElementwise, 10 * merged / 1e12, 1e-12);
  EXPECT_NEAR(merging.backwardElementwise - plain.backwardElementwise, 20 * merged / 1e12, 1e-12);
  // Attention hides a ring of 8 heads, and not one of 32 on links a thousandth as fast.
  EXPECT_EQ(plain.forwardCommunication, 0);
  machine.topology = Topology::ofNodes(8, {.bytesPerSecond = 1e8}, {.bytesPerSecond = 1e8});
  double few = layerParts(machine, shape, run).forwardCommunication + plain.forwardAttention;
  machine.software.ringHasAllHeads = true;
  double all = layerParts(machine, shape, run).forwardCommunication + plain.forwardAttention;
  EXPECT_NEAR(all / few, 4, 1e-9);
}

TEST(StepTimeTest, recomputationAddsWhatItRepeats) {
  Machine machine = roundMachine();
  ModelShape shape = llama7b();
  Execution run;
  LayerParts parts = layerParts(machine, shape, run);
  PassSeconds none = layerSeconds(parts, run, machine.software);
  run.recompute = Recompute::Full;
  PassSeconds full = layerSeconds(parts, run, machine.software);
  EXPECT_DOUBLE_EQ(full.total(), none.total() + none.forward);
  machine.software.recomputeStopsEarly = true;
  EXPECT_DOUBLE_EQ(layerSeconds(parts, run, machine.software).total(), full.total() - parts.lastProduct);
  run.recompute = Recompute::Attention;
  EXPECT_DOUBLE_EQ(layerSeconds(parts, run, machine.software).total(), none.total() + parts.forwardAttention);
}

TEST(StepTimeTest, tensorParallelismReducesTwiceEachWay) {
  Machine machine = roundMachine();
  ModelShape shape = llama7b();
  Execution run;
  run.tp = 8;
  double reduce = allReduceSeconds(machine.topology, {8, 1}, 2 * 4096. * 4096);
  LayerParts parts = layerParts(machine, shape, run);
  EXPECT_DOUBLE_EQ(parts.forwardCommunication, 2 * reduce);
  EXPECT_DOUBLE_EQ(parts.backwardCommunication, 2 * reduce);
  // Sequence parallelism moves the same bytes in twice as many collectives, and shards the elementwise kernels.
  run.sequenceParallel = true;
  LayerParts sharded = layerParts(machine, shape, run);
  EXPECT_NEAR(sharded.forwardCommunication, parts.forwardCommunication, 1e-12);
  EXPECT_LT(sharded.forwardElementwise, parts.forwardElementwise);
}

// A share is hidden, beside the gradients of weights: no more than these take.
TEST(StepTimeTest, tensorCommunicationHidesBesideWeightGradients) {
  Machine machine = roundMachine();
  ModelShape shape = llama7b();
  Execution run;
  run.tp = 8;
  double all = 2 * layerParts(machine, shape, run).forwardCommunication;
  machine.software.tensorOverlap = 0.25;
  LayerParts inNode = layerParts(machine, shape, run);
  ASSERT_LT(0.25 * all, inNode.weightProducts);
  EXPECT_DOUBLE_EQ(inNode.forwardCommunication + inNode.backwardCommunication, 0.75 * all);
  run.tp = 32;
  machine.software.tensorOverlap = 0;
  double across = 2 * layerParts(machine, shape, run).forwardCommunication;
  machine.software.tensorOverlap = 0.25;
  LayerParts exposed = layerParts(machine, shape, run);
  ASSERT_GT(0.25 * across, exposed.weightProducts);
  EXPECT_DOUBLE_EQ(exposed.forwardCommunication + exposed.backwardCommunication, across - exposed.weightProducts);
}

TEST(StepTimeTest, gradientsAreReducedOverTheLinksOfTheirGroup) {
  Machine machine = roundMachine();
  ModelShape shape = llama7b();
  Execution run;
  run.dp = 64;
  StepSeconds step = stepSeconds(machine, shape, run);
  double parameters = shape.parameters() - shape.finalNormParameters();
  EXPECT_NEAR(step.exposedData, allReduceSeconds(machine.topology, {64, 1}, 2 * parameters), 1e-9);
  run.zero = 1;
  StepSeconds sharded = stepSeconds(machine, shape, run);
  // A reduce_scatter and an all_gather of as many bytes; the optimizer on 1/64 of the states.
  EXPECT_NEAR(sharded.exposedData, step.exposedData, 1e-9);
  EXPECT_NEAR(sharded.optimizer, step.optimizer / 64, 1e-12);
  // All of it behind the last backward and the first forward, which is longer.
  machine.software.reduceOverlap = machine.software.gatherOverlap = 1;
  machine.software.overlapSlowdown = 0.1;
  StepSeconds hidden = stepSeconds(machine, shape, run);
  EXPECT_NEAR(hidden.exposedData, 0.1 * sharded.exposedData, 1e-9);
}

TEST(StepTimeTest, shardedParametersHideBehindTheirLayer) {
  Machine machine = roundMachine();
  machine.software.overlapSlowdown = 0.25;
  ModelShape shape = llama7b();
  Execution run;
  run.dp = 8;
  run.zero = 3;
  run.microBatch = 2;
  PassSeconds alone = layerSeconds(layerParts(machine, shape, run), run, machine.software);
  double gather = allGatherSeconds(machine.topology, {8, 1}, 2 * shape.layerParameters());
  PassSeconds layer = stepSeconds(machine, shape, run).layer;
  ASSERT_LT(gather, alone.forward);
  EXPECT_NEAR(layer.forward, alone.forward + 0.25 * gather, 1e-12);
  EXPECT_NEAR(layer.backward(), alone.backward() + 0.25 * 2 * gather, 1e-12);
  // A gather that does not begin ahead of its use is waited for; scatters still hide.
  run.gathersAhead = 0;
  layer = stepSeconds(machine, shape, run).layer;
  EXPECT_NEAR(layer.forward, alone.forward + gather, 1e-12);
  EXPECT_NEAR(layer.backward(), alone.backward() + 1.25 * gather, 1e-12);
  run.gathersAhead = 1;
  // Between nodes the gathers are longer than the layer: they show.
  run.dp = 1024;
  machine.topology.levels[1].bytesPerSecond = 1e8;
  gather = allGatherSeconds(machine.topology, {1024, 1}, 2 * shape.layerParameters());
  layer = stepSeconds(machine, shape, run).layer;
  EXPECT_NEAR(layer.forward, gather + 0.25 * alone.forward, 1e-9);
}

TEST(StepTimeTest, unequalStagesHoldTheModelOnce) {
  // With one micro-batch a pipeline is all of its layers, one after another, however they are cut.
  Machine machine = roundMachine();
  ModelShape shape = llama7b();
  Execution run;
  double whole = stepSeconds(machine, shape, run).pipeline;
  for (double pp : {2., 3., 5., 31., 32.}) {
    run.pp = pp;
    machine.topology.levels[0].bytesPerSecond = machine.topology.levels[1].bytesPerSecond = 1e30; // no time for sends
    EXPECT_NEAR(stepSeconds(machine, shape, run).pipeline, whole, 1e-9) << pp;
  }
  // The longest of 5 stages has 7 of the 32 layers, and the head or the embedding.
  run.pp = 5;
  StepSeconds one = stepSeconds(machine, shape, run);
  run.microBatches = 2;
  double longest = stepSeconds(machine, shape, run).pipeline - one.pipeline;
  EXPECT_GE(longest, 7 * one.layer.total());
  EXPECT_LE(longest, 7 * one.layer.total() + headSeconds(machine, shape, run).total());
}

TEST(StepTimeTest, tensorParallelismAcrossNodesIsDearer) {
  // 64 ranks as eight nodes of eight, a 70B-class model: tp in the node against tp over two nodes.
  Machine machine = roundMachine();
  ModelShape shape = llama70b();
  Execution inNode, across;
  inNode.tp = 8;
  inNode.pp = across.pp = 4;
  inNode.dp = 2;
  across.tp = 16;
  inNode.sequenceParallel = across.sequenceParallel = true;
  inNode.microBatches = 32;
  across.microBatches = 64;
  EXPECT_LT(stepSeconds(machine, shape, inNode).total, stepSeconds(machine, shape, across).total);
}

TEST(StepTimeTest, utilizationOfAPerfectMachineIsWhole) {
  Machine machine = roundMachine();
  machine.device.memoryBytesPerSecond = 1e20;
  machine.topology.levels[0].bytesPerSecond = machine.topology.levels[1].bytesPerSecond = 1e20;
  machine.device.attentionForwardFlopsPerSecond = 0.5e14; // the causal half, at half the rate: as counted in full
  machine.device.attentionBackwardFlopsPerSecond = 0.625e14;
  ModelShape shape = llama7b();
  Execution run;
  run.tp = 4;
  run.dp = 2;
  run.microBatches = 4;
  double seconds = stepSeconds(machine, shape, run).total;
  EXPECT_NEAR(modelFlopsUtilization(machine, shape, run, seconds), 1, 1e-6);
}

TEST(StepTimeTest, anAxisNextToItselfIsAtDistanceOne) {
  Execution run;
  run.tp = 4;
  run.dp = 6;
  run.pp = 5;
  EXPECT_EQ(run.strideOf(RankAxis::Tensor), 1);
  EXPECT_EQ(run.strideOf(RankAxis::Data), 4);
  EXPECT_EQ(run.stageDistance(), 24);
  run.rankOrder = {RankAxis::Tensor, RankAxis::Pipeline, RankAxis::Data}; // as tgpt-opt numbers them
  EXPECT_EQ(run.strideOf(RankAxis::Data), 20);
  EXPECT_EQ(run.stageDistance(), 4);
  run.rankOrder = {RankAxis::Data, RankAxis::Pipeline, RankAxis::Tensor};
  EXPECT_EQ(run.strideOf(RankAxis::Tensor), 30);
  EXPECT_EQ(run.strideOf(RankAxis::Data), 1);
  EXPECT_EQ(run.stageDistance(), 6);
}

TEST(StepTimeTest, theBreakdownAddsUp) {
  Machine machine = roundMachine();
  machine.software.stepSeconds = 0.01;
  ModelShape shape = llama7b();
  for (int zero : {0, 1, 3})
    for (double pp : {1., 4.}) {
      Execution run;
      run.tp = 2;
      run.dp = 8;
      run.pp = pp;
      run.zero = zero;
      run.recompute = Recompute::Full;
      run.microBatches = 16;
      StepBreakdown split = breakdownOf(machine, shape, run);
      EXPECT_NEAR(split.total(), stepSeconds(machine, shape, run).total, 1e-9);
      EXPECT_EQ(split.bubble > 1e-9, pp > 1);
      EXPECT_EQ(split.shardCommunication > 0, zero == 3);
      EXPECT_EQ(split.stageCommunication > 0, pp > 1);
    }
}

TEST(StepTimeTest, partsOfOneRunServeAllThatShareThem) {
  Machine machine = roundMachine();
  ModelShape shape = llama7b();
  Execution run;
  run.tp = 2;
  PartSeconds parts = partSeconds(machine, shape, run);
  run.dp = 4;
  run.pp = 2;
  run.zero = 3;
  run.recompute = Recompute::Selective;
  run.microBatches = 8;
  EXPECT_EQ(stepSeconds(machine, shape, run, parts).total, stepSeconds(machine, shape, run).total);
}

TEST(StepTimeTest, gradientsScatteredEachMicroBatchCostEachTime) {
  Machine machine = roundMachine();
  ModelShape shape = llama7b();
  Execution run;
  run.dp = 4;
  run.zero = 2;
  run.microBatches = 5;
  machine.software.shardOverlap = 0;
  double once = breakdownOf(machine, shape, run).dataCommunication;
  run.zero = 1;
  EXPECT_DOUBLE_EQ(breakdownOf(machine, shape, run).dataCommunication, once);
  machine.software.reducesEachMicroBatch = true;
  EXPECT_DOUBLE_EQ(breakdownOf(machine, shape, run).dataCommunication, once);
  run.zero = 2;
  // The gradients' scatter, half of the bytes, five times; the parameters' gather once.
  EXPECT_NEAR(breakdownOf(machine, shape, run).dataCommunication, 3 * once, 1e-12 * once);
}

} // namespace
