//===- Attention.cpp - attention --------------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// o = softmax(scale q k^T + mask) v; lse = log sum exp of the scaled, masked row. With
// dropout the probabilities are multiplied by the factors of AttentionMask.h.
// q, o T[b,s,heads*c], k, v T[b,s,kvHeads*c], lse A[b,heads,s].
// For each KV head, blocks of query rows of all its query heads: scores against the
// keys the block can see (a product), softmax of each row, then the product with v.
// Scores of one block are all that is ever stored. Sums in A; for bf16 the
// probabilities are rounded to bf16 for the product with v. Each KV head is computed
// by one thread: the same bits on any number of threads. With attribute `chunks` = 1
// the products are our own, which do not depend on how many heads there are here.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/AttentionGeometry.h"
#include "runtime/kernels/cpu/AttentionMask.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"
#include "runtime/kernels/cpu/RowSoftmax.h"
#include "runtime/kernels/cpu/Workspace.h"

#include <atomic>

namespace tgpt::runtime::cpu::TGPT_ISA {

namespace {
template <typename T> struct AttentionOperands {
  using A = AccumulatorOf<T>;
  explicit AttentionOperands(const KernelCall &call)
      : q(call.inputs[0].as<T>()), k(call.inputs[1].as<T>()), v(call.inputs[2].as<T>()), o(call.outputs[0].as<T>()),
        lse(call.outputs[1].as<A>()), mask(call, 3) {}
  const T *q, *k, *v;
  T *o;
  A *lse;
  AttentionMask mask;
};
} // namespace

/// scores[0,visible) become exp(scale score - max), times their factor, rounded to T;
/// the rest up to `keys` become 0. Returns the sum of the exponentials, and its log in
/// lse. `factors` is null without dropout.
template <typename T, typename A>
static A softmaxRow(const A *scores, T *probabilities, int64_t visible, int64_t keys, A scale, A *lse,
                    const A *factors) {
  A most = maximumOf(scores, visible);
  if (scale < 0) // the largest scaled score is then the smallest one
    for (int64_t j = 0; j < visible; ++j)
      most = scores[j] < most ? scores[j] : most;
  A sum = 0, shift = scale * most;
  if (factors) {
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < visible; ++j) {
      A p = exponential(scale * scores[j] - shift);
      sum += p;
      probabilities[j] = store<T>(p * factors[j]);
    }
  } else {
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < visible; ++j) {
      A p = exponential(scale * scores[j] - shift);
      sum += p;
      probabilities[j] = store<T>(p);
    }
  }
  std::fill(probabilities + visible, probabilities + keys, store<T>(A(0)));
  *lse = shift + std::log(sum);
  return sum;
}

namespace {
/// Working memory of one KV head.
template <typename T> struct AttentionWorkspace {
  using A = AccumulatorOf<T>;
  explicit AttentionWorkspace(const AttentionGeometry &g) {
    int64_t stacked = rowsOfBlock(g) * g.group, elements = stacked * scoreStride(g.sequence);
    scores = workspace<A>(WorkspaceUse::Scores, elements);
    probabilities = workspace<T>(WorkspaceUse::StoredScores, elements);
    q = workspace<T>(WorkspaceUse::StackedQueries, stacked * g.c);
    o = workspace<A>(WorkspaceUse::BlockOutput, stacked * g.c);
    sums = workspace<A>(WorkspaceUse::RowSums, stacked);
    factors = AttentionMask::rowOf<A>(g);
  }
  bool allocated() const { return scores && probabilities && q && o && sums && factors; }
  A *scores, *o, *sums, *factors;
  T *probabilities, *q;
};
} // namespace

template <typename T, typename A> static void storeScaled(const A *from, T *to, int64_t n, A factor) {
#pragma omp simd
  for (int64_t e = 0; e < n; ++e)
    to[e] = store<T>(from[e] * factor);
}

template <typename T>
static void attendBlock(const AttentionGeometry &g, const AttentionOperands<T> &x, const AttentionWorkspace<T> &w,
                        BlockProducts &products, const QueryBlock &block) {
  using A = AccumulatorOf<T>;
  int64_t keys = keysOfBlock(g, block), kv = g.keyAt(block.batch, block.group);
  int64_t stacked = block.rows * g.group, stride = scoreStride(keys);
  stackRows(g, block, x.q, w.q);
  GemmShape qk{.transposeB = true, .m = stacked, .n = keys, .k = g.c, .lda = g.c, .ldb = g.kvWidth(), .ldc = stride};
  products.multiply(qk, w.q, x.k + kv, w.scores);
  forStackedRows(g, block, [&](int64_t head, int64_t row, int64_t i) {
    if (x.mask.isActive())
      x.mask.fill(block.batch, head, row, g.keysOfRow(row), w.factors);
    w.sums[i] = softmaxRow(w.scores + i * stride, w.probabilities + i * stride, g.keysOfRow(row), keys, A(g.scale),
                           x.lse + g.rowAt(block.batch, head, row), x.mask.isActive() ? w.factors : nullptr);
  });
  GemmShape pv{.m = stacked, .n = g.c, .k = keys, .lda = stride, .ldb = g.kvWidth(), .ldc = g.c};
  products.multiply(pv, w.probabilities, x.v + kv, w.o);
  forStackedRows(g, block, [&](int64_t head, int64_t row, int64_t i) {
    storeScaled(w.o + i * g.c, x.o + g.queryAt(block.batch, row, head), g.c, A(1) / w.sums[i]);
  });
}

template <typename T>
static KernelStatus attendKvHead(const AttentionGeometry &g, const AttentionOperands<T> &x, BlockProducts products,
                                 int64_t item) {
  AttentionWorkspace<T> w(g);
  if (!w.allocated())
    return {workspaceExhausted};
  for (int64_t begin = 0, step = rowsOfBlock(g); begin < g.sequence; begin += step)
    attendBlock(g, x, w, products, {item / g.kvHeads, item % g.kvHeads, begin, std::min(step, g.sequence - begin)});
  return products.status();
}

KernelStatus attention(const KernelCall &call) {
  AttentionGeometry g(call, call.inputs[0], call.inputs[1]);
  DType dtype = call.inputs[0].dtype;
  return forRealType(dtype, [&](auto zero) -> KernelStatus {
    AttentionOperands<decltype(zero)> operands(call);
    std::atomic<const char *> error = nullptr;
    forChunks(g.batch * g.kvHeads, 1, [&](int64_t item, int64_t) {
      if (KernelStatus status = attendKvHead(g, operands, BlockProducts(call, dtype), item); !status.ok())
        error = status.error;
    });
    return {error};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
