//===- LayerTime.cpp - seconds of one layer for one micro-batch on one rank ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/LayerTime.h"
#include "cost/CollectiveTime.h"
#include <algorithm>
#include <cmath>

namespace tgpt::cost {
namespace {

/// The sizes that all costs of a layer are made of: what one rank holds of one micro-batch.
struct LocalSizes {
  double tokens;               ///< of the rank's part of the sequences
  double residual;             ///< elements of a tensor outside the tensor-parallel region
  double query, keyValue, ffn; ///< widths of one rank
  double scores;               ///< elements of the attention matrix

  LocalSizes(const ModelShape &shape, const Execution &run)
      : tokens(run.microBatch * shape.sequence / run.cp),
        residual(tokens * shape.hidden / (run.sequenceParallel ? run.tp : 1)), query(shape.queryWidth() / run.tp),
        keyValue(std::max(shape.keyValueWidth() / run.tp, shape.headDim)), ffn(shape.ffnHidden / run.tp),
        scores(run.microBatch * shape.heads / run.tp * shape.sequence * shape.sequence / run.cp) {}
};

/// Seconds of a linear layer's three products, in the operand type of the run.
struct LinearSeconds {
  double forward = 0, input = 0, weight = 0;

  LinearSeconds &operator+=(const LinearSeconds &other) {
    forward += other.forward;
    input += other.input;
    weight += other.weight;
    return *this;
  }
};

double productSeconds(const Machine &machine, OperandType type, double m, double n, double k) {
  const DeviceRates &device = machine.device;
  double bytes = operandTypeBytes[static_cast<std::size_t>(type)];
  Gemm gemm{1, m, n, k, bytes, std::max(bytes, 2.0)};
  const GemmCurve &curve = device.curve(type);
  double seconds = gemmSeconds(curve, device.memoryBytesPerSecond, gemm) - curve.startSeconds;
  return seconds / (curve.sustainedFraction * device.powerFraction);
}

LinearSeconds linearSeconds(const Machine &machine, OperandType type, double tokens, double outputs, double inputs) {
  LinearSeconds seconds{productSeconds(machine, type, tokens, outputs, inputs),
                        productSeconds(machine, type, tokens, inputs, outputs),
                        productSeconds(machine, type, inputs, outputs, tokens)};
  if (type == OperandType::Bits16 || type == OperandType::Bits32)
    return seconds;
  // Operands are scaled and rounded by kernels of their own: input and weight forward, the output's gradient backward.
  double cast = machine.software.castTraffic;
  seconds.forward += machine.device.memorySeconds(cast * (tokens * inputs + outputs * inputs));
  seconds.input += machine.device.memorySeconds(cast * tokens * outputs);
  return seconds;
}

LinearSeconds layerProducts(const Machine &machine, const ModelShape &shape, const Execution &run,
                            const LocalSizes &local) {
  double hidden = shape.hidden;
  LinearSeconds seconds = linearSeconds(machine, run.operands, local.tokens, local.query + 2 * local.keyValue, hidden);
  seconds += linearSeconds(machine, run.operands, local.tokens, hidden, local.query);
  seconds += linearSeconds(machine, run.operands, local.tokens, (shape.gatedMlp ? 2 : 1) * local.ffn, hidden);
  seconds += linearSeconds(machine, run.operands, local.tokens, hidden, local.ffn);
  return seconds;
}

/// Scores and weighted sum as batched products, softmax and dropout as elementwise kernels over the scores.
void unfusedAttention(const Machine &machine, const ModelShape &shape, const Execution &run, const LocalSizes &local,
                      LayerParts &parts) {
  const DeviceRates &device = machine.device;
  const GemmCurve &curve = device.curve(OperandType::Bits16);
  double rows = shape.sequence / run.cp, batch = run.microBatch * shape.heads / run.tp;
  auto product = [&](double m, double n, double k) {
    double seconds = gemmSeconds(curve, device.memoryBytesPerSecond, Gemm{batch, m, n, k, 2, 2}) - curve.startSeconds;
    return seconds / (curve.sustainedFraction * device.powerFraction);
  };
  double scores = product(rows, shape.sequence, shape.headDim), sum = product(rows, shape.headDim, shape.sequence);
  // Scaled masked softmax: read, write. Dropout: read, write, a byte of mask. Backward the same and the saved softmax.
  double forwardBytes = 4 + (shape.dropout ? 5 : 0), backwardBytes = 6 + (shape.dropout ? 5 : 0);
  double traffic = machine.software.elementwiseTraffic * local.scores;
  parts.forwardAttention = scores + sum + device.memorySeconds(forwardBytes * traffic);
  // Each of the two products has two gradients; k and n trade places.
  parts.backwardAttention = 2 * (scores + sum) + device.memorySeconds(backwardBytes * traffic);
}

/// Only the causal half is computed; backward computes the scores again, five products for two.
void fusedAttention(const Machine &machine, const ModelShape &shape, const LocalSizes &local, LayerParts &parts) {
  double flops = 4 * local.scores * shape.headDim / 2;
  double rate = machine.software.attentionRate * machine.device.powerFraction;
  parts.forwardAttention = flops / (machine.device.attentionForwardFlopsPerSecond * rate);
  parts.backwardAttention = 2.5 * flops / (machine.device.attentionBackwardFlopsPerSecond * rate);
}

/// Bytes of the elementwise kernels, each reading its operands and writing its results once, written for two bytes an
/// element.
void elementwise(const Machine &machine, const ModelShape &shape, const Execution &run, const LocalSizes &local,
                 LayerParts &parts) {
  // Two norms (read, write), two residual additions (read two, write one); dropout keeps a byte of mask.
  double forward = local.residual * (2 * (4 + 6) + (shape.dropout ? 2 : 0));
  double backward = local.residual * (2 * (6 + 4) + (shape.dropout ? 2 * 5 : 0));
  // GELU reads and writes ffn; SwiGLU reads two and writes one. Rotary positions read and write q and k.
  forward += local.tokens * local.ffn * (shape.gatedMlp ? 6 : 4);
  backward += local.tokens * local.ffn * (shape.gatedMlp ? 10 : 6);
  if (shape.learnedPositions == 0) {
    forward += 4 * local.tokens * (local.query + local.keyValue);
    backward += 4 * local.tokens * (local.query + local.keyValue);
  }
  double starts = machine.software.kernelsPerLayer * machine.device.kernelStartSeconds;
  double traffic = machine.software.elementwiseTraffic * run.elementBytes / 2;
  parts.forwardElementwise = starts + machine.device.memorySeconds(traffic * forward);
  parts.backwardElementwise = 2 * starts + machine.device.memorySeconds(traffic * backward);
  double cheap = local.residual * 2 * 4 + local.tokens * local.ffn * (shape.gatedMlp ? 6 : 4);
  parts.normsAndActivation = 3 * machine.device.kernelStartSeconds + machine.device.memorySeconds(traffic * cheap);
}

/// Two reductions forward and two backward (arXiv 1909.08053, section 3); with sequence parallelism each is an
/// all_gather and a reduce_scatter. That backward gathers the saved inputs once more is hidden behind the gradient of
/// the products (arXiv 2205.05198, section 4.2.2). Of the rest a share is hidden, but no more than the gradients of
/// weights take, which it runs beside: between nodes, where it takes longer than these, most of it shows.
void tensorCommunication(const Machine &machine, const ModelShape &shape, const Execution &run, const LocalSizes &local,
                         LayerParts &parts) {
  if (run.tp <= 1)
    return;
  double bytes = run.elementBytes * local.tokens * shape.hidden;
  const Topology &topology = machine.topology;
  double both = run.sequenceParallel ? allGatherSeconds(topology, run.tensorGroup(), bytes) +
                                           reduceScatterSeconds(topology, run.tensorGroup(), bytes)
                                     : allReduceSeconds(topology, run.tensorGroup(), bytes);
  double pass = 2 * both, hidden = std::min(2 * pass * machine.software.tensorOverlap, parts.weightProducts);
  parts.forwardCommunication = parts.backwardCommunication = pass - hidden / 2;
}

/// Keys and values travel round the ring of cp ranks while attention computes; what it can't hide is exposed. Each
/// block that comes is merged with what is there by kernels of its own.
void contextCommunication(const Machine &machine, const Execution &run, const LocalSizes &local, LayerParts &parts) {
  if (run.cp <= 1)
    return;
  const Software &software = machine.software;
  double merged = (run.cp - 1) * local.tokens * local.query;
  parts.forwardElementwise += machine.device.memorySeconds(software.ringForwardTraffic * merged);
  parts.backwardElementwise += machine.device.memorySeconds(software.ringBackwardTraffic * merged);
  double width = software.ringHasAllHeads ? local.query : local.keyValue;
  double bytes = 2 * run.elementBytes * local.tokens * width * run.cp;
  double ring = allGatherSeconds(machine.topology, run.contextGroup(), bytes);
  parts.forwardCommunication += std::max(0.0, ring - parts.forwardAttention);
  parts.backwardCommunication += std::max(0.0, 2 * ring - parts.backwardAttention);
}

} // namespace

LayerParts layerParts(const Machine &machine, const ModelShape &shape, const Execution &run) {
  LocalSizes local(shape, run);
  LayerParts parts;
  LinearSeconds products = layerProducts(machine, shape, run, local);
  parts.forwardProducts = products.forward;
  parts.inputProducts = products.input;
  parts.weightProducts = products.weight;
  parts.lastProduct = linearSeconds(machine, run.operands, local.tokens, shape.hidden, local.ffn).forward;
  if (run.fusedAttention)
    fusedAttention(machine, shape, local, parts);
  else
    unfusedAttention(machine, shape, run, local, parts);
  elementwise(machine, shape, run, local, parts);
  tensorCommunication(machine, shape, run, local, parts);
  contextCommunication(machine, run, local, parts);
  return parts;
}

static double forwardSeconds(const LayerParts &parts) {
  return parts.forwardProducts + parts.forwardAttention + parts.forwardElementwise + parts.forwardCommunication;
}

double recomputedSeconds(const LayerParts &parts, const Execution &run, const Software &software) {
  switch (run.recompute) {
  case Recompute::None: break;
  case Recompute::Attention: return parts.forwardAttention;
  case Recompute::Selective: return parts.forwardAttention + parts.normsAndActivation;
  case Recompute::Cheap: return parts.forwardProducts / 2 + parts.forwardElementwise + parts.forwardCommunication / 2;
  case Recompute::Full:
    return run.recomputedLayers * (forwardSeconds(parts) - (software.recomputeStopsEarly ? parts.lastProduct : 0));
  }
  return 0;
}

PassSeconds layerSeconds(const LayerParts &parts, const Execution &run, const Software &software) {
  PassSeconds pass;
  pass.forward = forwardSeconds(parts);
  pass.backwardInput = parts.inputProducts + parts.backwardAttention + parts.backwardElementwise +
                       parts.backwardCommunication + recomputedSeconds(parts, run, software);
  pass.backwardWeight = parts.weightProducts;
  return pass;
}

PassSeconds embeddingSeconds(const Machine &machine, const ModelShape &shape, const Execution &run) {
  LocalSizes local(shape, run);
  PassSeconds pass;
  // Read rows, write activations; backward reads the gradient and adds to rows.
  double bytes = machine.software.elementwiseTraffic * run.elementBytes * local.tokens * shape.hidden;
  pass.forward = machine.device.memorySeconds(2 * bytes);
  pass.backwardWeight = machine.device.memorySeconds(3 * bytes);
  if (run.tp > 1)
    pass.forward +=
        allReduceSeconds(machine.topology, run.tensorGroup(), run.elementBytes * local.tokens * shape.hidden);
  return pass;
}

PassSeconds headSeconds(const Machine &machine, const ModelShape &shape, const Execution &run) {
  LocalSizes local(shape, run);
  LinearSeconds products =
      linearSeconds(machine, run.operands == OperandType::Bits32 ? OperandType::Bits32 : OperandType::Bits16,
                    local.tokens, shape.vocabulary / run.tp, shape.hidden);
  const Software &software = machine.software;
  double logits = local.tokens * shape.vocabulary / run.tp * software.elementwiseTraffic * run.elementBytes / 2;
  PassSeconds pass;
  pass.forward = products.forward + machine.device.memorySeconds(software.lossForwardBytes * logits);
  pass.backwardInput = products.input + machine.device.memorySeconds(software.lossBackwardBytes * logits);
  pass.backwardWeight = products.weight;
  if (run.tp > 1) {
    double communication =
        allReduceSeconds(machine.topology, run.tensorGroup(), run.elementBytes * local.tokens * shape.hidden);
    pass.backwardInput += communication;
    pass.forward += run.sequenceParallel ? allGatherSeconds(machine.topology, run.tensorGroup(),
                                                            run.elementBytes * local.tokens * shape.hidden)
                                         : 0;
  }
  return pass;
}

} // namespace tgpt::cost
