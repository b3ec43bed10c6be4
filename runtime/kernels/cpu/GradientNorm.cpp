//===- GradientNorm.cpp - gradient norm, clipping, loss scale and division of scalars ----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// sum_squares: sum of x^2, squared and summed in f64;
//              chunks are added in order: the same bits on any
//              number of threads. With attributes `chunks` and `chunk_dim`
//              that dim is cut into so many equal parts; the sums of their
//              squares, rounded to A, are added in a tree.
// clip_scale:  with n = count (times the loss scale) grad_norm = sqrt(norm_squared)/n;
//              scale = min(1, max_norm/(grad_norm + 1e-6))/n; both 0 where
//              n is 0 (no valid token: nothing to learn from).
// adjust_loss_scale: skips the step where norm_squared is not finite.
// divide:      x/y, 0 where y is 0. Scalars, in f64.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/api/SumTree.h"
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

/// 64 sums at a time, so that the additions overlap.
template <typename A> static double sumOfSquares(const A *x, int64_t n) {
  constexpr int64_t lanes = 64;
  double sums[lanes] = {};
  int64_t whole = n / lanes * lanes;
  for (int64_t i = 0; i < whole; i += lanes)
#pragma omp simd
    for (int64_t lane = 0; lane < lanes; ++lane)
      sums[lane] += double(x[i + lane]) * double(x[i + lane]);
  for (int64_t i = whole; i < n; ++i)
    sums[i - whole] += double(x[i]) * double(x[i]);
  for (int64_t lane = 1; lane < lanes; ++lane)
    sums[0] += sums[lane];
  return sums[0];
}

/// Sum of squares of the part [begin, begin + part) of dimension `dim`, in f64.
template <typename A> static double sumOfSquares(const TensorView &x, int dim, int64_t begin, int64_t part) {
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < dim; ++i)
    outer *= x.dim(i);
  for (int i = dim + 1; i < x.rank; ++i)
    inner *= x.dim(i);
  double sum = 0;
  for (int64_t o = 0; o < outer; ++o)
    sum += sumOfSquares(x.as<A>() + (o * x.dim(dim) + begin) * inner, part * inner);
  return sum;
}

/// The parts of dimension `chunk_dim` apart, in a tree.
template <typename A> static void sumSquaresOfChunks(const KernelCall &call, int64_t chunks) {
  const TensorView &x = call.inputs[0];
  int dim = int(call.attributes->integer("chunk_dim"));
  int64_t part = x.rank == 0 ? 1 : x.dim(dim) / chunks;
  ChunkRange range = ChunkRange::of(*call.attributes);
  *call.outputs[0].as<A>() = sumScalarsInTree<A>(range.count, [&](int64_t i) {
    return A(x.rank == 0 ? sumOfSquares(x.as<A>(), 1) : sumOfSquares<A>(x, dim, (range.first + i) * part, part));
  });
}

KernelStatus sumSquares(const KernelCall &call) {
  constexpr int64_t mostChunks = 256;
  int64_t n = call.inputs[0].elements(), chunk = std::max(chunkElements, chunkCount(n, mostChunks));
  double sums[mostChunks];
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    const A *x = call.inputs[0].as<A>();
    if (int64_t parts = call.attributes->integer("chunks"); parts > 0) {
      sumSquaresOfChunks<A>(call, parts);
      return {};
    }
    forChunks(n, chunk,
              [&](int64_t begin, int64_t end) { sums[begin / chunk] = sumOfSquares(x + begin, end - begin); });
    double total = 0;
    for (int64_t i = 0; i < chunkCount(n, chunk); ++i)
      total += sums[i];
    *call.outputs[0].as<A>() = A(total);
    return {};
  });
}

KernelStatus clipScale(const KernelCall &call) {
  double maxNorm = call.attributes->real("max_norm");
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    double squared = *call.inputs[0].as<A>(), count = *call.inputs[1].as<A>(), norm = 0, scale = 0;
    if (call.inputs.size() > 2)
      count *= *call.inputs[2].as<A>();
    if (count != 0) {
      norm = std::sqrt(squared) / count;
      scale = (maxNorm > 0 ? std::min(1.0, maxNorm / (norm + 1e-6)) : 1.0) / count;
    }
    *call.outputs[0].as<A>() = A(norm);
    *call.outputs[1].as<A>() = A(scale);
    return {};
  });
}

namespace {
/// What the loss scaling keeps from step to step.
template <typename A> struct LossScaling {
  A scale, goodSteps, skippedSteps;

  void skip(A backoff) {
    A smaller = std::min(scale, std::numeric_limits<A>::max()) * backoff;
    scale = smaller >= std::numeric_limits<A>::min() ? smaller : scale;
    goodSteps = 0;
    skippedSteps += 1;
  }
  void grow(A growth, int64_t interval) {
    goodSteps += 1;
    if (goodSteps < A(interval))
      return;
    A larger = scale * growth;
    scale = larger <= std::numeric_limits<A>::max() ? larger : scale;
    goodSteps = 0;
  }
};
} // namespace

KernelStatus adjustLossScale(const KernelCall &call) {
  const Attributes &attributes = *call.attributes;
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    LossScaling<A> scaling{*call.inputs[1].as<A>(), *call.inputs[2].as<A>(), *call.inputs[3].as<A>()};
    A applied = 0, step = *call.inputs[4].as<A>();
    if (std::isfinite(*call.inputs[0].as<A>())) {
      applied = step - scaling.skippedSteps;
      scaling.grow(A(attributes.real("growth")), attributes.integer("growth_interval"));
    } else {
      scaling.skip(A(attributes.real("backoff")));
    }
    *call.outputs[0].as<A>() = scaling.scale;
    *call.outputs[1].as<A>() = scaling.goodSteps;
    *call.outputs[2].as<A>() = scaling.skippedSteps;
    *call.outputs[3].as<A>() = applied;
    return {};
  });
}

KernelStatus divide(const KernelCall &call) {
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    double x = *call.inputs[0].as<A>(), y = *call.inputs[1].as<A>();
    *call.outputs[0].as<A>() = A(y == 0 ? 0 : x / y);
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
