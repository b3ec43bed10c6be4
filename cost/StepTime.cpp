//===- StepTime.cpp - seconds of one training step ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/StepTime.h"
#include "cost/CollectiveTime.h"
#include <algorithm>
#include <cmath>

namespace tgpt::cost {
namespace {

/// What so many parameters of a rank cost over dp: their gradients summed to where the states are, and the values
/// brought back from there.
struct DataSeconds {
  double reduce = 0, gather = 0;
};

DataSeconds dataSeconds(const Machine &machine, const Execution &run, double parameters) {
  const Topology &topology = machine.topology;
  double gradient = machine.software.gradientBytes * parameters;
  DataSeconds seconds;
  if (run.zero == 0) {
    seconds.reduce = allReduceSeconds(topology, run.dataGroup(), gradient);
  } else {
    seconds.reduce = reduceScatterSeconds(topology, run.shardGroup(), gradient) +
                     allReduceSeconds(topology, run.replicaGroup(), gradient / run.shardRanks());
    seconds.gather = allGatherSeconds(topology, run.shardGroup(), run.elementBytes * parameters);
  }
  seconds.reduce /= machine.software.dataBandwidth;
  seconds.gather /= machine.software.dataBandwidth;
  return seconds;
}

/// Communication beside computation: what is hidden still slows the computation down.
double overlapped(double compute, double communication, const Software &software) {
  double hidden = std::min(communication, software.shardOverlap * compute);
  return compute + communication - hidden * (1 - software.overlapSlowdown);
}

/// Adds to a layer's passes the gathers of its sharded parameters and the scatter of its gradients (ZeRO-3), each
/// behind the layer before; a gather that does not begin ahead of its use is waited for.
PassSeconds shardedLayer(const Machine &machine, PassSeconds layer, double parameters, const Execution &run) {
  DataSeconds data = dataSeconds(machine, run, parameters);
  double hidden = run.gathersAhead > 0 ? data.gather : 0, waited = data.gather - hidden;
  double forward = waited + overlapped(layer.forward, hidden, machine.software);
  double backward = waited + overlapped(layer.backward(), hidden + data.reduce, machine.software);
  double grown = backward / layer.backward();
  return {forward, layer.backwardInput * grown, layer.backwardWeight * grown};
}

/// Layers of the first stage, of one between, and of the last. They add up to the model's.
struct StageLayers {
  double first, middle, last;

