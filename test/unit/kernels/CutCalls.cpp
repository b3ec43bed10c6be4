//===- CutCalls.cpp - kernel calls that ranks and micro-batches share out ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/CutCall.h"

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

static const auto normEpsilon = [](Attributes &a, int64_t, int64_t) { a.set("epsilon", 1e-5); };
static const auto heads8 = [](Attributes &a, int64_t, int64_t) {
  a.set("head_dim", int64_t(8));
  a.set("causal", int64_t(1));
  a.set("scale", 0.35);
};
/// 4 KV heads of two query heads, each of which is a chunk.
static const auto chunksOfKvHeads = [](Attributes &a, int64_t part, int64_t parts) {
  heads8(a, part, parts);
  a.set("chunks", 8 / parts);
};
static const auto vocabulary96 = [](Attributes &a, int64_t part, int64_t parts) {
  a.set("vocab_offset", part * (96 / parts));
  a.set("vocabulary", int64_t(96));
};
static const auto offsets40 = [](Attributes &a, int64_t part, int64_t parts) {
  a.set("head_dim", int64_t(10));
  a.set("theta", 10000.0);
  a.set("position_offset", part * (40 / parts));
};
static const auto dropoutWidth = [](Attributes &a, int64_t part, int64_t parts) {
  a.set("probability", 0.3);
  a.set("key", int64_t(12345));
  a.set("width_offset", part * (56 / parts));
};
static const auto adam = [](Attributes &a, int64_t, int64_t) {
  a.set("beta1", 0.9);
  a.set("beta2", 0.95);
  a.set("epsilon", 1e-8);
  a.set("weight_decay", 0.1);
};
static const auto squares = [](int64_t dim) {
  return [dim](Attributes &a, int64_t, int64_t) { a.set("chunk_dim", dim); };
};

