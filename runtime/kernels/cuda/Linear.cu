//===- Linear.cu - products that add in a fixed order -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// linear:       y[rows,n]  = x[rows,k] w[n,k]^T + bias[n]
// linear_dgrad: dx[rows,k] = dy[rows,n] w[n,k]
// linear_wgrad: dw[n,k]    = or += dy[rows,n]^T x[rows,k]
// linear_dgrad_sum: dx[rows,k] = sum over i of dy_i[rows,n_i] w_i[n_i,k], one chunk
//               after the other: a chunk has its part of every n_i.
// Every element of the result adds its products one after the other, in A, whatever the
// other dimensions are; with attribute `chunks` the contracted dim is added up in so many
// chunks and these in a tree. That is what --reduction=canonical rests on, and it serves
// f64 and checks of cuBLASLt, which is the fast provider and promises no order.
// A block computes 64 x 64 of the result from slabs of 16 in shared memory, a thread 4 x 4
// of it. Bound by the FMA units without tensor cores: a quarter of their f32 peak expected.//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/cuda/Arithmetic.h"
#include "runtime/kernels/cuda/Kernels.h"
#include "runtime/kernels/cuda/Launch.h"
#include "runtime/kernels/cuda/Tree.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

static constexpr int tile = 64, slab = 16, productThreads = 256;
static constexpr size_t mostTerms = 8;

/// An element is data[outer * outerStride + k * kStride].
template <typename T> struct Operand {
  const T *data;
  int64_t outerStride, kStride;
};

/// One of several products that are added up.
template <typename T> struct Term {
  Operand<T> a, b;
  int64_t k;
};

template <typename T, typename C> struct Product {
  Term<T> terms[mostTerms];
  int count;
  int64_t m, n, chunks;
  C *c;
  const T *bias; ///< null: none
  bool accumulate;
};

/// Elements [outer0, outer0 + tile) x [k0, k0 + slab) to shared[k][outer]; 0 outside.
template <typename T, typename A>
__device__ void loadSlab(Shared<A> shared, const Operand<T> &from, int64_t outer0, int64_t outers, int64_t k0,
                         int64_t kEnd) {
  bool kIsFast = from.kStride == 1;
  TGPT_UNROLL
  for (int i = 0; i < tile * slab / productThreads; ++i) {
    int index = int(threadIdx.x) + i * productThreads;
    int outer = kIsFast ? index / slab : index % tile, k = kIsFast ? index % slab : index / tile;
    bool isInside = outer0 + outer < outers && k0 + k < kEnd;
    shared[k * tile + outer] =
        isInside ? A(load(from.data[(outer0 + outer) * from.outerStride + (k0 + k) * from.kStride])) : A(0);
  }
}

/// sums += the products of one chunk of every term.
template <typename T, typename C, typename A>
__device__ void addChunk(const Product<T, C> &o, int64_t chunk, int64_t row0, int64_t column0, Shared<A> a, Shared<A> b,
                         A (&sums)[4][4]) {
  int ty = int(threadIdx.x) / 16, tx = int(threadIdx.x) % 16;
  for (int t = 0; t < o.count; ++t) {
    const Term<T> &term = o.terms[t];
    int64_t size = term.k / o.chunks, end = (chunk + 1) * size;
    for (int64_t k0 = chunk * size; k0 < end; k0 += slab) {
      loadSlab<T, A>(a, term.a, row0, o.m, k0, end);
      loadSlab<T, A>(b, term.b, column0, o.n, k0, end);
      __syncthreads();
      int depth = int(end - k0 < slab ? end - k0 : slab);
      for (int k = 0; k < depth; ++k) {
        Pack<A, 4> left = loadPack<4>(sharedAt<A>(a, k * tile + ty * 4, 4));
        Pack<A, 4> right = loadPack<4>(sharedAt<A>(b, k * tile + tx * 4, 4));
        TGPT_UNROLL
        for (int i = 0; i < 4; ++i)
          TGPT_UNROLL
        for (int j = 0; j < 4; ++j)
          sums[i][j] += left.at[i] * right.at[j];
      }
      __syncthreads();
    }
  }
}

/// level += the one behind it.
template <typename A> __device__ void addLevel(A (&to)[4][4], const A (&from)[4][4]) {
  TGPT_UNROLL
  for (int i = 0; i < 16; ++i)
    to[i / 4][i % 4] += from[i / 4][i % 4];
}

