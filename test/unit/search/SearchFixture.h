//===- SearchFixture.h - problems for the search ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_SEARCH_SEARCHFIXTURE_H
#define TGPT_TEST_UNIT_SEARCH_SEARCHFIXTURE_H

#include "compiler/search/Search.h"
#include "cost/cluster/Cluster.h"
#include "test/unit/cost/StepFixture.h"

namespace tgpt::search {

/// The same machine, on which nothing is hidden behind computation.
inline void setBlocking(Problem &problem) {
  problem.blocking = problem.machine;
  problem.blocking.software = cost::withoutOverlap(problem.machine.software);
}

/// Nodes of so many ranks.
inline cost::Topology nodesOf(double ranks, double networkBytesPerSecond = 1e10) {
  cost::Level node, network;
  node.bytesPerSecond = 1e11;
  node.latencySeconds = 5e-6;
  node.fillSeconds = node.sendFillSeconds = 1e-7;
  network.bytesPerSecond = networkBytesPerSecond;
  network.hopSeconds = 1e-5;
  network.fillSeconds = network.sendFillSeconds = 1e-6;
  return cost::Topology::ofNodes(ranks, node, network);
}

/// A small LLaMA on nodes of four, some communication hidden.
inline Problem smallProblem(int64_t gpus, int64_t globalBatch) {
  Problem problem;
  cost::ModelShape &shape = problem.shape;
  shape.layers = 6;
  shape.hidden = 1024;
  shape.heads = 12;
  shape.kvHeads = 4;
  shape.headDim = 64;
  shape.ffnHidden = 3072;
  shape.gatedMlp = true;
  shape.biases = shape.layerNorm = shape.tiedEmbedding = false;
  shape.vocabulary = 8192;
  shape.sequence = 512;
  problem.machine = cost::roundMachine();
  problem.machine.topology = nodesOf(4);
  cost::Software &software = problem.machine.software;
  software.tensorOverlap = 0.5;
  software.reduceOverlap = software.gatherOverlap = 0.7;
  software.gradientBytes = 4;
  software.reducesEachMicroBatch = true;
  setBlocking(problem);
  problem.states = {2, 4, 4, 8, 0, 4};
  problem.memoryBytes = 1e9;
  problem.gpus = gpus;
  problem.globalBatch = globalBatch;
  return problem;
}

/// LLaMA 3 405B, in 16 bits.
inline cost::ModelShape llama405b() {
  cost::ModelShape shape;
  shape.layers = 126;
  shape.hidden = 16384;
  shape.heads = 128;
  shape.kvHeads = 8;
  shape.headDim = 128;
  shape.ffnHidden = 53248;
  shape.gatedMlp = true;
  shape.biases = shape.layerNorm = shape.tiedEmbedding = false;
  shape.vocabulary = 128256;
  shape.sequence = 8192;
  return shape;
}

} // namespace tgpt::search

#endif // TGPT_TEST_UNIT_SEARCH_SEARCHFIXTURE_H
