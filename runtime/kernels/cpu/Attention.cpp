//===- Attention.cpp - attention --------------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// o = softmax(scale q k^T + mask) v; lse = log sum exp of the scaled, masked row.
// q, o T[b,s,heads*c], k, v T[b,s,kvHeads*c], lse A[b,heads,s].
// For each head, blocks of 64 query rows: scores against the keys the block can
// see (a product), softmax of each row in place, then the product with v. Scores
// of one block are all that is ever stored. Sums in A; for bf16 the probabilities
// are rounded to bf16 for the product with v. Each head is computed by one
// thread: the same bits on any number of threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/AttentionGeometry.h"
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
        lse(call.outputs[1].as<A>()) {}
  const T *q, *k, *v;
  T *o;
  A *lse;
};
} // namespace

/// scores[0,visible) become exp(scale score - max), rounded to T; the rest up to
/// `keys` become 0. Returns the sum, and the log of the sum of exponentials in lse.
template <typename T, typename A>
static A softmaxRow(const A *scores, T *probabilities, int64_t visible, int64_t keys, A scale, A *lse) {
  A most = maximumOf(scores, visible);
  if (scale < 0) // the largest scaled score is then the smallest one
    for (int64_t j = 0; j < visible; ++j)
      most = scores[j] < most ? scores[j] : most;
  A sum = 0, shift = scale * most;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < visible; ++j) {
    A p = exponential(scale * scores[j] - shift);
    sum += p;
    probabilities[j] = store<T>(p);
  }
  std::fill(probabilities + visible, probabilities + keys, store<T>(A(0)));
  *lse = shift + std::log(sum);
  return sum;
}

/// Rows [begin, end) of one head.
template <typename T>
static KernelStatus attendBlock(const AttentionGeometry &g, const AttentionOperands<T> &x, DType dtype, int64_t b,
                                int64_t head, int64_t begin, int64_t end) {
  using A = AccumulatorOf<T>;
  int64_t keys = g.keysOfBlock(end), kvBase = g.keyAt(b, head / g.group), rows = end - begin;
  A *scores = workspace<A>(WorkspaceUse::Scores, queryBlock * g.sequence);
  T *stored = workspace<T>(WorkspaceUse::StoredScores, queryBlock * g.sequence);
  A *block = workspace<A>(WorkspaceUse::BlockOutput, queryBlock * g.c);
  if (!scores || !stored || !block)
    return {workspaceExhausted};
  BlockProducts products(dtype);
  GemmShape qk{.transposeB = true, .m = rows, .n = keys, .k = g.c, .lda = g.width(), .ldb = g.kvWidth(), .ldc = keys};
  products.multiply(qk, x.q + g.queryAt(b, begin, head), x.k + kvBase, scores);
  A sums[queryBlock];
  for (int64_t i = 0; i < rows; ++i)
    sums[i] = softmaxRow(scores + i * keys, stored + i * keys, g.keysOfRow(begin + i), keys, A(g.scale),
                         x.lse + g.rowAt(b, head, begin + i));
  GemmShape pv{.m = rows, .n = g.c, .k = keys, .lda = keys, .ldb = g.kvWidth(), .ldc = g.c};
  products.multiply(pv, stored, x.v + kvBase, block);
  for (int64_t i = 0; i < rows; ++i) {
    T *o = x.o + g.queryAt(b, begin + i, head);
    A factor = A(1) / sums[i];
#pragma omp simd
    for (int64_t e = 0; e < g.c; ++e)
      o[e] = store<T>(block[i * g.c + e] * factor);
  }
  return products.status();
}

KernelStatus attention(const KernelCall &call) {
  AttentionGeometry g(call, call.inputs[0], call.inputs[1]);
  DType dtype = call.inputs[0].dtype;
  return forRealType(dtype, [&](auto zero) -> KernelStatus {
    AttentionOperands<decltype(zero)> operands(call);
    std::atomic<const char *> error = nullptr;
    forChunks(g.batch * g.heads, 1, [&](int64_t item, int64_t) {
      for (int64_t begin = 0; begin < g.sequence; begin += queryBlock) {
        int64_t end = std::min(g.sequence, begin + queryBlock);
        if (KernelStatus s = attendBlock(g, operands, dtype, item / g.heads, item % g.heads, begin, end); !s.ok())
          error = s.error;
      }
    });
    return {error};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
