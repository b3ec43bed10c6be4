//===- CallGroup.cpp - several calls of a segment that are one --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/fusion/CallGroup.h"

#include <algorithm>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

bool cuda::resultsLieWell(const CallGroup &group, const TensorView &matrix) {
  for (size_t o = 0; o < group.outputs.size(); ++o) {
    const TensorView &output = group.outputs[o];
    for (const TensorView &input : group.inputs) {
      bool isOnMatrix = isSame(output, input) && output.elements() == matrix.elements() && output.dtype == matrix.dtype;
      if (overlap(output, input) && !isOnMatrix)
        return false;
    }
    if (overlapAny(output, std::span(group.outputs).first(o)))
      return false;
  }
  return true;
}
