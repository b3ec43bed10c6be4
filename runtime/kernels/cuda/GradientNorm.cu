//===- GradientNorm.cu - the norm of gradients and what follows -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// sum_squares: sum of x^2, squared and summed in f64: each block a part, the parts by one
//              block. With attributes `chunks` and `chunk_dim` that dim is cut into so
//              many equal parts; the sums of their squares, rounded to A, in a tree.
// clip_scale:  with n = count (times the loss scale) grad_norm = sqrt(norm_squared)/n;
//              scale = min(1, max_norm/(grad_norm + 1e-6))/n; both 0 where
//              n is 0 (no valid token: nothing to learn from).
// adjust_loss_scale: skips the step where norm_squared is not finite.
// divide:      x/y, 0 where y is 0.
// sum_squares reads each element once; should run at 85% of the memory's bandwidth. The
// others are scalars in device memory, one thread: bound by the launch.//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/cuda/Kernels.h"
#include "runtime/kernels/cuda/Reduce.h"
#include "runtime/kernels/cuda/Tree.h"

#include <limits>

namespace tgpt::runtime::cuda::TGPT_TARGET {

static constexpr int normThreads = 256;

/// Part `p` is [outer, perPart, inner] of x [outer, size, inner], or of all of x where
/// outer is 1.
template <typename A> struct SquaresOperands {
  const A *x;
  double *sums;
  int64_t outer, size, inner, perPart;
};

template <typename A, int V> __global__ void __launch_bounds__(normThreads) squaresOfPart(SquaresOperands<A> o) {
  int64_t begin = blockIdx.x * o.perPart, size = begin + o.perPart < o.size ? o.perPart : o.size - begin;
  int64_t run = size * o.inner;
  double sum = 0;
  for (int64_t outer = 0; outer < o.outer; ++outer) {
    const A *x = o.x + (outer * o.size + begin) * o.inner;
    for (int64_t i = int64_t(threadIdx.x) * V; i < run; i += normThreads * V) {
      if (i + V <= run) {
        Pack<A, V> in = loadPack<V>(x + i);
        TGPT_UNROLL
        for (int k = 0; k < V; ++k)
          sum += double(in.at[k]) * double(in.at[k]);
      } else {
        for (int64_t j = i; j < run; ++j)
          sum += double(x[j]) * double(x[j]);
      }
    }
  }
  sum = sumOverBlock<normThreads>(sum);
  if (threadIdx.x == 0)
    o.sums[blockIdx.x] = sum;
}

template <typename A>
__global__ void __launch_bounds__(normThreads) addSquares(const double *sums, int64_t parts, A *to) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < parts; i += normThreads)
    sum += sums[i];
  sum = sumOverBlock<normThreads>(sum);
  if (threadIdx.x == 0)
    *to = A(sum);
}

template <typename A> __global__ void addSquaresInTree(const double *sums, int64_t parts, A *to) {
  *to = sumScalars<A>(parts, [&](int64_t i) { return A(sums[i]); });
}

namespace {
/// How x is cut: see SquaresOperands.
struct SquaresCut {
  explicit SquaresCut(const KernelCall &call) {
    const TensorView &x = call.inputs[0];
    parts = call.attributes->integer("chunks");
    if (parts == 0 || x.rank == 0) { // by the number of elements
      constexpr int64_t leastElements = 8192, mostParts = 1024;
      size = x.elements();
      perPart = std::max((ceilDiv(size, mostParts) + 3) / 4 * 4, leastElements);
      parts = ceilDiv(size, perPart);
      return;
    }
    int64_t dim = call.attributes->integer("chunk_dim");
    for (int64_t i = 0; i < dim; ++i)
      outer *= x.shape[i];
    for (int64_t i = dim + 1; i < x.rank; ++i)
      inner *= x.shape[i];
    size = x.shape[dim];
    perPart = size / parts;
  }
  int64_t parts, outer = 1, size, inner = 1, perPart;
};
} // namespace

size_t sumSquaresWorkspace(const KernelCall &call) {
  return Scratch::roundUp(size_t(SquaresCut(call).parts) * sizeof(double));
}