template <typename T, typename C, bool InTree>
__global__ void __launch_bounds__(productThreads, 1) multiply(Product<T, C> o) {
  using A = AccumulatorOf<T>;
  TGPT_SHARED(A, a, tile * slab);
  TGPT_SHARED(A, b, tile * slab);
  int64_t columnTiles = (o.n + tile - 1) / tile;
  int64_t row0 = blockIdx.x / columnTiles * tile, column0 = blockIdx.x % columnTiles * tile;
  A levels[InTree ? mostSumTreeLevels : 1][4][4] = {};
  if constexpr (InTree) {
    int height = 0;
    for (int64_t chunk = 0; chunk < o.chunks; ++chunk) {
      A sums[4][4] = {};
      addChunk<T, C, A>(o, chunk, row0, column0, a, b, sums);
      for (int i = 0; i < 16; ++i)
        levels[height][i / 4][i % 4] = sums[i / 4][i % 4];
      ++height;
      for (int64_t carry = chunk; carry & 1; carry >>= 1, --height)
        addLevel(levels[height - 2], levels[height - 1]);
    }
    for (; height > 1; --height)
      addLevel(levels[height - 2], levels[height - 1]);
  } else {
    addChunk<T, C, A>(o, 0, row0, column0, a, b, levels[0]);
  }
  int64_t row = row0 + int(threadIdx.x) / 16 * 4, column = column0 + int(threadIdx.x) % 16 * 4;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      if (row + i >= o.m || column + j >= o.n)
        continue;
      C *to = o.c + (row + i) * o.n + column + j;
      A sum = levels[0][i][j];
      if (o.bias)
        sum += load(o.bias[column + j]);
      if (o.accumulate)
        sum += load(*to);
      *to = store<C>(sum);
    }
}

template <typename T, typename C> static KernelStatus launchProduct(Product<T, C> o, const KernelCall &call) {
  ChunkRange range = ChunkRange::of(*call.attributes);
  o.chunks = range.count;
  for (int t = 0; t < o.count; ++t) {
    Term<T> &term = o.terms[t];
    int64_t begin = range.beginIn(term.k);
    term.a.data += begin * term.a.kStride, term.b.data += begin * term.b.kStride;
    term.k = range.endIn(term.k) - begin;
  }
  LaunchShape shape(unsigned(ceilDiv(o.m, tile) * ceilDiv(o.n, tile)), productThreads);
  return o.chunks > 1 ? launch(shape, multiply<T, C, true>, o) : launch(shape, multiply<T, C, false>, o);
}

KernelStatus linear(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &w = call.inputs[1], &y = call.outputs[0];
  int64_t k = x.dim(-1);
  return forRealType(x.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    Product<T, T> o{};
    o.terms[0] = {{x.as<T>(), k, 1}, {w.as<T>(), k, 1}, k};
    o.count = 1, o.m = x.rows(), o.n = y.dim(-1), o.c = y.as<T>();
    o.bias = call.inputs.size() > 2 ? call.inputs[2].as<T>() : nullptr;
    return launchProduct(o, call);
  });
}

/// dx = sum over `count` of dy_i w_i, the inputs being all dy, then all w.
static KernelStatus dgrad(const KernelCall &call, size_t count) {
  const TensorView &dx = call.outputs[0];
  int64_t n = dx.dim(-1);
  return forRealType(dx.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    Product<T, T> o{};
    o.count = int(count), o.m = dx.rows(), o.n = n, o.c = dx.as<T>();
    for (size_t i = 0; i < count; ++i) {
      int64_t k = call.inputs[i].dim(-1);
      o.terms[i] = {{call.inputs[i].as<T>(), k, 1}, {call.inputs[count + i].as<T>(), 1, n}, k};
    }
    return launchProduct(o, call);
  });
}

KernelStatus linearDgrad(const KernelCall &call) {
  return dgrad(call, 1);
}
KernelStatus linearDgradSum(const KernelCall &call) {
  return dgrad(call, call.inputs.size() / 2);
}

KernelStatus linearWgrad(const KernelCall &call) {
  const TensorView &dy = call.inputs[0], &x = call.inputs[1], &dw = call.outputs[0];
  int64_t m = dy.dim(-1), n = x.dim(-1);
  return forRealType(dy.dtype, [&](auto zero) -> KernelStatus {
    using T = decltype(zero);
    using A = AccumulatorOf<T>;
    Product<T, A> o{};
    o.terms[0] = {{dy.as<T>(), 1, m}, {x.as<T>(), 1, n}, dy.rows()};
    o.count = 1, o.m = m, o.n = n, o.c = dw.as<A>(), o.accumulate = call.accumulates(0);
    return launchProduct(o, call);
  });
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET
