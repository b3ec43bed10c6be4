//===- RmsRow.h - root mean square norms of rows and heads ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels that the norm of rows and that of heads share. A row is `width` elements.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_RMSROW_H
#define TGPT_RUNTIME_KERNELS_CUDA_RMSROW_H

#include "runtime/kernels/cuda/NormRows.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

/// Of x, or of x + addend, which then goes to `sum`.
template <int V, int Threads, typename T>
__device__ AccumulatorOf<T> rstdOfRow(const T *x, const T *addend, T *sum, int64_t width, AccumulatorOf<T> epsilon) {
  using A = AccumulatorOf<T>;
  A squares = 0;
  forColumns<V, Threads>(width, [&](int64_t j) {
    Pack<T, V> in = readSum<V>(x, addend, sum, j);
    TGPT_UNROLL
    for (int k = 0; k < V; ++k)
      squares += load(in.at[k]) * load(in.at[k]);
  });
  return A(1) / std::sqrt(sumOverBlock<Threads>(squares) / A(width) + epsilon);
}

template <typename T> struct RmsOperands {
  const T *x, *w;
  Addend<T> addend;
  T *sum, *y;
  AccumulatorOf<T> *rstd; ///< may be null
  int64_t width;
  double epsilon;
};

/// y = x rstd w.
template <typename T, int V, int Threads> __global__ void __launch_bounds__(Threads) rmsRow(RmsOperands<T> o) {
  using A = AccumulatorOf<T>;
  int64_t row = blockIdx.x, width = o.width;
  const T *x = o.x + row * width, *addend = o.addend.at(row, width);
  T *sums = addend ? o.sum + row * width : nullptr;
  A r = rstdOfRow<V, Threads>(x, addend, sums, width, A(o.epsilon));
  x = addend ? sums : x; // a thread reads what it wrote itself
  if (o.rstd && threadIdx.x == 0)
    o.rstd[row] = r;
  forColumns<V, Threads>(width, [&](int64_t j) {
    Pack<T, V> in = loadPack<V>(x + j), weights = loadPack<V>(o.w + j), out;
    TGPT_UNROLL
    for (int k = 0; k < V; ++k)
      out.at[k] = store<T>(load(in.at[k]) * r * load(weights.at[k]));
    storePack(o.y + row * width + j, out);
  });
}

template <typename T> struct RmsGradOperands {
  const T *dy, *x, *w;
  const AccumulatorOf<T> *rstd; ///< null: computed anew
  Addend<T> addend;
  T *dx;
  AccumulatorOf<T> *partial;
  double epsilon;
};

template <typename T, int V, int Threads, bool InShared>
__global__ void __launch_bounds__(Threads, 2) rmsGradPart(RmsGradOperands<T> o, PartRows rows) {
  using A = AccumulatorOf<T>;
  TGPT_DYNAMIC_SHARED(A, shared);
  int64_t part = blockIdx.x, width = rows.width;
  auto sumsAt = [&](int64_t j) -> A * {
    if constexpr (InShared)
      return sharedAt<A>(shared, j, V);
    else
      return o.partial + part * width + j;
  };
  forColumns<V, Threads>(width, [&](int64_t j) { storePack(sumsAt(j), Pack<A, V>{}); });
  for (int64_t i = 0; i < rows.rowsPerPart; ++i) {
    int64_t row = rows.row(part, i);
    if (row >= rows.rows)
      break;
    const T *x = o.x + row * width, *dy = o.dy + row * width, *addend = o.addend.at(row, width);
    A r = o.rstd ? o.rstd[row] : rstdOfRow<V, Threads, T>(x, nullptr, nullptr, width, A(o.epsilon)), dot = 0;
    forColumns<V, Threads>(width, [&](int64_t j) {
      Pack<T, V> dys = loadPack<V>(dy + j), xs = loadPack<V>(x + j), ws = loadPack<V>(o.w + j);
      TGPT_UNROLL
      for (int k = 0; k < V; ++k)
        dot += load(dys.at[k]) * load(ws.at[k]) * load(xs.at[k]);
    });
    A slope = r * r * sumOverBlock<Threads>(dot) / A(width);
    forColumns<V, Threads>(width, [&](int64_t j) {
      Pack<T, V> dys = loadPack<V>(dy + j), xs = loadPack<V>(x + j), ws = loadPack<V>(o.w + j), out;
      Pack<A, V> dw;
      TGPT_UNROLL
      for (int k = 0; k < V; ++k) {
        A d = load(dys.at[k]), v = load(xs.at[k]);
        dw.at[k] = d * v * r;
        out.at[k] = store<T>(r * (d * load(ws.at[k]) - v * slope));
      }
      addTo(sumsAt(j), dw);
      storePack(o.dx + row * width + j, addend ? sumOf(loadPack<V>(addend + j), out) : out);
    });
  }
  if constexpr (InShared)
    forColumns<V, Threads>(width, [&](int64_t j) { storePack(o.partial + part * width + j, loadPack<V>(sumsAt(j))); });
}