KernelStatus sumSquares(const KernelCall &call) {
  SquaresCut cut(call);
  double *sums = Scratch().take<double>(cut.parts);
  if (!sums)
    return {workspaceTooSmall};
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    SquaresOperands<A> o{call.inputs[0].as<A>(), sums, cut.outer, cut.size, cut.inner, cut.perPart};
    A *to = call.outputs[0].as<A>();
    constexpr int vector = vectorOf<A>;
    bool wholeVectors = cut.outer == 1 ? cut.perPart * cut.inner % vector == 0 || cut.parts == 1
                                       : cut.size * cut.inner % vector == 0 && cut.perPart * cut.inner % vector == 0;
    LaunchShape shape(unsigned(cut.parts), normThreads);
    Launches launches;
    wholeVectors &&areAligned(o.x) ? launches.then(shape, squaresOfPart<A, vector>, o)
                                   : launches.then(shape, squaresOfPart<A, 1>, o);
    ChunkRange range = ChunkRange::of(*call.attributes);
    call.attributes->integer("chunks") > 0
        ? launches.then(LaunchShape(1, 1), addSquaresInTree<A>, sums + range.first, range.count, to)
        : launches.then(LaunchShape(1, normThreads), addSquares<A>, sums, cut.parts, to);
    return launches;
  });
}

template <typename A>
__global__ void clip(const A *normSquared, const A *count, const A *lossScale, A *norm, A *scale, double maxNorm) {
  double squared = *normSquared, n = *count, length = 0, factor = 0;
  if (lossScale) // gradients of the scaled loss
    n *= *lossScale;
  if (n != 0) {
    length = std::sqrt(squared) / n;
    double most = maxNorm / (length + 1e-6);
    factor = (maxNorm > 0 && most < 1 ? most : 1.0) / n;
  }
  *norm = A(length);
  *scale = A(factor);
}

KernelStatus clipScale(const KernelCall &call) {
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    const A *lossScale = call.inputs.size() > 2 ? call.inputs[2].as<A>() : nullptr;
    return launch(LaunchShape(1, 1), clip<A>, call.inputs[0].as<A>(), call.inputs[1].as<A>(), lossScale,
                  call.outputs[0].as<A>(), call.outputs[1].as<A>(), call.attributes->real("max_norm"));
  });
}

template <typename A> struct LossScaleOperands {
  const A *normSquared, *scale, *good, *skipped, *step;
  A *newScale, *newGood, *newSkipped, *applied;
  A backoff, growth, interval, smallest, largest;
};

template <typename A> __global__ void adjust(LossScaleOperands<A> o) {
  A norm = *o.normSquared, scale = *o.scale, good = *o.good, skipped = *o.skipped, applied = 0;
  if (norm - norm == A(0)) { // finite
    applied = *o.step - skipped;
    good += A(1);
    if (good >= o.interval) {
      A larger = scale * o.growth;
      scale = larger <= o.largest ? larger : scale;
      good = 0;
    }
  } else {
    A smaller = (scale < o.largest ? scale : o.largest) * o.backoff;
    scale = smaller >= o.smallest ? smaller : scale;
    good = 0;
    skipped += A(1);
  }
  *o.newScale = scale;
  *o.newGood = good;
  *o.newSkipped = skipped;
  *o.applied = applied;
}

KernelStatus adjustLossScale(const KernelCall &call) {
  const Attributes &attributes = *call.attributes;
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    auto in = [&](size_t i) { return call.inputs[i].as<A>(); };
    auto out = [&](size_t i) { return call.outputs[i].as<A>(); };
    LossScaleOperands<A> o{in(0),
                           in(1),
                           in(2),
                           in(3),
                           in(4),
                           out(0),
                           out(1),
                           out(2),
                           out(3),
                           A(attributes.real("backoff")),
                           A(attributes.real("growth")),
                           A(attributes.integer("growth_interval")),
                           std::numeric_limits<A>::min(),
                           std::numeric_limits<A>::max()};
    return launch(LaunchShape(1, 1), adjust<A>, o);
  });
}

template <typename A> __global__ void divideScalars(const A *x, const A *y, A *z) {
  *z = *y == A(0) ? A(0) : A(double(*x) / double(*y));
}

KernelStatus divide(const KernelCall &call) {
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    return launch(LaunchShape(1, 1), divideScalars<A>, call.inputs[0].as<A>(), call.inputs[1].as<A>(),
                  call.outputs[0].as<A>());
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
