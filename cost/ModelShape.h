//===- ModelShape.h - the shape of a GPT, as costs need it ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dense decoder-only models: GPT-2 (biases, learned positions, layer norms, GELU) and
// LLaMA (no biases, rotary positions, RMS norms, SwiGLU, fewer key-value heads).
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_MODELSHAPE_H
#define TGPT_COST_MODELSHAPE_H

namespace tgpt::cost {

struct ModelShape {
  double layers = 0, hidden = 0, heads = 0, kvHeads = 0, headDim = 0;
  double ffnHidden = 0;
  bool gatedMlp = false; ///< SwiGLU: three matrices
  bool biases = true;
  bool layerNorm = true; ///< weight and bias; RMS norm has a weight only
  bool dropout = false;  ///< on the residual branches and, where not fused, in attention
  double vocabulary = 0, sequence = 0;
  double learnedPositions = 0; ///< rows of the position table
  bool tiedEmbedding = true;
  bool qkNorm = false; ///< an RMS norm of query heads and one of key heads, each with a weight of a head's width

  double queryWidth() const { return heads * headDim; }
  double keyValueWidth() const { return kvHeads * headDim; }
  double layerParameters() const;
  double embeddingParameters() const { return (vocabulary + learnedPositions) * hidden; }
  double headParameters() const { return tiedEmbedding ? 0 : vocabulary * hidden; }
  double finalNormParameters() const { return (layerNorm ? 2 : 1) * hidden; }
  double parameters() const;
  /// Operations of a step over `sequences`, without recomputation: arXiv 2205.05198, appendix A, for any MLP and head
  /// count (attention counted in full, causal or not).
  double modelFlops(double sequences) const;
};

} // namespace tgpt::cost

#endif // TGPT_COST_MODELSHAPE_H
