//===- SearchFixture.h - problems for the search ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_SEARCH_SEARCHFIXTURE_H
#define TGPT_TEST_UNIT_SEARCH_SEARCHFIXTURE_H

#include "compiler/search/Search.h"
#include "test/unit/cost/StepFixture.h"

namespace tgpt::search {

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
  problem.machine.topology.ranksPerNode = 4;
  problem.machine.topology.node = {1e11, 0, 5e-6, 1e-7, 1e-7};
  problem.machine.topology.network = {1e10, 0, 1e-5, 1e-6, 1e-6};
  cost::Software &software = problem.machine.software;
  software.tensorOverlap = 0.5;
  software.reduceOverlap = software.gatherOverlap = 0.7;
  software.gradientBytes = 4;
  software.reducesEachMicroBatch = true;
  problem.blocking = withoutOverlap(problem.machine);
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