/// The part kernel, then the tree over the parts into dw. `rstd`: given, or null.
template <typename T>
KernelStatus launchRmsGrad(const KernelCall &call, const AccumulatorOf<T> *rstd, Addend<T> addend, double epsilon) {
  using A = AccumulatorOf<T>;
  constexpr int vector = vectorOf<T>;
  PartRows rows = partRowsOf(call);
  A *partial = Scratch().take<A>(rows.count() * rows.width);
  if (!partial)
    return {workspaceTooSmall};
  RmsGradOperands<T> operands{call.inputs[0].as<T>(),
                              call.inputs[1].as<T>(),
                              call.inputs[2].as<T>(),
                              rstd,
                              addend,
                              call.outputs[0].as<T>(),
                              partial,
                              epsilon};
  size_t shared = sharedSums<A>(rows.width, 1);
  bool aligned = rows.width % vector == 0 && areAligned(operands.dy, operands.x, operands.w, addend.data, operands.dx);
  Launches launches;
  auto launchWith = [&](auto kernel, int threads, size_t bytes) {
    launches.then(LaunchShape(unsigned(rows.count()), unsigned(threads), bytes), kernel, operands, rows);
  };
  if (rows.width <= mostNarrowWidth)
    aligned ? launchWith(rmsGradPart<T, vector, narrowThreads, true>, narrowThreads, shared)
            : launchWith(rmsGradPart<T, 1, narrowThreads, true>, narrowThreads, shared);
  else if (shared)
    aligned ? launchWith(rmsGradPart<T, vector, wideThreads, true>, wideThreads, shared)
            : launchWith(rmsGradPart<T, 1, wideThreads, true>, wideThreads, shared);
  else
    aligned ? launchWith(rmsGradPart<T, vector, wideThreads, false>, wideThreads, 0)
            : launchWith(rmsGradPart<T, 1, wideThreads, false>, wideThreads, 0);
  launchAddParts(launches, {partial, rows.samples, rows.parts, rows.width, rows.first, rows.summed}, 0, rows.width,
                 call.outputs[1].as<A>(), call.accumulates(1));
  return launches;
}

template <typename T> KernelStatus launchRms(const RmsOperands<T> &o, int64_t rows) {
  constexpr int vector = vectorOf<T>;
  bool aligned = o.width % vector == 0 && areAligned(o.x, o.w, o.addend.data, o.sum, o.y),
       narrow = o.width <= mostNarrowWidth;
  LaunchShape shape(unsigned(rows), unsigned(narrow ? narrowThreads : wideThreads));
  if (narrow)
    return aligned ? launch(shape, rmsRow<T, vector, narrowThreads>, o) : launch(shape, rmsRow<T, 1, narrowThreads>, o);
  return aligned ? launch(shape, rmsRow<T, vector, wideThreads>, o) : launch(shape, rmsRow<T, 1, wideThreads>, o);
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_RMSROW_H
