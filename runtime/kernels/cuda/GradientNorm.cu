//===- GradientNorm.cu - the norm of gradients and what follows -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// sum_squares: sum of x^2, squared and summed in f64: each block a part, the parts by one
//              block. Two launches for many tensors (TensorBatch.h), input i to output i.
//              With attributes `chunks` and `chunk_dim` that dim is cut into so
//              many equal parts; the sums of their squares, rounded to A, in a tree.
// clip_scale:  with n = count (times the loss scale) grad_norm = sqrt(norm_squared)/n;
//              scale = min(1, max_norm/(grad_norm + 1e-6))/n; both 0 where
//              n is 0 (no valid token: nothing to learn from).
// adjust_loss_scale: skips the step where norm_squared is not finite.
// divide:      x/y, 0 where y is 0.
// sum_squares reads each element once; should run at 85% of the memory's bandwidth. The
// others are scalars in device memory, one thread: bound by the launch.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/cuda/Kernels.h"
#include "runtime/kernels/cuda/Reduce.h"
#include "runtime/kernels/cuda/TensorBatch.h"
#include "runtime/kernels/cuda/Tree.h"

#include <limits>

namespace tgpt::runtime::cuda::TGPT_TARGET {

static constexpr int normThreads = 256;

/// Of a thread, of x[0, run).
template <int V, typename A> __device__ void addSquaresOf(const A *x, int64_t run, double &sum) {
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

namespace {
template <typename A> struct SquaredTensor {
  const A *x;
  A *to;
  int64_t elements, perPart;
};
template <typename A> using SquaresBatch = TensorBatch<SquaredTensor<A>, mostTensors<SquaredTensor<A>>(sizeof(void *))>;
} // namespace

template <typename A>
__global__ void __launch_bounds__(normThreads)
    squaresOfParts(const __grid_constant__ SquaresBatch<A> batch, double *sums) {
  int at = batch.tensorOf(blockIdx.x);
  const SquaredTensor<A> &o = batch.tensors[at];
  int64_t begin = (blockIdx.x - batch.firstBlock[at]) * o.perPart;
  int64_t run = begin + o.perPart < o.elements ? o.perPart : o.elements - begin;
  double sum = 0;
  if (areAlignedOnDevice(o.x))
    addSquaresOf<vectorOf<A>>(o.x + begin, run, sum);
  else
    addSquaresOf<1>(o.x + begin, run, sum);
  sum = sumOverBlock<normThreads>(sum);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = sum;
}

/// A block for each tensor.
template <typename A>
__global__ void __launch_bounds__(normThreads)
    addSquares(const __grid_constant__ SquaresBatch<A> batch, const double *sums) {
  double sum = 0;
  for (int64_t i = batch.firstBlock[blockIdx.x] + threadIdx.x; i < batch.firstBlock[blockIdx.x + 1]; i += normThreads)
    sum += sums[i];
  sum = sumOverBlock<normThreads>(sum);
  if (threadIdx.x == 0)
    *batch.tensors[blockIdx.x].to = A(sum);
}

/// Part `p` is [outer, perPart, inner] of x [outer, size, inner].
template <typename A> struct SquaresOperands {
  const A *x;
  double *sums;
  int64_t outer, size, inner, perPart;
};

template <typename A, int V> __global__ void __launch_bounds__(normThreads) squaresOfPart(SquaresOperands<A> o) {
  int64_t begin = blockIdx.x * o.perPart, size = begin + o.perPart < o.size ? o.perPart : o.size - begin;
  int64_t run = size * o.inner;
  double sum = 0;
  for (int64_t outer = 0; outer < o.outer; ++outer)
    addSquaresOf<V>(o.x + (outer * o.size + begin) * o.inner, run, sum);
  sum = sumOverBlock<normThreads>(sum);
  if (threadIdx.x == 0)
    o.sums[blockIdx.x] = sum;
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

static bool isChunked(const KernelCall &call) {
  return call.attributes->integer("chunks") > 0 && call.inputs[0].rank > 0;
}

/// Of many tensors: what the largest needs; those that fit into the queue's workspace together share a launch.
size_t sumSquaresWorkspace(const KernelCall &call) {
  if (isChunked(call))
    return size_t(cost::squareSumWorkspace(call.inputs[0].elements(), call.attributes->integer("chunks")));
  int64_t most = 0;
  for (const TensorView &x : call.inputs)
    most = std::max(most, cost::squareSumWorkspace(x.elements(), 0));
  return size_t(most);
}

static KernelStatus sumSquaresOfChunks(const KernelCall &call) {
  SquaresCut cut(call);
  double *sums = Scratch().take<double>(cut.parts);
  if (!sums)
    return {workspaceTooSmall};
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    SquaresOperands<A> o{call.inputs[0].as<A>(), sums, cut.outer, cut.size, cut.inner, cut.perPart};
    constexpr int vector = vectorOf<A>;
    bool wholeVectors = cut.outer == 1 ? cut.perPart * cut.inner % vector == 0 || cut.parts == 1
                                       : cut.size * cut.inner % vector == 0 && cut.perPart * cut.inner % vector == 0;
    LaunchShape shape(unsigned(cut.parts), normThreads);
    Launches launches;
    wholeVectors &&areAligned(o.x) ? launches.then(shape, squaresOfPart<A, vector>, o)
                                   : launches.then(shape, squaresOfPart<A, 1>, o);
    ChunkRange range = ChunkRange::of(*call.attributes);
    launches.then(LaunchShape(1, 1), addSquaresInTree<A>, sums + range.first, range.count, call.outputs[0].as<A>());
    return launches;
  });
}

KernelStatus sumSquares(const KernelCall &call) {
  if (isChunked(call))
    return sumSquaresOfChunks(call);
  if (queue().workspaceBytes < sumSquaresWorkspace(call))
    return {workspaceTooSmall};
  auto *sums = static_cast<double *>(queue().workspace);
  int64_t mostParts = int64_t(queue().workspaceBytes / sizeof(double));
  return forAccumulatorType(call.inputs[0].dtype, [&](auto zero) -> KernelStatus {
    using A = decltype(zero);
    SquaresBatch<A> batch;
    Launches launches;
    auto flush = [&] {
      launches.then(LaunchShape(unsigned(batch.blocks()), normThreads), squaresOfParts<A>, batch, sums)
          .then(LaunchShape(unsigned(batch.count), normThreads), addSquares<A>, batch, sums);
      batch.clear();
    };
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const TensorView &x = call.inputs[i];
      cost::RowParts cut = cost::squareParts(x.elements());
      if (batch.isFull() || (batch.count > 0 && batch.blocks() + cut.parts > mostParts))
        flush();
      batch.add({x.as<A>(), call.outputs[i].as<A>(), x.elements(), cut.rowsPerPart}, cut.parts);
    }
    flush();
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
