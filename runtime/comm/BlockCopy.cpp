//===- BlockCopy.cpp - copies a box between two tensors ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trailing dimensions that both tensors cover fully are copied as one run.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/BlockCopy.h"

#include <cstring>

using namespace tgpt::runtime;

static int64_t flatIndex(const TensorView &tensor, const TensorIndex &start) {
  int64_t index = 0;
  for (size_t i = 0; i < tensor.rank; ++i)
    index = index * tensor.shape[i] + start[i];
  return index;
}

void tgpt::runtime::copyBlock(const TensorView &from, const TensorIndex &fromStart, const TensorView &to,
                              const TensorIndex &toStart, const TensorIndex &size) {
  // `outer` dimensions are walked one index at a time, the rest is contiguous in both.
  int outer = from.rank;
  int64_t run = 1;
  while (outer > 0) {
    --outer;
    run *= size[outer];
    if (size[outer] != from.shape[outer] || size[outer] != to.shape[outer])
      break;
  }
  size_t element = sizeInBytes(from.dtype);
  TensorIndex at{};
  while (true) {
    TensorIndex source = fromStart, target = toStart;
    for (int i = 0; i < outer; ++i) {
      source[i] += at[i];
      target[i] += at[i];
    }
    std::memcpy(to.as<char>() + flatIndex(to, target) * element, from.as<char>() + flatIndex(from, source) * element,
                run * element);
    int i = outer - 1;
    while (i >= 0 && ++at[i] == size[i])
      at[i--] = 0;
    if (i < 0)
      return;
  }
}
