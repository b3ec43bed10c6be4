//===- LayerNorm.cu - layer norm and its gradient ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mean and rstd = 1 / sqrt(variance + epsilon) of each row, y = (x - mean) rstd w + bias.
// With n = (x - mean) rstd, g = dy w: dx = rstd (g - mean(g) - n mean(g n)),
// dw = sum over rows of dy n, dbias = sum over rows of dy.
// With a residual (fusion/ResidualNorms.cpp): x = u + v, written too, rounded as by `add`, and
// read again; or dx + r in the place of dx. The bits are those of the two calls.
// x, y, dy, dx T[rows,d], w, bias T[d], mean, rstd A[rows], dw, dbias A[d]; sums in A,
// the variance from x - mean. A block reads its row three times forward, twice backward,
// all but the first from the first-level cache: 2 and 3 elements of memory traffic for
// each computed, 4 with a residual (5 and 6 in two calls); 80% of the memory's bandwidth
// expected from d = 1024 on. dw and dbias as in RmsNorm.cu.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cuda/NormRows.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

template <typename T> struct LayerNormOperands {
  const T *x, *w, *bias;
  Addend<T> addend;
  T *sum, *y;
  AccumulatorOf<T> *mean, *rstd;
  int64_t width;
  double epsilon;
};

template <typename T, int V, int Threads>
__global__ void __launch_bounds__(Threads) layerNormRow(LayerNormOperands<T> o) {
  using A = AccumulatorOf<T>;
  int64_t row = blockIdx.x, width = o.width;
  const T *x = o.x + row * width, *addend = o.addend.at(row, width);
  T *sums = addend ? o.sum + row * width : nullptr;
  A sum = 0, squares = 0;
  forColumns<V, Threads>(width, [&](int64_t j) {
    Pack<T, V> in = readSum<V>(x, addend, sums, j);
    TGPT_UNROLL
    for (int k = 0; k < V; ++k)
      sum += load(in.at[k]);
  });
  x = addend ? sums : x; // a thread reads what it wrote itself
  A mean = sumOverBlock<Threads>(sum) / A(width);
  forColumns<V, Threads>(width, [&](int64_t j) {
    Pack<T, V> in = loadPack<V>(x + j);
    TGPT_UNROLL
    for (int k = 0; k < V; ++k)
      squares += (load(in.at[k]) - mean) * (load(in.at[k]) - mean);
  });
  A rstd = A(1) / std::sqrt(sumOverBlock<Threads>(squares) / A(width) + A(o.epsilon));
  if (threadIdx.x == 0) {
    o.mean[row] = mean;
    o.rstd[row] = rstd;
  }
  forColumns<V, Threads>(width, [&](int64_t j) {
    Pack<T, V> in = loadPack<V>(x + j), weights = loadPack<V>(o.w + j), biases = loadPack<V>(o.bias + j), out;
    TGPT_UNROLL
    for (int k = 0; k < V; ++k)
      out.at[k] = store<T>((load(in.at[k]) - mean) * rstd * load(weights.at[k]) + load(biases.at[k]));
    storePack(o.y + row * width + j, out);
  });
}

template <typename T> struct LayerNormGradOperands {
  const T *dy, *x, *w;
  const AccumulatorOf<T> *mean, *rstd;
  Addend<T> addend;
  T *dx;
  AccumulatorOf<T> *partial; ///< of each part dw, then dbias
};

/// Of a row: sum of g and of g n, over the block.
template <int V, int Threads, typename T, typename A>
__device__ void sumRow(const T *dy, const T *x, const T *w, A mean, A rstd, int64_t width, A &sumG, A &sumGN) {
  A ownG = 0, ownGN = 0;
  forColumns<V, Threads>(width, [&](int64_t j) {
    Pack<T, V> dys = loadPack<V>(dy + j), xs = loadPack<V>(x + j), ws = loadPack<V>(w + j);
    TGPT_UNROLL
    for (int k = 0; k < V; ++k) {
      A g = load(dys.at[k]) * load(ws.at[k]);
      ownG += g;
      ownGN += g * ((load(xs.at[k]) - mean) * rstd);
    }
  });
  sumG = sumOverBlock<Threads>(ownG);
  sumGN = sumOverBlock<Threads>(ownGN);
}