static const CutCall calls[] = {
    // sums over what is cut
    {"linear", {{3, 11, 360}, {37, 360}}, {2, 1}, {{3, 11, 37}}, {summed}, 8},
    {"linear_dgrad", {{3, 11, 360}, {360, 37}}, {2, 0}, {{3, 11, 37}}, {summed}, 8},
    {"linear_dgrad_sum", {{2, 9, 360}, {2, 9, 120}, {360, 37}, {120, 37}}, {2, 2, 0, 0}, {{2, 9, 37}}, {summed}, 8},
    {"linear_wgrad", {{8, 21, 37}, {8, 21, 29}}, {0, 0}, {{37, 29}}, {summed}, 8},
    {"sum_leading", {{8, 21, 37}}, {0}, {{21, 37}}, {summed}, 8},
    {"sum_positions", {{3, 40, 37}}, {1}, {{3, 37}}, {summed}, 8},
    {"embedding_grad", {{8, 21}, {8, 21, 37}}, {0, 0}, {{16, 37}}, {summed}, 8, {}, {0}},
    {"rms_norm_grad",
     {{3, 40, 37}, {3, 40, 37}, {37}, {3, 40}},
     {1, 1, whole, 1},
     {{3, 40, 37}, {3, 37}},
     {1, summed},
     8},
    {"layer_norm_grad",
     {{3, 40, 37}, {3, 40, 37}, {37}, {3, 40}, {3, 40}},
     {1, 1, whole, 1, 1},
     {{3, 40, 37}, {3, 37}, {3, 37}},
     {1, summed, summed},
     8},
    {"head_norm_grad",
     {{3, 10, 72}, {3, 10, 72}, {9}},
     {2, 2, whole},
     {{3, 10, 72}, {3, 9}},
     {2, summed},
     8,
     normEpsilon},
    {"token_loss", {{8, 21}, {5, 2, 8, 21}}, {0, 2}, {{}, {}, {8, 21}}, {summed, summed, 0}, 8, {}, {0}},
    {"sum_squares", {{40, 37}}, {0}, {{}}, {summed}, 8, squares(0)},
    {"sum_squares", {{37, 40}}, {1}, {{}}, {summed}, 8, squares(1)},
    // no sum over what is cut: rows, features, heads, elements
    {"linear", {{4, 11, 360}, {37, 360}}, {0, whole}, {{4, 11, 37}}, {0}, 8},
    {"linear", {{3, 11, 360}, {44, 360}, {44}}, {whole, 0, 0}, {{3, 11, 44}}, {2}, 8},
    {"linear_dgrad", {{3, 12, 360}, {360, 37}}, {1, whole}, {{3, 12, 37}}, {1}, 8},
    {"linear_wgrad", {{4, 21, 44}, {4, 21, 29}}, {2, whole}, {{44, 29}}, {0}, 4},
    {"linear_wgrad", {{4, 21, 29}, {4, 21, 44}}, {whole, 2}, {{29, 44}}, {1}, 4},
    {"attention", {{2, 19, 64}, {2, 19, 32}, {2, 19, 32}}, {2, 2, 2}, {{2, 19, 64}, {2, 8, 19}}, {2, 1}, 1, heads8},
    {"attention", {{4, 19, 64}, {4, 19, 32}, {4, 19, 32}}, {0, 0, 0}, {{4, 19, 64}, {4, 8, 19}}, {0, 0}, 1, heads8},
    {"attention_grad",
     {{2, 19, 64}, {2, 19, 64}, {2, 19, 32}, {2, 19, 32}, {2, 19, 64}, {2, 8, 19}},
     {2, 2, 2, 2, 2, 1},
     {{2, 19, 64}, {2, 19, 32}, {2, 19, 32}},
     {2, 2, 2},
     0,
     chunksOfKvHeads},
    {"attention_grad",
     {{2, 69, 96}, {2, 69, 96}, {2, 69, 8}, {2, 69, 8}, {2, 69, 96}, {2, 12, 69}},
     {2, 2, whole, whole, 2, 1},
     {{2, 69, 96}, {2, 69, 8}, {2, 69, 8}},
     {2, summed, summed},
     4,
     heads8},
    {"rms_norm", {{3, 40, 37}, {37}}, {1, whole}, {{3, 40, 37}, {3, 40}}, {1, 1}, 0, normEpsilon},
    {"layer_norm",
     {{3, 40, 37}, {37}, {37}},
     {1, whole, whole},
     {{3, 40, 37}, {3, 40}, {3, 40}},
     {1, 1, 1},
     0,
     normEpsilon},
    {"head_norm", {{3, 10, 72}, {9}}, {2, whole}, {{3, 10, 72}}, {2}, 0, normEpsilon},
    {"rope", {{2, 40, 30}}, {1}, {{2, 40, 30}}, {1}, 0, offsets40},
    {"gelu", {{3, 10, 212}}, {2}, {{3, 10, 212}}, {2}, 0},
    {"gelu_grad", {{3, 10, 212}, {3, 10, 212}}, {2, 2}, {{3, 10, 212}}, {2}, 0},
    {"swiglu", {{3, 10, 212}, {3, 10, 212}}, {2, 2}, {{3, 10, 212}}, {2}, 0},
    {"swiglu_grad", {{3, 10, 212}, {3, 10, 212}, {3, 10, 212}}, {2, 2, 2}, {{3, 10, 212}, {3, 10, 212}}, {2, 2}, 0},
    {"add", {{3, 212}, {3, 212}}, {1, 1}, {{3, 212}}, {1}, 0},
    {"add", {{3, 212}, {212}}, {1, 0}, {{3, 212}}, {1}, 0},
    {"add_n", {{3, 212}, {3, 212}, {3, 212}}, {1, 1, 1}, {{3, 212}}, {1}, 0},
    {"dropout", {{3, 10, 56}, {3}, {}}, {2, whole, whole}, {{3, 10, 56}}, {2}, 0, dropoutWidth, {1, 2}},
    {"loss_statistics", {{2, 7, 96}, {2, 7}}, {2, whole}, {{8, 3, 2, 7}}, {0}, 0, vocabulary96, {1}},
    {"loss_statistics", {{2, 7, 96}, {2, 7}}, {2, whole}, {{4, 2, 2, 7}}, {0}, 0, vocabulary96, {1}},
    {"loss_statistics", {{4, 7, 96}, {4, 7}}, {0, 0}, {{8, 2, 4, 7}}, {2}, 0, {}, {1}},
    {"cross_entropy_grad",
     {{2, 7, 96}, {2, 7}, {2, 7}, {}},
     {2, whole, whole, whole},
     {{2, 7, 96}},
     {2},
     0,
     vocabulary96,
     {1}},
    {"adamw",
     {{7, 212}, {7, 212}, {7, 212}, {7, 212}, {}, {}, {}},
     {1, 1, 1, 1, whole, whole, whole},
     {{7, 212}, {7, 212}, {7, 212}},
     {1, 1, 1},
     0,
     adam},
};

std::span<const CutCall> tgpt::test::cutCalls() {
  return calls;
}
