//===- AttentionGrad.cpp - gradient of attention ----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With p = exp(scale q k^T - lse), D_i = sum over e of do_ie o_ie and
// ds = scale p (do v^T - D): dv = p^T do, dq = ds k, dk = ds^T q. With dropout
// ds = scale p (m (do v^T) - D) and dv = (m p)^T do, m being the factors of
// AttentionMask.h.
// do, q, o, dq T[b,s,heads*c], k, v, dk, dv T[b,s,kvHeads*c], lse A[b,heads,s].
// Probabilities are computed again from lse, a block of query rows of all query
// heads of a KV head at a time. Sums in A; for bf16, p and ds are rounded to bf16
// for their products. The blocks of a KV head are added to dk and dv in order by
// one thread: the same bits on any number of threads. With attribute `chunks` products
// add in order, and the query heads are cut into so many equal chunks, as many for every
// KV head, whose dk and dv are added in a tree (api/SumTree.h).
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/api/SumTree.h"
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/AttentionGeometry.h"
#include "runtime/kernels/cpu/AttentionMask.h"
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
        dk(call.outputs[1].as<T>()), dv(call.outputs[2].as<T>()), mask(call, 6) {}
  const T *dout, *q, *k, *v, *o;
  const A *lse;
  T *dq, *dk, *dv;
  AttentionMask mask;
};

/// Working memory of one KV head.
template <typename T> struct GradWorkspace {
  using A = AccumulatorOf<T>;
  explicit GradWorkspace(const AttentionGeometry &g) {
    int64_t stacked = rowsOfBlock(g) * g.group, elements = stacked * scoreStride(g.sequence);
    scores = workspace<A>(WorkspaceUse::Scores, elements);
    dp = workspace<A>(WorkspaceUse::ScoreGradients, elements);
    p = workspace<T>(WorkspaceUse::StoredScores, elements);
    ds = workspace<T>(WorkspaceUse::StoredGradients, elements);
    q = workspace<T>(WorkspaceUse::StackedQueries, stacked * g.c);
    dout = workspace<T>(WorkspaceUse::StackedOutputs, stacked * g.c);
    dq = workspace<T>(WorkspaceUse::BlockOutput, stacked * g.c);
    dk = workspace<A>(WorkspaceUse::KeyGradients, sumTreeLevels(g.parts) * g.sequence * g.c);
    dv = workspace<A>(WorkspaceUse::ValueGradients, sumTreeLevels(g.parts) * g.sequence * g.c);
    factors = AttentionMask::rowOf<A>(g);
  }
  bool allocated() const { return scores && dp && p && ds && q && dout && dq && dk && dv && factors; }
  A *scores, *dp, *factors;
  T *p, *ds, *q, *dout, *dq;
  A *dk, *dv; ///< partial sums at hand, one behind the other
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

/// p (times its factor) and ds of one row, rounded to T; 0 for keys that the row does
/// not see. `factors` is null without dropout.
template <typename T, typename A>
static void gradRow(const A *scores, const A *dp, T *p, T *ds, int64_t visible, int64_t keys, A scale, A lse, A total,
                    const A *factors) {
  if (factors) {
#pragma omp simd
    for (int64_t j = 0; j < visible; ++j) {
      A probability = exponential(scale * scores[j] - lse);
      p[j] = store<T>(probability * factors[j]);
      ds[j] = store<T>(scale * probability * (factors[j] * dp[j] - total));
    }
  } else {
#pragma omp simd
    for (int64_t j = 0; j < visible; ++j) {
      A probability = exponential(scale * scores[j] - lse);
      p[j] = store<T>(probability);
      ds[j] = store<T>(scale * probability * (dp[j] - total));
    }
  }
  std::fill(p + visible, p + keys, store<T>(A(0)));
  std::fill(ds + visible, ds + keys, store<T>(A(0)));
}

/// Writes the block's dq, adds to `dk` and `dv`.
template <typename T>
static void gradBlock(const AttentionGeometry &g, const GradOperands<T> &x, const GradWorkspace<T> &w,
                      BlockProducts &products, const QueryBlock &block, AccumulatorOf<T> *dk, AccumulatorOf<T> *dv) {
  using A = AccumulatorOf<T>;
  int64_t keys = keysOfBlock(g, block), kv = g.keyAt(block.batch, block.group);
  int64_t stacked = block.rows * g.group, stride = scoreStride(keys);
  stackRows(g, block, x.q, w.q);
  stackRows(g, block, x.dout, w.dout);
  GemmShape scores{.transposeB = true, .m = stacked, .n = keys, .k = g.c};
  scores.lda = g.c, scores.ldb = g.kvWidth(), scores.ldc = stride;
  products.multiply(scores, w.q, x.k + kv, w.scores);
  products.multiply(scores, w.dout, x.v + kv, w.dp);
  forStackedRows(g, block, [&](int64_t head, int64_t row, int64_t i) {
    int64_t at = i * stride;
    if (x.mask.isActive())
      x.mask.fill(block.batch, head, row, g.keysOfRow(row), w.factors);
    gradRow(w.scores + at, w.dp + at, w.p + at, w.ds + at, g.keysOfRow(row), keys, A(g.scale),
            x.lse[g.rowAt(block.batch, head, row)],
            dotRow(w.dout + i * g.c, x.o + g.queryAt(block.batch, row, head), g.c),
            x.mask.isActive() ? w.factors : nullptr);
  });
  GemmShape toKeys{.transposeA = true, .accumulate = true, .m = keys, .n = g.c, .k = stacked};
  toKeys.lda = stride, toKeys.ldb = g.c, toKeys.ldc = g.c;
  products.multiply(toKeys, w.p, w.dout, dv);
  products.multiply(toKeys, w.ds, w.q, dk);
  GemmShape toQueries{.m = stacked, .n = g.c, .k = keys, .lda = stride, .ldb = g.kvWidth(), .ldc = g.c};
  products.multiply(toQueries, w.ds, x.k + kv, w.dq);
  forStackedRows(g, block, [&](int64_t head, int64_t row, int64_t i) {
    std::copy_n(w.dq + i * g.c, g.c, x.dq + g.queryAt(block.batch, row, head));
  });
}

template <typename T> static void storeRows(const AttentionGeometry &g, const AccumulatorOf<T> *from, T *to) {
  for (int64_t j = 0; j < g.sequence; ++j)
#pragma omp simd
    for (int64_t e = 0; e < g.c; ++e)
      to[j * g.kvWidth() + e] = store<T>(from[j * g.c + e]);
}

/// Adds the level behind to a level of `size` elements.
template <typename A> static void addNext(A *level, int64_t size) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i)
    level[i] += level[size + i];
}

