//===- AttentionBounds.cpp - how far attention may be from its formula -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules are those of ErrorBounds.cpp.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/Philox.h"
#include "test/unit/kernels/Judged.h"

#include <cmath>

using namespace tgpt::runtime;
using namespace tgpt::test;

namespace {
/// One attention call seen as matrices, with the errors of scores.
struct AttentionView {
  AttentionView(const Judged &j, size_t q, size_t k, size_t samples)
      : j(j), q(q), k(k), samples(samples), c(j.integer("head_dim")), batch(j.kase.inputs[q].dim(0)),
        sequence(j.kase.inputs[q].dim(1)), heads(j.kase.inputs[q].dim(2) / c), kvHeads(j.kase.inputs[k].dim(2) / c),
        scale(j.real("scale")), causal(j.integer("causal")) {}
  int64_t at(int64_t b, int64_t i, int64_t h, int64_t e) const { return ((b * sequence + i) * heads + h) * c + e; }
  int64_t kvAt(int64_t b, int64_t i, int64_t h, int64_t e) const {
    return ((b * sequence + i) * kvHeads + h / (heads / kvHeads)) * c + e;
  }
  int64_t visible(int64_t i) const { return causal ? i + 1 : sequence; }
  /// What dropout makes of a probability (KERNELS.md); 1 without.
  double factor(int64_t b, int64_t h, int64_t i, int64_t key) const {
    if (j.kase.inputs.size() <= samples)
      return 1;
    uint64_t stream = uint64_t(j.integer("key"));
    uint32_t head = uint32_t(j.integer("width_offset") / c + h);
    auto words = philox4x32({uint32_t(key / 4) + (head << 20), uint32_t(i), uint32_t(int64_t(j.in(samples, b))),
                             uint32_t(int64_t(j.in(samples + 1, 0)))},
                            {uint32_t(stream), uint32_t(stream >> 32)});
    return words[key % 4] >= j.real("dropout") * 0x1p32 ? 1 / (1 - j.real("dropout")) : 0;
  }
  struct Sum {
    double value = 0, magnitude = 0;
  };
  /// Row i of input `rows` (laid out as q) times row `key` of input `columns` (as k).
  Sum dot(size_t rows, size_t columns, int64_t b, int64_t h, int64_t i, int64_t key) const {
    Sum sum;
    for (int64_t e = 0; e < c; ++e) {
      double term = j.in(rows, at(b, i, h, e)) * j.in(columns, kvAt(b, key, h, e));
      sum.value += term;
      sum.magnitude += std::abs(term);
    }
    return sum;
  }
  template <typename Body> void forRows(Body body) const {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < sequence; ++i)
          body(b, h, i);
  }

  const Judged &j;
  size_t q, k, samples;
  int64_t c, batch, sequence, heads, kvHeads;
  double scale;
  bool causal;
};
} // namespace

/// A score has error es = (c+3) uA scale sum|q||k|. Probabilities of a row then have
/// relative error 2 max es + (keys + 6 + range) uA, plus uT where they are rounded to
/// T; o adds the product's keys uA.
void tgpt::test::bounds::attention(Judged &j) {
  AttentionView a(j, 0, 1, 3);
  std::vector<double> o(j.expected[0].elements());
  a.forRows([&](int64_t b, int64_t h, int64_t i) {
    int64_t row = (b * a.heads + h) * a.sequence + i, keys = a.visible(i);
    double lse = j.expected[1].get(row), worst = 0, range = 0;
    std::vector<double> p(keys);
    for (int64_t key = 0; key < keys; ++key) {
      auto score = a.dot(0, 1, b, h, i, key);
      p[key] = std::exp(a.scale * score.value - lse);
      worst = std::max(worst, double(a.c + 3) * j.uA * std::abs(a.scale) * score.magnitude);
      range = std::max(range, std::abs(a.scale * score.value - lse));
    }
    double sumError = worst + j.uA * (double(keys) + 5 + range);
    j.bounds[1][row] = sumError + 4 * j.uA * (std::abs(lse) + range);
    for (int64_t e = 0; e < a.c; ++e)
      for (int64_t key = 0; key < keys; ++key)
        o[a.at(b, i, h, e)] +=
            ((worst + sumError + j.uT + double(keys + 4) * j.uA) * p[key] * a.factor(b, h, i, key) + j.least) *
            std::abs(j.in(2, a.kvAt(b, key, h, e)));
  });
  j.each(0, [&](int64_t i) { return o[i]; });
}

/// p has relative error es + (3 + |score - lse|) uA; ds that, and the absolute errors
/// of do v^T and D; both are rounded to T. dq, dk, dv sum these over keys or rows. Where
/// query heads share a KV head, cuDNN rounds the share of each to T before it adds them; ours
/// are added in A.
void tgpt::test::bounds::attentionGrad(Judged &j) {
  AttentionView a(j, 1, 2, 6);
  std::vector<double> dq(j.expected[0].elements()), dk(j.expected[1].elements()), dv(dk.size());
  double sums = double(a.sequence * (a.heads / a.kvHeads) + 2) * j.uA;
  double keySums = sums + (j.roundsShares && a.heads > a.kvHeads ? j.uT : 0);
  a.forRows([&](int64_t b, int64_t h, int64_t i) {
    double lse = j.in(5, (b * a.heads + h) * a.sequence + i), total = 0, totalMagnitude = 0;
    for (int64_t e = 0; e < a.c; ++e) {
      double term = j.in(0, a.at(b, i, h, e)) * j.in(4, a.at(b, i, h, e));
      total += term;
      totalMagnitude += std::abs(term);
    }
    for (int64_t key = 0; key < a.visible(i); ++key) {
      auto score = a.dot(1, 2, b, h, i, key), dp = a.dot(0, 3, b, h, i, key);
      double x = a.scale * score.value - lse, p = std::exp(x);
      double relative = double(a.c + 3) * j.uA * std::abs(a.scale) * score.magnitude + j.uA * (3 + 2 * std::abs(x));
      double factor = a.factor(b, h, i, key), ds = std::abs(a.scale * p * (factor * dp.value - total));
      double dsError = ds * (relative + 3 * j.uA + j.uT) +
                       std::abs(a.scale) * p * double(a.c + 4) * j.uA * (factor * dp.magnitude + totalMagnitude) +
                       j.least;
      for (int64_t e = 0; e < a.c; ++e) {
        int64_t at = a.at(b, i, h, e), kvAt = a.kvAt(b, key, h, e);
        dq[at] += (dsError + sums * ds) * std::abs(j.in(2, kvAt));
        dk[kvAt] += (dsError + keySums * ds) * std::abs(j.in(1, at));
        dv[kvAt] += (factor * p * (relative + 2 * j.uA + j.uT + keySums) + j.least) * std::abs(j.in(0, at));
      }
    }
  });
  j.each(0, [&](int64_t i) { return dq[i]; });
  j.each(1, [&](int64_t i) { return dk[i]; });
  j.each(2, [&](int64_t i) { return dv[i]; });
}
