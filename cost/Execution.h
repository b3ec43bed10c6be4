//===- Execution.h - how a model is trained: degrees, schedule, recomputation, software ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One candidate of a search, and what the software that runs it makes of the hardware.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_EXECUTION_H
#define TGPT_COST_EXECUTION_H

#include "cost/DeviceRates.h"
#include "cost/Topology.h"

namespace tgpt::cost {

enum class Schedule { GPipe, OneF1B, Interleaved, ZeroBubbleH1, ZeroBubbleH2 };

/// What is dropped after forward and computed again in backward.
enum class Recompute {
  None,
  Attention, ///< the core of attention: scores, softmax, weighted sum (arXiv 2205.05198 "selective")
  Selective, ///< norms, activations and the core of attention (tgpt-opt --recompute=selective)
  Cheap,     ///< everything but attention and half of the matrix products (torchtitan "selective op")
  Full       ///< whole layers, all but their inputs
};

/// Axes of ranks: tp; cp and, outside of it, dp; pp.
enum class RankAxis { Tensor, Data, Pipeline };

/// Micro-batches that a stage holds at once.
struct HeldMicroBatches {
  struct OfStage {
    double kept = 0;    ///< with what their backward needs, in the mean over the layers
    double waiting = 0; ///< from their backward on with what their weight gradients need
  };
  OfStage first, second, last;

  const OfStage &of(double stage, double stages) const {
    return stage == 0 ? first : stage == stages - 1 ? last : second;
  }
};

/// Degrees and options of a run.
struct Execution {
  double tp = 1, cp = 1, dp = 1, pp = 1;
  double chunks = 1; ///< model chunks of one pipeline rank (interleaved schedule)
  bool sequenceParallel = false;
  int zero = 0;         ///< stage; 3 also shards parameters
  double zeroRanks = 0; ///< that share one copy of sharded states; 0: all of dp
  Schedule schedule = Schedule::OneF1B;
  Recompute recompute = Recompute::None;
  double recomputedLayers = 1; ///< share of the layers that Recompute::Full applies to
  double microBatch = 1;       ///< sequences
  double microBatches = 1;     ///< per step and pipeline
  OperandType operands = OperandType::Bits16;
  double elementBytes = 2; ///< of activations and of parameters that are computed with
  double gathersAhead = 1; ///< layers whose parameters ZeRO-3 gathers before their use
  bool fusedAttention = true;
  bool edgeStagesShorter = false;       ///< the first and the last stage (chunk) hold one layer less
  bool evenStages = false;              ///< stages differ by a layer at most, however many chunks they have
  double lastChunkLayers = -1;          ///< memory: of the model's last chunk, which has the head too; -1: as many
  HeldMicroBatches held;                ///< where the very schedule is known; all 0: by its closed form
  bool keepsForWeightGradients = false; ///< zero bubble: what weight gradients read waits for them
  bool countsPassing = false;           ///< memory: with messages, gradients on their way, workspace, what ends keep
  double productWorkspaceBytes = 0;     ///< memory: that products are given of the workspace
  bool flatTensorInPipeline = true;     ///< a stage's output is sent in tp pieces, one a rank
  /// How ranks are numbered: neighbours along the first axis are consecutive. All three axes, each once.
  std::array<RankAxis, 3> rankOrder = {RankAxis::Tensor, RankAxis::Data, RankAxis::Pipeline};

  double shardRanks() const { return zeroRanks > 0 ? zeroRanks : dp * cp; }
  double ranksOf(RankAxis axis) const { return axis == RankAxis::Tensor ? tp : axis == RankAxis::Data ? dp * cp : pp; }
  /// Distance of neighbours along the axis.
  double strideOf(RankAxis axis) const {
    double stride = 1;
    for (std::size_t i = 0; i < rankOrder.size() && rankOrder[i] != axis; ++i)
      stride *= ranksOf(rankOrder[i]);
    return stride;
  }
  double ranks() const { return tp * cp * dp * pp; }
  Group tensorGroup() const { return {tp, strideOf(RankAxis::Tensor), ranks()}; }
  Group contextGroup() const { return {cp, strideOf(RankAxis::Data), ranks()}; }
  Group dataGroup() const { return {dp * cp, strideOf(RankAxis::Data), ranks()}; }
  /// The ranks that share one copy of the sharded states, and those that hold the same piece of it.
  Group shardGroup() const { return {shardRanks(), strideOf(RankAxis::Data), ranks()}; }
  Group replicaGroup() const { return {dp * cp / shardRanks(), strideOf(RankAxis::Data) * shardRanks(), ranks()}; }
  double stageDistance() const { return strideOf(RankAxis::Pipeline); }
};

/// Bytes of one parameter's states (mixed-precision AdamW as in arXiv 1910.02054: 2 + 2 + 12).
struct StateBytes {
  double parameter = 2, gradient = 2, master = 4, moments = 8;
  double masterGradient = 0; ///< a second, 32-bit copy of the gradient
  double logit = 2 + 4 + 4;  ///< of a logit where the loss has most of them: in 16 and in 32 bits, and its gradient

  double optimizer() const { return master + moments + masterGradient; }
};

/// What a training program makes of its hardware: few figures, each with a meaning of its own.
struct Software {
  double elementwiseTraffic = 1;            ///< bytes moved by elementwise kernels, over those of fused ones
  double lossForwardBytes = 2 + 4 + 4 + 4;  ///< of a logit in 16 bits: widened, and its logarithmic softmax taken
  double lossBackwardBytes = 4 + 4 + 4 + 2; ///< that read, the gradient written, and narrowed again
  double attentionRate = 1;                 ///< of the device's fused attention
  double tensorOverlap = 0;                 ///< share of tp communication hidden behind computation
  double reduceOverlap = 0;     ///< share of the last micro-batch's backward that hides gradients' reduction
  double gatherOverlap = 0;     ///< share of the first micro-batch's forward that hides updated parameters' gather
  double shardOverlap = 1;      ///< share of a layer's computation that hides ZeRO-3's communication
  double pipelineOverlap = 0;   ///< share of sends hidden behind computation
  double sendStartSeconds = 0;  ///< host synchronisation around a send
  double dataBandwidth = 1;     ///< of the links' rate that dp collectives reach
  double overlapSlowdown = 0.1; ///< of computation, per second of communication beside it
  double gradientBytes = 2;     ///< of a gradient element on the wire
  bool reducesEachMicroBatch = false; ///< ZeRO-2 scatters the gradients of each micro-batch, not those of the step
  double kernelsPerLayer = 30;        ///< launched in one forward
  double stepSeconds = 0;             ///< data, logging, host work of a step
  bool recomputeStopsEarly = false; ///< recomputation of a layer ends where backward has all it needs: no last product
  double castTraffic = 0;           ///< bytes moved per element to make 8- or 4-bit operands
  bool ringHasAllHeads = false;     ///< keys and values go round the ring of cp ranks once a query head
  double ringForwardTraffic = 0;    ///< bytes moved per element of queries to merge each further block of a ring
  double ringBackwardTraffic = 0;   ///< the same backward
};

/// Everything that a time is made of.
struct Machine {
  DeviceRates device;
  Topology topology;
  Software software;
};

} // namespace tgpt::cost

#endif // TGPT_COST_EXECUTION_H
