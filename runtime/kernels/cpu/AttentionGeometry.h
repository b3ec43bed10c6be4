//===- AttentionGeometry.h - sizes and strides of an attention call ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_ATTENTIONGEOMETRY_H
#define TGPT_RUNTIME_KERNELS_CPU_ATTENTIONGEOMETRY_H

#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Gemm.h"

#include <algorithm>

namespace tgpt::runtime::cpu::TGPT_ISA {

/// q, o: [b,s,heads*c]; k, v: [b,s,kvHeads*c]; lse: [b,heads,s].
struct AttentionGeometry {
  AttentionGeometry(const KernelCall &call, const TensorView &q, const TensorView &k)
      : batch(q.dim(0)), sequence(q.dim(1)), c(call.attributes->integer("head_dim")), heads(q.dim(2) / c),
        kvHeads(k.dim(2) / c), group(heads / kvHeads), scale(call.attributes->real("scale")),
        causal(call.attributes->integer("causal") != 0) {}

  int64_t width() const { return heads * c; }
  int64_t kvWidth() const { return kvHeads * c; }
  int64_t queryAt(int64_t b, int64_t row, int64_t head) const { return (b * sequence + row) * width() + head * c; }
  int64_t keyAt(int64_t b, int64_t group) const { return b * sequence * kvWidth() + group / parts * c; }
  int64_t rowAt(int64_t b, int64_t head, int64_t row) const { return (b * heads + head) * sequence + row; }
  /// Keys that query `row` sees.
  int64_t keysOfRow(int64_t row) const { return causal ? row + 1 : sequence; }

  /// Cuts the query heads of a KV head into groups that are computed apart.
  void cutGroups(int64_t count) {
    parts *= count;
    group /= count;
  }

  int64_t batch, sequence, c, heads, kvHeads, group;
  int64_t parts = 1; ///< groups of a KV head
  double scale;
  bool causal;
};

/// Adjacent query rows of all the query heads of a group, computed together: the
/// heads are stacked (first all rows of the first head), so that one product serves
/// them all and their scores stay in the second-level cache.
struct QueryBlock {
  int64_t batch, group, begin, rows;

  int64_t end() const { return begin + rows; }
};

/// Rows of a block: at most 64, less where many heads are stacked (less of the
/// square on the diagonal is computed in vain).
inline int64_t rowsOfBlock(const AttentionGeometry &g) {
  return std::clamp<int64_t>(128 / g.group, 16, 64);
}

/// Keys that a block is computed against: those its last row sees, rounded up so that
/// a sequence meets at most 64 different shapes of products.
inline int64_t keysOfBlock(const AttentionGeometry &g, const QueryBlock &block) {
  if (!g.causal)
    return g.sequence;
  int64_t step = rowsOfBlock(g) * ((g.sequence + 64 * rowsOfBlock(g) - 1) / (64 * rowsOfBlock(g)));
  return std::min(g.sequence, (block.end() + step - 1) / step * step);
}

/// body(head, row, stacked row) for each row of the block.
template <typename Body> void forStackedRows(const AttentionGeometry &g, const QueryBlock &block, const Body &body) {
  for (int64_t h = 0; h < g.group; ++h)
    for (int64_t i = 0; i < block.rows; ++i)
      body(block.group * g.group + h, block.begin + i, h * block.rows + i);
}

/// to[stacked row][c] = the block's rows of `from`, laid out as q.
template <typename T> void stackRows(const AttentionGeometry &g, const QueryBlock &block, const T *from, T *to) {
  forStackedRows(g, block, [=, &g](int64_t head, int64_t row, int64_t stacked) {
    std::copy_n(from + g.queryAt(block.batch, row, head), g.c, to + stacked * g.c);
  });
}

/// Distance between rows of scores: a multiple of 16, but of no large power of two,
/// whose rows would compete for the same cache sets.
inline int64_t scoreStride(int64_t keys) {
  return (keys + 15) / 16 * 16 + 16;
}

/// A product on this thread; the first failure of several is kept.
class BlockProducts {
public:
  BlockProducts(const KernelCall &call, DType inputType)
      : inputType(inputType), chunks(std::min<int64_t>(call.attributes->integer("chunks"), 1)) {}

  /// c[m,n] = or += op(a) op(b).
  template <typename T, typename C> void multiply(GemmShape shape, const T *a, const T *b, C *c) {
    shape.inputType = inputType;
    shape.chunks = chunks;
    shape.outputType = std::is_same_v<T, C> ? inputType : accumulatorOf(inputType);
    if (KernelStatus status = gemm(shape, {a, b, c}); !status.ok() && first.ok())
      first = status;
  }
  KernelStatus status() const { return first; }

private:
  DType inputType;
  int64_t chunks; ///< 1: every product in order, whatever its size; 0: as the library likes
  KernelStatus first;
};

} // namespace tgpt::runtime::cpu::TGPT_ISA

#endif // TGPT_RUNTIME_KERNELS_CPU_ATTENTIONGEOMETRY_H
