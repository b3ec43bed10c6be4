//===- HeadNorm.cu - root mean square norm of heads -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each head of c elements, with one weight for all: rstd = 1 / sqrt(mean(x^2) +
// epsilon), y = x rstd w. With g = dy w: dx = rstd (g - x rstd^2 mean(g x)), dw = sum
// over rows and heads of dy x rstd. x, y, dy, dx T[...,h*c], w T[c], dw A[c]; sums in A.
// A warp has a head. rstd is computed anew in the gradient: a stored one would be h
// numbers a row. 2 and 3 elements of memory traffic for each computed; 75% of the
// memory's bandwidth expected for heads of 64 and 128. With attribute `chunks`, dw is
// [samples,c]: of each sample the tree over so many chunks of heads, each summed over
// the positions.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/RmsRow.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

KernelStatus headNorm(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &w = call.inputs[1];
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    RmsOperands<T> o{x.as<T>(),
                     w.as<T>(),
                     {},
                     nullptr,
                     call.outputs[0].as<T>(),
                     nullptr,
                     w.dim(0),
                     call.attributes->real("epsilon")};
    return launchRms(o, x.elements() / w.dim(0));
  });
}

size_t headNormGradWorkspace(const KernelCall &call) {
  return partialBytes(call, 1);
}

KernelStatus headNormGrad(const KernelCall &call) {
  return forRealType(call.inputs[1].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    return launchRmsGrad<T>(call, nullptr, {}, call.attributes->real("epsilon"));
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
