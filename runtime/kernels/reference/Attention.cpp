//===- Attention.cpp - reference attention ----------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/reference/Element.h"
#include "runtime/kernels/reference/Kernels.h"

#include <limits>
#include <vector>

namespace tgpt::runtime::reference {

namespace {
/// Sizes, and where an element lies in [b,s,heads*c] and [b,h,s].
struct Geometry {
  explicit Geometry(const KernelCall &call, const TensorView &q, const TensorView &k)
      : batch(q.dim(0)), sequence(q.dim(1)), c(call.attributes->integer("head_dim")), heads(q.dim(2) / c),
        kvHeads(k.dim(2) / c), scale(call.attributes->real("scale")), causal(call.attributes->integer("causal")) {}
  int64_t at(int64_t b, int64_t i, int64_t h, int64_t e) const { return ((b * sequence + i) * heads + h) * c + e; }
  int64_t kvAt(int64_t b, int64_t j, int64_t h, int64_t e) const {
    return ((b * sequence + j) * kvHeads + h / (heads / kvHeads)) * c + e;
  }
  int64_t rowAt(int64_t b, int64_t h, int64_t i) const { return (b * heads + h) * sequence + i; }
  /// Number of keys that query i sees.
  int64_t visible(int64_t i) const { return causal ? i + 1 : sequence; }
  double score(const TensorView &q, const TensorView &k, int64_t b, int64_t h, int64_t i, int64_t j) const {
    double dot = 0;
    for (int64_t e = 0; e < c; ++e)
      dot += get(q, at(b, i, h, e)) * get(k, kvAt(b, j, h, e));
    return scale * dot;
  }

  int64_t batch, sequence, c, heads, kvHeads;
  double scale;
  bool causal;
};
} // namespace

KernelStatus attention(const KernelCall &call) {
  const TensorView &q = call.inputs[0], &k = call.inputs[1], &v = call.inputs[2];
  Geometry g(call, q, k);
  std::vector<double> p(g.sequence);
  for (int64_t b = 0; b < g.batch; ++b)
    for (int64_t h = 0; h < g.heads; ++h)
      for (int64_t i = 0; i < g.sequence; ++i) {
        double most = -std::numeric_limits<double>::infinity(), sum = 0;
        for (int64_t j = 0; j < g.visible(i); ++j)
          most = std::max(most, p[j] = g.score(q, k, b, h, i, j));
        for (int64_t j = 0; j < g.visible(i); ++j)
          sum += p[j] = std::exp(p[j] - most);
        for (int64_t e = 0; e < g.c; ++e) {
          double o = 0;
          for (int64_t j = 0; j < g.visible(i); ++j)
            o += p[j] / sum * get(v, g.kvAt(b, j, h, e));
          put(call.outputs[0], g.at(b, i, h, e), o);
        }
        put(call.outputs[1], g.rowAt(b, h, i), most + std::log(sum));
      }
  return {};
}

/// With p = exp(score - lse) and D_i = sum over e of do_ie o_ie:
/// dv_j = sum p_ij do_i, ds_ij = scale p_ij (do_i . v_j - D_i), dq_i = sum ds_ij k_j, dk_j = sum ds_ij q_i.
KernelStatus attentionGrad(const KernelCall &call) {
  const TensorView &dout = call.inputs[0], &q = call.inputs[1], &k = call.inputs[2], &v = call.inputs[3];
  const TensorView &o = call.inputs[4], &lse = call.inputs[5];
  Geometry g(call, q, k);
  std::vector<double> dq(q.elements(), 0.0), dk(k.elements(), 0.0), dv(v.elements(), 0.0);
  for (int64_t b = 0; b < g.batch; ++b)
    for (int64_t h = 0; h < g.heads; ++h)
      for (int64_t i = 0; i < g.sequence; ++i) {
        double total = 0;
        for (int64_t e = 0; e < g.c; ++e)
          total += get(dout, g.at(b, i, h, e)) * get(o, g.at(b, i, h, e));
        for (int64_t j = 0; j < g.visible(i); ++j) {
          double p = std::exp(g.score(q, k, b, h, i, j) - get(lse, g.rowAt(b, h, i))), dp = 0;
          for (int64_t e = 0; e < g.c; ++e)
            dp += get(dout, g.at(b, i, h, e)) * get(v, g.kvAt(b, j, h, e));
          double ds = g.scale * p * (dp - total);
          for (int64_t e = 0; e < g.c; ++e) {
            dq[g.at(b, i, h, e)] += ds * get(k, g.kvAt(b, j, h, e));
            dk[g.kvAt(b, j, h, e)] += ds * get(q, g.at(b, i, h, e));
            dv[g.kvAt(b, j, h, e)] += p * get(dout, g.at(b, i, h, e));
          }
        }
      }
  for (size_t i = 0; i < dq.size(); ++i)
    put(call.outputs[0], i, dq[i]);
  for (size_t i = 0; i < dk.size(); ++i) {
    put(call.outputs[1], i, dk[i]);
    put(call.outputs[2], i, dv[i]);
  }
  return {};
}

} // namespace tgpt::runtime::reference