template <typename T>
static KernelStatus gradKvHead(const AttentionGeometry &g, const GradOperands<T> &x, BlockProducts products, int64_t b,
                               int64_t kvHead, ChunkRange range) {
  GradWorkspace<T> w(g);
  if (!w.allocated())
    return {workspaceExhausted};
  int64_t size = g.sequence * g.c, firstGroup = kvHead * g.parts;
  auto addPart = [&](int64_t part, int64_t level) __attribute__((noinline)) { // one copy of the code: the same bits
    std::fill_n(w.dk + level * size, size, 0);
    std::fill_n(w.dv + level * size, size, 0);
    for (int64_t begin = 0, step = rowsOfBlock(g); begin < g.sequence; begin += step)
      gradBlock(g, x, w, products, {b, firstGroup + part, begin, std::min(step, g.sequence - begin)},
                w.dk + level * size, w.dv + level * size);
  };
  for (int64_t part = 0; part < g.parts; ++part) // dq is whole
    if (!range.holds(part, g.parts))
      addPart(part, 0);
  sumInTree(
      range.count, [&](int64_t i, int64_t level) { addPart(range.first + i, level); },
      [&](int64_t level) {
        addNext(w.dk + level * size, size);
        addNext(w.dv + level * size, size);
      });
  storeRows(g, w.dk, x.dk + g.keyAt(b, firstGroup));
  storeRows(g, w.dv, x.dv + g.keyAt(b, firstGroup));
  return products.status();
}

KernelStatus attentionGrad(const KernelCall &call) {
  AttentionGeometry g(call, call.inputs[1], call.inputs[2]);
  if (int64_t chunks = call.attributes->integer("chunks"); chunks > 0)
    g.cutGroups(chunks / g.kvHeads);
  ChunkRange range = ChunkRange::of(*call.attributes); // all, or some of one KV head's
  if (range.isAll())
    range = {0, g.parts, g.parts};
  DType dtype = call.inputs[1].dtype;
  return forRealType(dtype, [&](auto zero) -> KernelStatus {
    GradOperands<decltype(zero)> operands(call);
    std::atomic<const char *> error = nullptr;
    forChunks(g.batch * g.kvHeads, 1, [&](int64_t item, int64_t) {
      BlockProducts products(call, dtype);
      if (KernelStatus s = gradKvHead(g, operands, products, item / g.kvHeads, item % g.kvHeads, range); !s.ok())
        error = s.error;
    });
    return {error};
  });
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
