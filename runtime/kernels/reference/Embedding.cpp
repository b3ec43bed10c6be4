//===- Embedding.cpp - reference embedding ----------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/reference/Element.h"
#include "runtime/kernels/reference/Kernels.h"

#include <vector>

namespace tgpt::runtime::reference {

KernelStatus embedding(const KernelCall &call) {
  const TensorView &ids = call.inputs[0], &table = call.inputs[1], &y = call.outputs[0];
  int64_t offset = call.attributes->integer("vocab_offset"), rows = table.dim(0), width = y.dim(-1);
  for (int64_t t = 0; t < ids.elements(); ++t) {
    int64_t row = int64_t(ids.as<int32_t>()[t]) - offset;
    bool isLocal = row >= 0 && row < rows;
    for (int64_t j = 0; j < width; ++j)
      put(y, t * width + j, isLocal ? get(table, row * width + j) : 0.0);
  }
  return {};
}

KernelStatus embeddingGrad(const KernelCall &call) {
  const TensorView &ids = call.inputs[0], &dy = call.inputs[1], &dtable = call.outputs[0];
  int64_t offset = call.attributes->integer("vocab_offset"), rows = dtable.dim(0), width = dtable.dim(1);
  std::vector<double> sum(rows * width, 0.0);
  ChunkRange range = ChunkRange::of(*call.attributes);
  for (int64_t t = range.beginIn(ids.elements()); t < range.endIn(ids.elements()); ++t) {
    int64_t row = int64_t(ids.as<int32_t>()[t]) - offset;
    if (row < 0 || row >= rows)
      continue;
    for (int64_t j = 0; j < width; ++j)
      sum[row * width + j] += get(dy, t * width + j);
  }
  for (int64_t i = 0; i < rows * width; ++i)
    put(call, 0, i, sum[i]);
  return {};
}

} // namespace tgpt::runtime::reference
