//===- ChunkedCases.cpp - calls with sums in chunks -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/CaseBuilder.h"

#include <cmath>

using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {
/// Samples b, positions s, width d, and n of what the width goes to; sums are in `chunks` chunks.
struct ChunkedSize {
  int64_t b, s, d, n, chunks;

  int64_t headDim() const { return d / chunks; }
};
} // namespace

static void addProducts(Cases &cases, DType t, ChunkedSize size) {
  auto [b, s, d, n, chunks] = size;
  CaseBuilder(cases, "linear", t).in({b, s, d}).in({n, d}).in({n}).out({b, s, n}).integer("chunks", chunks);
  CaseBuilder(cases, "linear_dgrad", t).in({b, s, d}).in({d, n}).out({b, s, n}).integer("chunks", chunks);
  for (int64_t accumulate : {0, 1}) {
    CaseBuilder(cases, "linear_wgrad", t)
        .in({b, s, n})
        .in({b, s, d})
        .outA({n, d})
        .integer("chunks", b)
        .integer("accumulate", accumulate);
    CaseBuilder(cases, "sum_leading", t).in({b, d}).outA({d}).integer("chunks", b).integer("accumulate", accumulate);
    CaseBuilder(cases, "embedding_grad", t)
        .tokens({b, s}, 0, int(2 * n))
        .in({b, s, d})
        .outA({n, d})
        .integer("vocab_offset", n / 2)
        .integer("chunks", b)
        .integer("accumulate", accumulate);
  }
  CaseBuilder(cases, "linear_dgrad_sum", t)
      .in({b, s, d})
      .in({b, s, 2 * d})
      .in({b, s, d})
      .in({d, n})
      .in({2 * d, n})
      .in({d, n})
      .out({b, s, n})
      .integer("chunks", chunks);
  CaseBuilder(cases, "linear_dgrad_sum", t).in({b, s, d}).in({d, n}).out({b, s, n});
}

static void addPositionSums(Cases &cases, DType t, ChunkedSize size) {
  auto [b, s, d, n, chunks] = size;
  int64_t c = size.headDim();
  CaseBuilder(cases, "sum_positions", t).in({b, chunks * s, d}).outA({b, d}).integer("chunks", chunks);
  CaseBuilder(cases, "sum_positions", t).in({b, s, n}).outA({b, n});
  CaseBuilder(cases, "rms_norm_grad", t)
      .in({b, chunks * s, d})
      .in({b, chunks * s, d})
      .in({d})
      .inA({b, chunks * s}, 0.5, 2)
      .out({b, chunks * s, d})
      .outA({b, d})
      .integer("chunks", chunks);
  CaseBuilder(cases, "layer_norm_grad", t)
      .in({b, chunks * s, d})
      .in({b, chunks * s, d})
      .in({d})
      .inA({b, chunks * s})
      .inA({b, chunks * s}, 0.5, 2)
      .out({b, chunks * s, d})
      .outA({b, d})
      .outA({b, d})
      .integer("chunks", chunks);
  CaseBuilder(cases, "head_norm_grad", t)
      .in({b, s, d})
      .in({b, s, d})
      .in({c})
      .out({b, s, d})
      .outA({b, c})
      .set("epsilon", epsilon)
      .integer("chunks", chunks);
}

static void addLossAndNorm(Cases &cases, DType t, ChunkedSize size) {
  auto [b, s, d, n, chunks] = size;
  CaseBuilder(cases, "token_loss", t)
      .tokens({b, s}, -1, int(n))
      .inA({chunks, 2, b, s}, -8, 8)
      .outA({})
      .outA({})
      .outA({b, s})
      .integer("chunks", b);
  for (int64_t dim : {0, 1})
    CaseBuilder(cases, "sum_squares", t)
        .inA({chunks * b, d})
        .outA({})
        .integer("chunks", chunks)
        .integer("chunk_dim", dim);
}

static void addAttention(Cases &cases, DType t, ChunkedSize size) {
  auto [b, s, d, n, chunks] = size;
  int64_t c = size.headDim();
  double scale = 1 / std::sqrt(double(c));
  CaseBuilder(cases, "attention", t)
      .in({b, s, d}, -2, 2)
      .in({b, s, d}, -2, 2)
      .in({b, s, d})
      .out({b, s, d})
      .outA({b, chunks, s})
      .integer("head_dim", c)
      .integer("causal", 1)
      .set("scale", scale)
      .integer("chunks", 1);
  for (int64_t kvWidth : {d, c}) // in the end all heads share one KV head
    CaseBuilder(cases, "attention_grad", t)
        .in({b, s, d})
        .in({b, s, d}, -2, 2)
        .in({b, s, kvWidth}, -2, 2)
        .in({b, s, kvWidth})
        .in({b, s, d})
        .inA({b, chunks, s}, 3, 6)
        .out({b, s, d})
        .out({b, s, kvWidth})
        .out({b, s, kvWidth})
        .integer("head_dim", c)
        .integer("causal", 1)
        .set("scale", scale)
        .integer("chunks", chunks);
}