  StageLayers(const ModelShape &shape, const Execution &run) {
    double pp = run.pp;
    if (pp <= 1) {
      first = middle = last = shape.layers;
    } else if (run.edgeStagesShorter) {
      middle = (shape.layers + 2) / pp; // one layer less in the first and in the last chunk
      first = last = middle - 1;
    } else if (run.evenStages) {
      first = std::ceil(shape.layers / pp);
      last = std::floor(shape.layers / pp);
      middle = pp > 2 ? (shape.layers - first - last) / (pp - 2) : last;
    } else {
      // Where stages can't be equal, the first ones hold a layer more; those between are costed as their mean.
      first = std::ceil(shape.layers / (pp * run.chunks)) * run.chunks;
      last = std::min(std::floor(shape.layers / (pp * run.chunks)) * run.chunks, shape.layers - first);
      middle = pp > 2 ? (shape.layers - first - last) / (pp - 2) : last;
      if (pp == 2)
        last = shape.layers - first;
    }
  }
};

PassSeconds scaled(const PassSeconds &pass, double factor) {
  return {pass.forward * factor, pass.backwardInput * factor, pass.backwardWeight * factor};
}

PassSeconds operator+(const PassSeconds &a, const PassSeconds &b) {
  return {a.forward + b.forward, a.backwardInput + b.backwardInput, a.backwardWeight + b.backwardWeight};
}

/// A boundary's activations on the way to the next stage and their gradients on the way back, for each chunk.
PassSeconds sends(const Machine &machine, const ModelShape &shape, const Execution &run) {
  if (run.pp <= 1)
    return {};
  double bytes = run.elementBytes * run.microBatch * shape.sequence / run.cp * shape.hidden /
                 (run.flatTensorInPipeline ? run.tp : 1);
  double seconds = run.chunks * (1 - machine.software.pipelineOverlap) *
                   (sendSeconds(machine.topology, run.stageDistance(), bytes) + machine.software.sendStartSeconds);
  return {seconds, seconds, 0};
}

StageSeconds stages(const Machine &machine, const ModelShape &shape, const Execution &run, const PassSeconds &layer,
                    const PassSeconds &embedding, const PassSeconds &head) {
  PassSeconds hop = sends(machine, shape, run);
  StageLayers layers(shape, run);
  if (run.pp <= 1) {
    PassSeconds all = scaled(layer, layers.first) + embedding + head;
    return {all, all, all};
  }
  return {scaled(layer, layers.first) + embedding + hop, scaled(layer, layers.middle) + hop,
          scaled(layer, layers.last) + head + hop};
}

/// Parameters of the fullest rank: its layers, and an embedding or a head.
double rankParameters(const ModelShape &shape, const Execution &run) {
  double ends = run.pp > 1 ? std::max(shape.embeddingParameters(), shape.vocabulary * shape.hidden)
                           : shape.embeddingParameters() + shape.headParameters();
  return (StageLayers(shape, run).first * shape.layerParameters() + ends) / run.tp;
}

/// Gradients over dp and, with sharded states, the updated parameters back. ZeRO-3 has paid in its layers.
double exposedData(const Machine &machine, const ModelShape &shape, const Execution &run, const PassSeconds &stage) {
  if (run.dp * run.cp <= 1)
    return 0;
  const Software &software = machine.software;
  if (run.zero >= 3) {
    // The first layer's gather and the last one's scatter have nothing beside them; the ends of the model neither.
    DataSeconds alone = dataSeconds(machine, run, (shape.layerParameters() + shape.vocabulary * shape.hidden) / run.tp);
    return alone.gather + alone.reduce;
  }
  DataSeconds data = dataSeconds(machine, run, rankParameters(shape, run));
  bool isEach = run.zero == 2 && software.reducesEachMicroBatch; // beside the layers, as ZeRO-3's
  double reductions = isEach ? run.microBatches : 1;
  data.reduce *= reductions;
  double overlap = isEach ? software.shardOverlap : software.reduceOverlap;
  double hidden = std::min(data.reduce, overlap * reductions * stage.backward()) +
                  std::min(data.gather, software.gatherOverlap * stage.forward);
  return data.reduce + data.gather - hidden * (1 - software.overlapSlowdown);
}

/// Reads and writes master weight and both moments, reads the gradient (twice: its norm comes first), writes the
/// parameter: 4 * 7 + 2 * 4 + 2 bytes.
double optimizerSeconds(const Machine &machine, const ModelShape &shape, const Execution &run) {
  double parameters = rankParameters(shape, run) / (run.zero >= 1 ? run.shardRanks() : 1);
  return machine.device.memorySeconds(38 * parameters * machine.software.elementwiseTraffic);
}

} // namespace

PartSeconds partSeconds(const Machine &machine, const ModelShape &shape, const Execution &run) {
  return {layerParts(machine, shape, run), embeddingSeconds(machine, shape, run), headSeconds(machine, shape, run)};
}

StepSeconds stepSeconds(const Machine &machine, const ModelShape &shape, const Execution &run) {
  return stepSeconds(machine, shape, run, partSeconds(machine, shape, run));
}

StepSeconds stepSeconds(const Machine &machine, const ModelShape &shape, const Execution &run,
                        const PartSeconds &parts) {
  StepSeconds step;
  step.layer = layerSeconds(parts.layer, run, machine.software);
  if (run.zero >= 3 && run.shardRanks() > 1)
    step.layer = shardedLayer(machine, step.layer, shape.layerParameters() / run.tp, run);
  StageSeconds perStage = stages(machine, shape, run, step.layer, parts.embedding, parts.head);
  step.pipeline = pipelineSeconds(perStage, run);
  step.bubble = bubbleFraction(perStage, run);
  step.exposedData = exposedData(machine, shape, run, perStage.first);
  step.optimizer = optimizerSeconds(machine, shape, run);
  step.overhead = machine.software.stepSeconds;
  step.total = step.pipeline + step.exposedData + step.optimizer + step.overhead;
  return step;
}

StepBreakdown breakdownOf(const Machine &machine, const ModelShape &shape, const Execution &run) {
  PartSeconds parts = partSeconds(machine, shape, run);
  const LayerParts &layer = parts.layer;
  StepSeconds step = stepSeconds(machine, shape, run, parts);
  double passes = run.microBatches * shape.layers / run.pp; // layers that the mean rank runs in a step
  StepBreakdown split;
  split.products = passes * (layer.forwardProducts + layer.inputProducts + layer.weightProducts);
  split.attention = passes * (layer.forwardAttention + layer.backwardAttention);
  split.elementwise = passes * (layer.forwardElementwise + layer.backwardElementwise);
  split.tensorCommunication = passes * (layer.forwardCommunication + layer.backwardCommunication);
  split.recomputation = passes * recomputedSeconds(layer, run, machine.software);
  split.shardCommunication = passes * (step.layer.total() - layerSeconds(layer, run, machine.software).total());
  split.ends = run.microBatches * (parts.embedding.total() + parts.head.total()) / run.pp;
  split.stageCommunication = run.microBatches * sends(machine, shape, run).total();
  split.dataCommunication = step.exposedData;
  split.optimizer = step.optimizer;
  split.overhead = step.overhead;
  split.bubble = run.pp > 1 ? step.total - split.total() : 0; // what is left
  return split;
}

double modelFlopsUtilization(const Machine &machine, const ModelShape &shape, const Execution &run, double seconds) {
  double sequences = run.dp * run.microBatch * run.microBatches;
  double ranks = run.tp * run.cp * run.dp * run.pp;
  OperandType type = run.operands == OperandType::Bits32 ? OperandType::Bits32 : OperandType::Bits16;
  double peak = machine.device.curve(type).peakFlopsPerSecond;
  return shape.modelFlops(sequences) / (ranks * peak * seconds);
}

} // namespace tgpt::cost
