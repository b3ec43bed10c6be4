//===- test/mutation/Programs.h - the programs that are mutated -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_MUTATION_PROGRAMS_H
#define TGPT_TEST_MUTATION_PROGRAMS_H

#include "test/e2e/Configuration.h"

#include <vector>

namespace tgpt {

/// Twice the ranks: two share a KV head.
inline Configuration withSharedKvHeads(Configuration program) {
  program.options.tp *= 2;
  return program;
}

/// Tiny models of both families on tp = 2, dp = 2, with and without sequence
/// parallelism; in f64, so that an equivalent mutant is told from a wrong one. Sizes
/// are even numbers that differ, so that no shape fits by chance. Those with
/// sequence parallelism scale their loss. The last program has fewer KV heads than tp.
inline std::vector<Configuration> mutatedPrograms(int64_t pp, int64_t dp = 2) {
  std::vector<Configuration> programs;
  for (ModelFamily family : {ModelFamily::Llama, ModelFamily::Gpt2})
    for (bool sp : {false, true}) {
      Configuration program;
      program.model = {"tiny", family, 20,   16,  pp,   4,  family == ModelFamily::Llama ? 2 : 4,
                       24,     6,      1e-5, 100, true, 0.2};
      program.options.tp = 2;
      program.options.dp = dp;
      program.options.pp = pp;
      program.options.sequenceParallel = sp;
      program.options.microBatches = 2;
      program.options.microBatchSamples = 2;
      program.options.dtype = "f64";
      program.options.maxGradNorm = 0.1; // always in effect: a wrong norm is a wrong weight
      program.options.epsilon = 1e-4;
      program.options.lossScaling.mode = sp ? LossScaling::Mode::Dynamic : LossScaling::Mode::None;
      program.options.lossScaling.initial = 8;
      programs.push_back(program);
    }
  programs.push_back(withSharedKvHeads(programs.front()));
  return programs;
}

/// The same models with canonical reduction, and as many micro-batches as make sums of them wait.
inline std::vector<Configuration> mutatedCanonicalPrograms(int64_t pp) {
  std::vector<Configuration> programs;
  for (Configuration program : mutatedPrograms(pp)) {
    program.options.reduction = "canonical";
    program.options.microBatches = 4;
    programs.push_back(program);
  }
  return programs;
}

/// The same models in three chunks a stage, with every kind of segment: the embedding and the head in virtual stages of
/// their own, a layer in each of those behind the embedding, the rest empty.
inline std::vector<Configuration> mutatedChunkedPrograms(int64_t pp) {
  std::vector<Configuration> programs;
  for (Configuration program : mutatedPrograms(pp, /*dp=*/1)) {
    program.options.vpp = 3;
    program.options.stages.assign(3 * pp, 0);
    for (int64_t layer = 0; layer < program.model.layers; ++layer)
      program.options.stages[1 + layer] = 1;
    program.options.schedule = "zero-bubble";
    programs.push_back(program);
  }
  return programs;
}

/// The same models, two layers a stage, with what dp ranks hold shared out; a bucket a
/// layer, so that there are several of a size.
inline std::vector<Configuration> mutatedZeroPrograms(int64_t pp, int64_t zero) {
  std::vector<Configuration> programs;
  for (Configuration program : mutatedPrograms(pp)) {
    // One with norms that are partial over tp, and one with biases.
    if (program.options.sequenceParallel != (program.model.family == ModelFamily::Llama))
      continue;
    program.model.layers = 2 * pp;
    program.options.zero = zero;
    program.options.bucketMib = 0;
    programs.push_back(program);
  }
  return programs;
}

/// What no other program has: windows on logical tensors (fused weights, a padded vocabulary) with masks in the
/// attention, and master copies in pieces that groups of ranks share out.
inline std::vector<Configuration> mutatedFeaturePrograms(int64_t pp) {
  Configuration windows = mutatedPrograms(pp)[1], masters = mutatedPrograms(pp)[2];
  windows.model.vocabulary = 21;
  windows.model.fusedQkv = windows.model.fusedGateUp = true;
  windows.model.attentionDropout = 0.3;
  masters.options.dtype = "bf16";
  masters.options.dp = 4 / pp;
  masters.options.zero = 2;
  masters.options.zeroGroup = pp == 1 ? 2 : 0;
  masters.model.attentionDropout = 0.3;
  return {windows, masters};
}

} // namespace tgpt

#endif // TGPT_TEST_MUTATION_PROGRAMS_H