static void addChunked(Cases &cases, DType t, ChunkedSize size) {
  addProducts(cases, t, size);
  addPositionSums(cases, t, size);
  addLossAndNorm(cases, t, size);
  addAttention(cases, t, size);
}

/// The cases from number `from` on, adding up some of their chunks: one of equal parts of the samples, and a node.
static void addSomeChunks(Cases &cases, size_t from) {
  for (size_t i = from, end = cases.size(); i < end; ++i) {
    Case some = cases[i];
    bool sumsSamples = some.kernel == "linear_wgrad" || some.kernel == "sum_leading" ||
                       some.kernel == "embedding_grad" || some.kernel == "token_loss";
    bool sharesKvHead = some.kernel != "attention_grad" || some.inputs[2].dim(2) < some.inputs[1].dim(2);
    if (some.attributes.integer("chunks") < 3 || some.kernel == "attention" || !sharesKvHead)
      continue;
    if (some.kernel == "linear")
      some.inputs.pop_back(); // a bias is no part of a node
    for (int64_t number : {0, 1}) {
      Case made = some;
      made.label += (sumsSamples ? " part " : " node ") + std::to_string(number);
      made.attributes.set(sumsSamples ? "part" : "node", number);
      made.attributes.set(sumsSamples ? "parts" : "nodes",
                          sumsSamples ? some.attributes.integer("chunks") : int64_t(1));
      if (!sumsSamples)
        made.attributes.set("first_chunk", some.attributes.integer("chunks"));
      cases.push_back(std::move(made));
    }
  }
}

/// Nodes of ranks with 3 and 5 addends.
static void addNodes(Cases &cases, DType t, int64_t n) {
  for (int number = 0; number < 6; ++number) {
    CaseBuilder builder(cases, "accumulate_nodes", accumulatorOf(t));
    builder.inA({n}).tokens({1}, number, number + 1).integer("micro_batches", 3).integer("ranks", 2);
    builder.integer("part", 0).integer("parts", 1).integer("accumulate", 3).outA({n}).outA({n});
  }
  CaseBuilder(cases, "stack_nodes", t).in({n, 3}).in({n, 3}).out({2, n, 3});
  CaseBuilder(cases, "stack_nodes", t).in({}).out({1});
  CaseBuilder(cases, "sum_nodes", t).in({4, n}).out({n}).integer("addends", 3).integer("nodes", 2);
  CaseBuilder(cases, "sum_nodes", t).in({9, n, 2}).out({n, 2}).integer("addends", 5).integer("nodes", 3);
}

/// Every micro-batch of steps of 2, 5 and 8 of them.
static void addAccumulateTree(Cases &cases, DType t, int64_t n) {
  for (auto [microBatches, levels] : {std::pair(2, 1), {5, 3}, {8, 3}})
    for (int number = 0; number < microBatches; ++number) {
      CaseBuilder builder(cases, "accumulate_tree", accumulatorOf(t));
      builder.inA({n}).tokens({}, number, number + 1).integer("micro_batches", microBatches);
      for (int level = 0; level < levels; ++level)
        builder.outA({n});
      builder.integer("accumulate", (1 << levels) - 1);
    }
}

void tgpt::test::addChunkedCases(Cases &cases, DType t) {
  addChunked(cases, t, {1, 1, 1, 1, 1});
  addChunked(cases, t, {3, 5, 24, 7, 4});
  addChunked(cases, t, {4, 33, 80, 70, 8});
  addChunked(cases, t, {5, 290, 66, 300, 2});
  size_t first = cases.size();
  addChunked(cases, t, {3, 5, 24, 7, 6});
  addSomeChunks(cases, first);
  addNodes(cases, t, 7);
  addNodes(cases, t, 1501);
  addAccumulateTree(cases, t, 7);
  addAccumulateTree(cases, t, 17001);
  addChunked(cases, t, {5, 130, 320, 270, 8});
}