template <typename T, int V, int Threads, bool InShared>
__global__ void __launch_bounds__(Threads) layerNormGradPart(LayerNormGradOperands<T> o, PartRows rows) {
  using A = AccumulatorOf<T>;
  constexpr bool addsBiasFirst = !InShared && V > 4; // out of registers before the rest: else sm_80 spills one
  TGPT_DYNAMIC_SHARED(A, shared);
  int64_t part = blockIdx.x, width = rows.width, padded = (width + 3) / 4 * 4;
  auto sumsAt = [&](int vector, int64_t j) -> A * {
    if constexpr (InShared)
      return sharedAt<A>(shared, vector * padded + j, V);
    else
      return o.partial + (2 * part + vector) * width + j;
  };
  forColumns<V, Threads>(width, [&](int64_t j) {
    storePack(sumsAt(0, j), Pack<A, V>{});
    storePack(sumsAt(1, j), Pack<A, V>{});
  });
  for (int64_t i = 0; i < rows.rowsPerPart; ++i) {
    int64_t row = rows.row(part, i);
    if (row >= rows.rows)
      break;
    const T *x = o.x + row * width, *dy = o.dy + row * width, *addend = o.addend.at(row, width);
    A mean = o.mean[row], rstd = o.rstd[row], meanG, meanGN;
    sumRow<V, Threads>(dy, x, o.w, mean, rstd, width, meanG, meanGN);
    meanG /= A(width);
    meanGN /= A(width);
    forColumns<V, Threads>(width, [&](int64_t j) {
      Pack<T, V> dys = loadPack<V>(dy + j), xs = loadPack<V>(x + j), ws = loadPack<V>(o.w + j), out;
      Pack<A, V> dw, dbias;
      TGPT_UNROLL
      for (int k = 0; k < V; ++k)
        dbias.at[k] = load(dys.at[k]);
      if constexpr (addsBiasFirst)
        addTo(sumsAt(1, j), dbias);
      TGPT_UNROLL
      for (int k = 0; k < V; ++k) {
        A d = dbias.at[k], n = (load(xs.at[k]) - mean) * rstd;
        dw.at[k] = d * n;
        out.at[k] = store<T>(rstd * (d * load(ws.at[k]) - meanG - n * meanGN));
      }
      addTo(sumsAt(0, j), dw);
      if constexpr (!addsBiasFirst)
        addTo(sumsAt(1, j), dbias);
      storePack(o.dx + row * width + j, addend ? sumOf(loadPack<V>(addend + j), out) : out);
    });
  }
  if constexpr (InShared)
    forColumns<V, Threads>(width, [&](int64_t j) {
      for (int vector = 0; vector < 2; ++vector)
        storePack(o.partial + (2 * part + vector) * width + j, loadPack<V>(sumsAt(vector, j)));
    });
}

KernelStatus layerNorm(const KernelCall &call) {
  const TensorView &x = call.inputs[0];
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    constexpr int vector = vectorOf<T>;
    LayerNormOperands<T> o{x.as<T>(),
                           call.inputs[1].as<T>(),
                           call.inputs[2].as<T>(),
                           addendOf<T>(call, 3),
                           call.outputs.size() > 3 ? call.outputs[3].as<T>() : nullptr,
                           call.outputs[0].as<T>(),
                           call.outputs[1].as<A>(),
                           call.outputs[2].as<A>(),
                           x.dim(-1),
                           call.attributes->real("epsilon")};
    bool aligned = o.width % vector == 0 && areAligned(o.x, o.w, o.bias, o.addend.data, o.sum, o.y),
         narrow = o.width <= mostNarrowWidth;
    LaunchShape shape(unsigned(x.rows()), unsigned(narrow ? narrowThreads : wideThreads));
    if (narrow)
      return aligned ? launch(shape, layerNormRow<T, vector, narrowThreads>, o)
                     : launch(shape, layerNormRow<T, 1, narrowThreads>, o);
    return aligned ? launch(shape, layerNormRow<T, vector, wideThreads>, o)
                   : launch(shape, layerNormRow<T, 1, wideThreads>, o);
  });
}

size_t layerNormGradWorkspace(const KernelCall &call) {
  return partialBytes(call, 2);
}

template <typename T>
static void launchGradParts(Launches &launches, const LayerNormGradOperands<T> &o, const PartRows &rows) {
  constexpr int vector = vectorOf<T>;
  size_t shared = sharedSums<AccumulatorOf<T>>(rows.width, 2);
  bool aligned = rows.width % vector == 0 && areAligned(o.dy, o.x, o.w, o.addend.data, o.dx);
  auto launchWith = [&](auto kernel, int threads, size_t bytes) {
    launches.then(LaunchShape(unsigned(rows.count()), unsigned(threads), bytes), kernel, o, rows);
  };
  if (rows.width <= mostNarrowWidth)
    aligned ? launchWith(layerNormGradPart<T, vector, narrowThreads, true>, narrowThreads, shared)
            : launchWith(layerNormGradPart<T, 1, narrowThreads, true>, narrowThreads, shared);
  else if (shared)
    aligned ? launchWith(layerNormGradPart<T, vector, wideThreads, true>, wideThreads, shared)
            : launchWith(layerNormGradPart<T, 1, wideThreads, true>, wideThreads, shared);
  else
    aligned ? launchWith(layerNormGradPart<T, vector, wideThreads, false>, wideThreads, 0)
            : launchWith(layerNormGradPart<T, 1, wideThreads, false>, wideThreads, 0);
}

KernelStatus layerNormGrad(const KernelCall &call) {
  PartRows rows = partRowsOf(call);
  return forRealType(call.inputs[1].dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    int64_t d = rows.width;
    A *partial = Scratch().take<A>(2 * rows.count() * d);
    if (!partial)
      return {workspaceTooSmall};
    LayerNormGradOperands<T> o{
        call.inputs[0].as<T>(), call.inputs[1].as<T>(), call.inputs[2].as<T>(),  call.inputs[3].as<A>(),
        call.inputs[4].as<A>(), addendOf<T>(call, 5),   call.outputs[0].as<T>(), partial};
    Launches launches;
    launchGradParts(launches, o, rows);
    Parts<A> parts{partial, rows.samples, rows.parts, 2 * d, rows.first, rows.summed};
    launchAddParts(launches, parts, 0, d, call.outputs[1].as<A>(), call.accumulates(1));
    launchAddParts(launches, parts, d, d, call.outputs[2].as<A>(), call.accumulates(2));
    return launches;
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
