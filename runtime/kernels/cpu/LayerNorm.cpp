//===- LayerNorm.cpp - layer norm and its gradient --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = (x - mean) rstd w + bias, rstd = 1 / sqrt(biased variance + epsilon).
// With n = (x - mean) rstd, g = dy w: dx = rstd (g - mean(g) - n mean(g n)),
// dw = sum over rows of dy n, dbias = sum over rows of dy.
// x, y, dy, dx T[rows,d], w, bias T[d], mean, rstd A[rows], dw, dbias A[d]; sums
// in A, variance in a second pass over the row. dw and dbias are summed per chunk
// of rows, chunks in order: the same bits on any number of threads. With attribute
// `chunks`, dw and dbias are [samples,d]: of each sample the tree over so many chunks of
// positions.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/PartialSums.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

namespace {
template <typename A> struct Moments { A mean, rstd; };
} // namespace

template <typename T> static Moments<AccumulatorOf<T>> momentsOfRow(const T *x, int64_t d, double epsilon) {
  using A = AccumulatorOf<T>;
  A sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < d; ++j)
    sum += load(x[j]);
  A mean = sum / A(d);
#pragma omp simd reduction(+ : squares)
  for (int64_t j = 0; j < d; ++j) {
    A centred = load(x[j]) - mean;
    squares += centred * centred;
  }
  return {mean, A(1) / std::sqrt(squares / A(d) + A(epsilon))};
}

template <typename T, typename A>
static void normaliseRow(const T *x, const T *w, const T *bias, T *y, int64_t d, A mean, A rstd) {
#pragma omp simd
  for (int64_t j = 0; j < d; ++j)
    y[j] = store<T>((load(x[j]) - mean) * rstd * load(w[j]) + load(bias[j]));
}

KernelStatus layerNorm(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  int64_t d = x.dim(-1);
  double epsilon = call.attributes->real("epsilon");
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    const T *w = call.inputs[1].as<T>(), *bias = call.inputs[2].as<T>();
    forChunks(x.rows(), rowsPerChunk(d), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        auto [mean, rstd] = momentsOfRow(x.as<T>() + i * d, d, epsilon);
        normaliseRow(x.as<T>() + i * d, w, bias, y.as<T>() + i * d, d, mean, rstd);
        call.outputs[1].as<A>()[i] = mean;
        call.outputs[2].as<A>()[i] = rstd;
      }
    });
    return {};
  });
}

/// One row of dx; adds the row's part to dw and dbias.
template <typename T, typename A>
static void gradRow(const T *dy, const T *x, const T *w, A mean, A rstd, T *dx, A *dw, A *dbias, int64_t d) {
  A sumG = 0, sumGN = 0;
#pragma omp simd reduction(+ : sumG, sumGN)
  for (int64_t j = 0; j < d; ++j) {
    A g = load(dy[j]) * load(w[j]);
    sumG += g;
    sumGN += g * ((load(x[j]) - mean) * rstd);
  }
  A meanG = sumG / A(d), meanGN = sumGN / A(d);
#pragma omp simd
  for (int64_t j = 0; j < d; ++j) {
    A n = (load(x[j]) - mean) * rstd, dyj = load(dy[j]);
    dw[j] += dyj * n;
    dbias[j] += dyj;
    dx[j] = store<T>(rstd * (dyj * load(w[j]) - meanG - n * meanGN));
  }
}

KernelStatus layerNormGrad(const KernelCall &call) {
  const TensorView &dy = call.inputs[0], &x = call.inputs[1], &dx = call.outputs[0];
  int64_t d = x.dim(-1);
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    const A *mean = call.inputs[3].as<A>(), *rstd = call.inputs[4].as<A>();
    auto row = [&](int64_t i, A *own) {
      gradRow(dy.as<T>() + i * d, x.as<T>() + i * d, call.inputs[2].as<T>(), mean[i], rstd[i], dx.as<T>() + i * d, own,
              own + d, d);
    };
    if (int64_t chunks = call.attributes->integer("chunks"); chunks > 0) {
      int64_t chunk = x.dim(1) / chunks;
      return SampleSums<A>(d, 2, ChunkRange::of(*call.attributes))
          .forEachSample(
              x.dim(0),
              [&](int64_t sample, int64_t c, A *own) { forRange((sample * chunks + c) * chunk, chunk, row, own); },
              [&](int64_t sample, const A *sums) {
                std::copy_n(sums, d, call.outputs[1].as<A>() + sample * d);
                std::copy_n(sums + d, d, call.outputs[2].as<A>() + sample * d);
              });
    }
    PartialSums<A> sums(x.rows(), d, 2);
    if (!sums.allocated())
      return {workspaceExhausted};
    sums.forEachChunk([&](int64_t begin, int64_t end, A *own) {
      for (int64_t i = begin; i < end; ++i)
        row(i, own);
    });
    sums.total(0, call.outputs[1].as<A>(), call.accumulates(1));
    sums.total(1, call.outputs[2].as<A>(), call.accumulates(2));
    return {};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
