//===- AttentionGrad.cpp - gradient of attention ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With p = exp(scale q k^T - lse), D_i = sum over e of do_ie o_ie and
// ds = scale p (do v^T - D): dv = p^T do, dq = ds k, dk = ds^T q.
// do, q, o, dq T[b,s,heads*c], k, v, dk, dv T[b,s,kvHeads*c], lse A[b,heads,s].
// Probabilities are computed again from lse, 64 query rows at a time. Sums in A;
// for bf16, p and ds are rounded to bf16 for their products. The query heads of a
// KV head, and their blocks, are added to dk and dv in order by one thread: the
// same bits on any number of threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/AttentionGeometry.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"
#include "runtime/kernels/cpu/Workspace.h"

#include <atomic>

namespace tgpt::runtime::cpu::TGPT_ISA {

namespace {
template <typename T> struct GradOperands {
  using A = AccumulatorOf<T>;
  explicit GradOperands(const KernelCall &call)
      : dout(call.inputs[0].as<T>()), q(call.inputs[1].as<T>()), k(call.inputs[2].as<T>()), v(call.inputs[3].as<T>()),
        o(call.inputs[4].as<T>()), lse(call.inputs[5].as<A>()), dq(call.outputs[0].as<T>()),
        dk(call.outputs[1].as<T>()), dv(call.outputs[2].as<T>()) {}
  const T *dout, *q, *k, *v, *o;
  const A *lse;
  T *dq, *dk, *dv;
};

/// Working memory of one KV head.
template <typename T> struct GradWorkspace {
  using A = AccumulatorOf<T>;
  explicit GradWorkspace(const AttentionGeometry &g)
      : scores(workspace<A>(WorkspaceUse::Scores, queryBlock * g.sequence)),
        gradients(workspace<A>(WorkspaceUse::ScoreGradients, queryBlock * g.sequence)),
        storedScores(workspace<T>(WorkspaceUse::StoredScores, queryBlock * g.sequence)),
        storedGradients(workspace<T>(WorkspaceUse::StoredGradients, queryBlock * g.sequence)),
        dk(workspace<A>(WorkspaceUse::KeyGradients, g.sequence * g.c)),
        dv(workspace<A>(WorkspaceUse::ValueGradients, g.sequence * g.c)) {}
  bool allocated() const { return scores && gradients && storedScores && storedGradients && dk && dv; }
  A *scores, *gradients;
  T *storedScores, *storedGradients;
  A *dk, *dv;
};
} // namespace

/// Row sum of do * o.
template <typename T> static AccumulatorOf<T> dotRow(const T *dout, const T *o, int64_t c) {
  AccumulatorOf<T> sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t e = 0; e < c; ++e)
    sum += load(dout[e]) * load(o[e]);
  return sum;
}

/// p and ds of one row, rounded to T; 0 for keys that the row does not see.
template <typename T, typename A>
static void gradRow(const A *scores, const A *dp, T *p, T *ds, int64_t visible, int64_t keys, A scale, A lse, A total) {
#pragma omp simd
  for (int64_t j = 0; j < visible; ++j) {
    A probability = exponential(scale * scores[j] - lse);
    p[j] = store<T>(probability);
    ds[j] = store<T>(scale * probability * (dp[j] - total));
  }
  std::fill(p + visible, p + keys, store<T>(A(0)));
  std::fill(ds + visible, ds + keys, store<T>(A(0)));
}

/// Rows [begin, end) of one query head: writes dq, adds to dk and dv.
template <typename T>
static void gradBlock(const AttentionGeometry &g, const GradOperands<T> &x, const GradWorkspace<T> &w,
                      BlockProducts &products, int64_t b, int64_t head, int64_t begin, int64_t end) {
  using A = AccumulatorOf<T>;
  int64_t keys = g.keysOfBlock(end), rows = end - begin, kvBase = g.keyAt(b, head / g.group);
  int64_t first = g.queryAt(b, begin, head);
  GemmShape scores{.transposeB = true, .m = rows, .n = keys, .k = g.c};
  scores.lda = g.width(), scores.ldb = g.kvWidth(), scores.ldc = keys;
  products.multiply(scores, x.q + first, x.k + kvBase, w.scores);
  products.multiply(scores, x.dout + first, x.v + kvBase, w.gradients);
  for (int64_t i = 0; i < rows; ++i) {
    int64_t at = g.queryAt(b, begin + i, head);
    gradRow(w.scores + i * keys, w.gradients + i * keys, w.storedScores + i * keys, w.storedGradients + i * keys,
            g.keysOfRow(begin + i), keys, A(g.scale), x.lse[g.rowAt(b, head, begin + i)],
            dotRow(x.dout + at, x.o + at, g.c));
  }
  GemmShape toKeys{.transposeA = true, .accumulate = true, .m = keys, .n = g.c, .k = rows};
  toKeys.lda = keys, toKeys.ldb = g.width(), toKeys.ldc = g.c;
  products.multiply(toKeys, w.storedScores, x.dout + first, w.dv);
  products.multiply(toKeys, w.storedGradients, x.q + first, w.dk);
  GemmShape toQueries{.m = rows, .n = g.c, .k = keys, .lda = keys, .ldb = g.kvWidth(), .ldc = g.width()};
  products.multiply(toQueries, w.storedGradients, x.k + kvBase, x.dq + first);
}

template <typename T> static void storeRows(const AttentionGeometry &g, const AccumulatorOf<T> *from, T *to) {
  for (int64_t j = 0; j < g.sequence; ++j)
#pragma omp simd
    for (int64_t e = 0; e < g.c; ++e)
      to[j * g.kvWidth() + e] = store<T>(from[j * g.c + e]);
}

template <typename T>
static KernelStatus gradKvHead(const AttentionGeometry &g, const GradOperands<T> &x, DType dtype, int64_t b,
                               int64_t kvHead) {
  GradWorkspace<T> w(g);
  if (!w.allocated())
    return {workspaceExhausted};
  std::fill(w.dk, w.dk + g.sequence * g.c, 0);
  std::fill(w.dv, w.dv + g.sequence * g.c, 0);
  BlockProducts products(dtype);
  for (int64_t head = kvHead * g.group; head < (kvHead + 1) * g.group; ++head)
    for (int64_t begin = 0; begin < g.sequence; begin += queryBlock)
      gradBlock(g, x, w, products, b, head, begin, std::min(g.sequence, begin + queryBlock));
  storeRows(g, w.dk, x.dk + g.keyAt(b, kvHead));
  storeRows(g, w.dv, x.dv + g.keyAt(b, kvHead));
  return products.status();
}

KernelStatus attentionGrad(const KernelCall &call) {
  AttentionGeometry g(call, call.inputs[1], call.inputs[2]);
  DType dtype = call.inputs[1].dtype;
  return forRealType(dtype, [&](auto zero) -> KernelStatus {
    GradOperands<decltype(zero)> operands(call);
    std::atomic<const char *> error = nullptr;
    forChunks(g.batch * g.kvHeads, 1, [&](int64_t item, int64_t) {
      if (KernelStatus s = gradKvHead(g, operands, dtype, item / g.kvHeads, item % g.kvHeads); !s.ok())
        error = s.error;
    });
    return {error};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
