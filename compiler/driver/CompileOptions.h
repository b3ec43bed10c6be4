//===- CompileOptions.h - what a user asks of the compiler ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_DRIVER_COMPILEOPTIONS_H
#define TGPT_COMPILER_DRIVER_COMPILEOPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace tgpt {

/// What the loss is multiplied by before the backward.
struct LossScaling {
  enum class Mode { ByDtype, None, Fixed, Dynamic }; ///< ByDtype: dynamic for f16, else none
  Mode mode = Mode::ByDtype;
  double initial = 65536; ///< of the first step; of all steps where it is fixed
  double growth = 2, backoff = 0.5;
  int64_t growthInterval = 2000; ///< good steps in a row before it grows

  Mode modeFor(const std::string &dtype) const {
    return mode != Mode::ByDtype ? mode : dtype == "f16" ? Mode::Dynamic : Mode::None;
  }
};

/// One configuration of a training run.
struct CompileOptions {
  int64_t dp = 1;  ///< data-parallel ranks
  int64_t pp = 1;  ///< pipeline stages
  int64_t vpp = 1; ///< model chunks of each stage
  int64_t tp = 1;  ///< tensor-parallel ranks
  bool sequenceParallel = false;
  int64_t zero = 0;       ///< what dp ranks share out: 1 optimizer states, 2 gradients too, 3 parameters too
  int64_t bucketMib = 25; ///< MiB of gradients up to which layers share a bucket; stage 3 has a bucket a layer
  int64_t zeroGroup = 0;  ///< dp ranks that share out; the groups of so many hold the same. 0: all
  std::string rankOrder = "dp,pp,tp"; ///< how ranks are numbered, from the outside in
  int64_t vocabularyMultiple = 1;     ///< the vocabulary is padded until this and tp divide it
  int64_t microBatchSamples = 1;      ///< samples of one micro-batch of one dp rank
  int64_t microBatches = 1;           ///< micro-batches of a step and dp rank
  int64_t globalBatch = 0;        ///< samples of a step where the micro-batches are not full; 0: as many as they hold
  std::string dtype = "f32";      ///< compute dtype: f64, f32, bf16 or f16
  std::string recompute = "none"; ///< none, selective or full
  bool overlap = false;           ///< start collectives early, so that computation hides them
  int64_t prefetch = 1;           ///< with overlap: layers ahead of use whose collectives may be under way
  std::vector<int64_t> stages;    ///< layers a virtual stage; empty: chosen by time and memory
  std::string schedule = "1f1b";  ///< gpipe, 1f1b or zero-bubble
  std::string device;             ///< a device in one line (cost/DeviceText.h); empty: the built-in one
  std::string links;              ///< between ranks, in one line (cost/cluster/TopologyText.h); empty: not known
  int64_t memoryLimitBytes = 0;   ///< that a rank may need; 0: no limit
  /// Beside its operands, of a product that may be a library's; 0: such that need none.
  int64_t productWorkspaceBytes = 0;
  bool stageReport = false;       ///< keep the costs of the cut in the IR
  std::string reduction = "fast"; ///< canonical: every grid gives the bits of one rank
  int64_t reductionChunks = 8;    ///< chunks of a canonically reduced dim: a multiple of tp
  double maxGradNorm = 1.0;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weightDecay = 0.1;
  LossScaling lossScaling;
  double labelSmoothing = 0, zLoss = 0; ///< terms of the loss
  uint64_t seed = 0;                    ///< of the initial weights and the dropout masks

  /// Layers ahead of use that stage 3 gathers parameters.
  int64_t gathersAhead() const { return zero == 3 && overlap ? prefetch : 0; }
  /// What may be under way ahead of its use; a layer's parameters are two buckets or more, the norms and the rest.
  int64_t collectivesAhead() const { return prefetch > 0 ? 2 * prefetch : 1; }
};

} // namespace tgpt

#endif // TGPT_COMPILER_DRIVER_COMPILEOPTIONS_H
