//===- ModelShape.cpp - the shape of a GPT, as costs need it ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/ModelShape.h"

namespace tgpt::cost {

double ModelShape::layerParameters() const {
  double attention = hidden * (queryWidth() + 2 * keyValueWidth()) + queryWidth() * hidden;
  double mlp = (gatedMlp ? 3 : 2) * hidden * ffnHidden;
  double norms = 2 * (layerNorm ? 2 : 1) * hidden;
  double bias = biases ? queryWidth() + 2 * keyValueWidth() + hidden + (gatedMlp ? 2 : 1) * ffnHidden + hidden : 0;
  return attention + mlp + norms + bias + (qkNorm ? 2 * headDim : 0);
}

double ModelShape::parameters() const {
  return layers * layerParameters() + embeddingParameters() + headParameters() + finalNormParameters();
}

double ModelShape::modelFlops(double sequences) const {
  double tokens = sequences * sequence;
  double weights = hidden * (2 * queryWidth() + 2 * keyValueWidth()) + (gatedMlp ? 3 : 2) * hidden * ffnHidden;
  double forward = 2 * tokens * (layers * (weights + 2 * sequence * queryWidth()) + vocabulary * hidden);
  return 3 * forward;
}

} // namespace tgpt::cost
