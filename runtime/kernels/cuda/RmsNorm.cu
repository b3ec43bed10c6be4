//===- RmsNorm.cu - root mean square norm and its gradient ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// rstd = 1 / sqrt(mean(x^2) + epsilon), y = x rstd w.
// With g = dy w: dx = rstd (g - x rstd^2 mean(g x)), dw = sum over rows of dy x rstd.
// With a residual: as in LayerNorm.cu.
// x, y, dy, dx T[rows,d], w T[d], rstd A[rows], dw A[d]; sums in A. A block reads its row
// twice, the second time from the first-level cache: forward 2, backward 3 elements of
// memory traffic for each computed, 4 with a residual; 85% of the memory's bandwidth
// expected from d = 1024 on. dw: parts of rows in order, these in a tree (NormRows.h). With attribute `chunks`,
// dw is [samples,d]: of each sample the tree over so many chunks of positions.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/RmsRow.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

KernelStatus rmsNorm(const KernelCall &call) {
  const TensorView &x = call.inputs[0];
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    RmsOperands<T> o{x.as<T>(),
                     call.inputs[1].as<T>(),
                     addendOf<T>(call, 2),
                     call.outputs.size() > 2 ? call.outputs[2].as<T>() : nullptr,
                     call.outputs[0].as<T>(),
                     call.outputs[1].as<AccumulatorOf<T>>(),
                     x.dim(-1),
                     call.attributes->real("epsilon")};
    return launchRms(o, x.rows());
  });
}

size_t rmsNormGradWorkspace(const KernelCall &call) {
  return partialBytes(call, 1);
}

KernelStatus rmsNormGrad(const KernelCall &call) {
  return forRealType(call.inputs[1].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    return launchRmsGrad<T>(call, call.inputs[3].as<AccumulatorOf<T>>(), addendOf<T>(call, 4), 0);
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
