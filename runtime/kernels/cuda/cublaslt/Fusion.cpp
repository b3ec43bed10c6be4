//===- Fusion.cpp - two calls that one product does ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/cublaslt/Fusion.h"

#include <algorithm>

using namespace tgpt::runtime;
using namespace tgpt::runtime::cuda;

/// Operands of both calls, without what the second takes from the first.
static FusedCall combine(const KernelCall &first, const KernelCall &second) {
  FusedCall fused;
  fused.inputs.assign(first.inputs.begin(), first.inputs.end());
  fused.inputs.insert(fused.inputs.end(), second.inputs.begin() + 1, second.inputs.end());
  fused.outputs.assign(first.outputs.begin(), first.outputs.end());
  if (!isSame(second.outputs[0], first.outputs[0]))
    fused.outputs.push_back(second.outputs[0]);
  fused.attributes.set("accumulate", int64_t(first.accumulates(0)) + 2 * int64_t(second.accumulates(0)));
  return fused;
}

static bool resultsLieApart(const FusedCall &fused) {
  for (size_t i = 0; i < fused.outputs.size(); ++i)
    if (overlapAny(fused.outputs[i], fused.inputs) || overlapAny(fused.outputs[i], std::span(fused.outputs).first(i)))
      return false;
  return true;
}

/// What cuBLASLt asks of the matrix that an epilogue reads or writes beside the result.
static bool isAuxiliary(const TensorView &view) {
  return view.dim(-1) % 8 == 0 && reinterpret_cast<uintptr_t>(view.data) % 16 == 0;
}

/// Whether the two calls, apart from what stands between them, are what the kernel does.
static bool belongTogether(const FusedKernel &kernel, const KernelCall &first, const KernelCall &second) {
  if (first.inputs[0].dtype == DType::F64 || first.attributes->integer("chunks") > 0 ||
      second.attributes->integer("chunks") > 0)
    return false;
  const TensorView &result = first.outputs[0], &taken = second.inputs[0], &made = second.outputs[0];
  if (kernel.second == "gelu")
    return isSame(taken, result) && !overlap(made, result) && isAuxiliary(result);
  if (kernel.second == "gelu_grad")
    return isSame(taken, result) && isSame(made, result) && isAuxiliary(second.inputs[1]) &&
           second.inputs[1].dim(-1) == result.dim(-1);
  return isSame(taken, first.inputs[0]) && !overlap(made, result) && made.elements() == taken.dim(-1);
}

std::vector<FusedCall> cuda::findFusions(std::span<const PlannedCall> calls, std::span<const FusedKernel> kernels) {
  std::vector<FusedCall> found;
  std::vector<bool> isTaken(calls.size());
  for (size_t i = 0; i < calls.size(); ++i)
    for (const FusedKernel &kernel : kernels) {
      if (isTaken[i] || calls[i].kernel != kernel.first)
        continue;
      for (size_t j = i + 1; j < std::min(calls.size(), i + 1 + mostDistance); ++j) {
        if (isTaken[j] || calls[j].kernel != kernel.second || !belongTogether(kernel, calls[i].call, calls[j].call))
          continue;
        auto between = calls.subspan(i + 1, j - i - 1);
        FusedCall fused = combine(calls[i].call, calls[j].call);
        if (!resultsLieApart(fused) || !std::all_of(between.begin(), between.end(), [&](const PlannedCall &earlier) {
              return commute(calls[j].call, earlier);
            }))
          break; // no later call is the one that takes this result
        fused.first = i, fused.second = j, fused.kernel = &kernel;
        found.push_back(std::move(fused));
        isTaken[i] = isTaken[j] = true;
        break;
      }
    }
  return found;
}
