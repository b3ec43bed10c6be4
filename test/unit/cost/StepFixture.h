//===- StepFixture.h - a machine and a model with round figures ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_COST_STEPFIXTURE_H
#define TGPT_TEST_UNIT_COST_STEPFIXTURE_H

#include "cost/StepTime.h"

namespace tgpt::cost {

/// 100 TFLOP/s that products reach whatever their size, 1 TB/s of memory, nothing starts late.
inline Machine roundMachine() {
  Machine machine;
  machine.device.memoryBytesPerSecond = 1e12;
  machine.device.memoryFraction = 1;
  machine.device.kernelStartSeconds = 0;
  for (GemmCurve &curve : machine.device.gemm) {
    curve.peakFlopsPerSecond = 1e14;
    curve.efficiency = 1;
    curve.kHalf = 0;
    curve.waveSoftness = 0;
    curve.startSeconds = 0;
    curve.memoryFraction = 1;
    curve.units = 1;
    curve.tileM = curve.tileN = 1;
  }
  machine.device.attentionForwardFlopsPerSecond = machine.device.attentionBackwardFlopsPerSecond = 1e14;
  machine.topology = Topology::ofNodes(8, {.bytesPerSecond = 1e11}, {.bytesPerSecond = 1e10});
  machine.software.kernelsPerLayer = 0;
  return machine;
}

/// GPT-3 22B as in arXiv 2205.05198, table 3.
inline ModelShape gpt22b() {
  ModelShape shape;
  shape.layers = 48;
  shape.hidden = 6144;
  shape.heads = shape.kvHeads = 64;
  shape.headDim = 96;
  shape.ffnHidden = 24576;
  shape.vocabulary = 51200;
  shape.sequence = 2048;
  shape.dropout = true;
  shape.learnedPositions = 2048;
  return shape;
}

/// LLaMA-2 7B.
inline ModelShape llama7b() {
  ModelShape shape;
  shape.layers = 32;
  shape.hidden = 4096;
  shape.heads = shape.kvHeads = 32;
  shape.headDim = 128;
  shape.ffnHidden = 11008;
  shape.gatedMlp = true;
  shape.biases = shape.layerNorm = shape.tiedEmbedding = false;
  shape.vocabulary = 32000;
  shape.sequence = 4096;
  return shape;
}

/// LLaMA 3 70B, but for the sequence of llama7b.
inline ModelShape llama70b() {
  ModelShape shape = llama7b();
  shape.layers = 80;
  shape.hidden = 8192;
  shape.heads = 64;
  shape.kvHeads = 8;
  shape.ffnHidden = 28672;
  shape.vocabulary = 128256;
  return shape;
}

} // namespace tgpt::cost

#endif // TGPT_TEST_UNIT_COST_STEPFIXTURE_H
