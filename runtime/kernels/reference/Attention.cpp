//===- Attention.cpp - reference attention ----------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/ChunkRange.h"
#include "runtime/kernels/api/Philox.h"
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
  /// Row i of `rows`, laid out as q, times row j of `columns`, laid out as k.
  double dot(const std::vector<double> &rows, const std::vector<double> &columns, int64_t b, int64_t h, int64_t i,
             int64_t j) const {
    double sum = 0;
    for (int64_t e = 0; e < c; ++e)
      sum += rows[at(b, i, h, e)] * columns[kvAt(b, j, h, e)];
    return sum;
  }

  int64_t batch, sequence, c, heads, kvHeads;
  double scale;
  bool causal;
};
} // namespace

namespace {
/// What dropout makes of a probability: 0, or 1 / (1 - dropout); 1 without.
struct Mask {
  Mask(const KernelCall &call, size_t first) : isActive(call.inputs.size() > first) {
    if (!isActive)
      return;
    samples = call.inputs[first].as<int32_t>();
    step = uint32_t(*call.inputs[first + 1].as<int32_t>());
    probability = call.attributes->real("dropout");
    key = uint64_t(call.attributes->integer("key"));
    firstHead = call.attributes->integer("width_offset") / call.attributes->integer("head_dim");
  }
  double factor(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (!isActive)
      return 1;
    uint32_t head = uint32_t(firstHead + h);
    std::array<uint32_t, 4> words = philox4x32({uint32_t(j / 4) | head << 20, uint32_t(i), uint32_t(samples[b]), step},
                                               {uint32_t(key), uint32_t(key >> 32)});
    bool isKept = double(words[j % 4]) >= std::min(probability * 0x1p32, 0x1p32 - 1);
    return isKept ? 1 / (1 - probability) : 0;
  }

  bool isActive;
  const int32_t *samples = nullptr;
  uint32_t step = 0;
  double probability = 0;
  uint64_t key = 0;
  int64_t firstHead = 0;
};
} // namespace

KernelStatus attention(const KernelCall &call) {
  Geometry g(call, call.inputs[0], call.inputs[1]);
  Mask mask(call, 3);
  std::vector<double> q = valuesOf(call.inputs[0]), k = valuesOf(call.inputs[1]), v = valuesOf(call.inputs[2]);
  std::vector<double> p(g.sequence);
  for (int64_t b = 0; b < g.batch; ++b)
    for (int64_t h = 0; h < g.heads; ++h)
      for (int64_t i = 0; i < g.sequence; ++i) {
        double most = -std::numeric_limits<double>::infinity(), sum = 0;
        for (int64_t j = 0; j < g.visible(i); ++j)
          most = std::max(most, p[j] = g.scale * g.dot(q, k, b, h, i, j));
        for (int64_t j = 0; j < g.visible(i); ++j)
          sum += p[j] = std::exp(p[j] - most);
        for (int64_t j = 0; j < g.visible(i); ++j)
          p[j] *= mask.factor(b, h, i, j) / sum;
        for (int64_t e = 0; e < g.c; ++e) {
          double o = 0;
          for (int64_t j = 0; j < g.visible(i); ++j)
            o += p[j] * v[g.kvAt(b, j, h, e)];
          put(call.outputs[0], g.at(b, i, h, e), o);
        }
        put(call.outputs[1], g.rowAt(b, h, i), most + std::log(sum));
      }
  return {};
}

/// With p = exp(score - lse) and D_i = sum over e of do_ie o_ie:
/// dv_j = sum m_ij p_ij do_i, ds_ij = scale p_ij (m_ij do_i . v_j - D_i), dq_i = sum ds_ij k_j, dk_j = sum ds_ij q_i,
/// m being the factors of dropout, 1 without.
KernelStatus attentionGrad(const KernelCall &call) {
  Geometry g(call, call.inputs[1], call.inputs[2]);
  Mask mask(call, 6);
  std::vector<double> in[6];
  for (size_t i = 0; i < 6; ++i)
    in[i] = valuesOf(call.inputs[i]);
  const auto &[dout, q, k, v, o, lse] = in;
  std::vector<double> dq(q.size(), 0.0), dk(k.size(), 0.0), dv(v.size(), 0.0);
  ChunkRange range = ChunkRange::of(*call.attributes);
  for (int64_t b = 0; b < g.batch; ++b)
    for (int64_t h = 0; h < g.heads; ++h)
      for (int64_t i = 0; i < g.sequence; ++i) {
        double total = 0;
        for (int64_t e = 0; e < g.c; ++e)
          total += dout[g.at(b, i, h, e)] * o[g.at(b, i, h, e)];
        for (int64_t j = 0; j < g.visible(i); ++j) {
          double p = std::exp(g.scale * g.dot(q, k, b, h, i, j) - lse[g.rowAt(b, h, i)]);
          double dp = g.dot(dout, v, b, h, i, j), m = mask.factor(b, h, i, j), ds = g.scale * p * (m * dp - total);
          for (int64_t e = 0; e < g.c; ++e) {
            dq[g.at(b, i, h, e)] += ds * k[g.kvAt(b, j, h, e)];
            if (!range.isAll() && !range.holds(h, g.heads)) // of one KV head
              continue;
            dk[g.kvAt(b, j, h, e)] += ds * q[g.at(b, i, h, e)];
            dv[g.kvAt(b, j, h, e)] += m * p * dout[g.at(b, i, h, e)];
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
