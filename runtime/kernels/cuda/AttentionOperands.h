//===- AttentionOperands.h - what the kernels of attention are given -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_ATTENTIONOPERANDS_H
#define TGPT_RUNTIME_KERNELS_CUDA_ATTENTIONOPERANDS_H

#include "runtime/kernels/cuda/Kernels.h"
#include "runtime/kernels/cuda/Launch.h"
#include "runtime/kernels/cuda/Random.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

/// q, o: [b,s,heads*c]; k, v: [b,s,kvHeads*c]; lse: [b,heads,s].
struct AttentionShape {
  AttentionShape(const KernelCall &call, const TensorView &q, const TensorView &k)
      : batch(q.dim(0)), sequence(q.dim(1)), c(call.attributes->integer("head_dim")), heads(q.dim(2) / c),
        kvHeads(k.dim(2) / c), scale(call.attributes->real("scale")), causal(call.attributes->integer("causal") != 0) {}

  __host__ __device__ int64_t queryAt(int64_t b, int64_t row, int64_t head) const {
    return ((b * sequence + row) * heads + head) * c;
  }
  __host__ __device__ int64_t keyAt(int64_t b, int64_t row, int64_t kvHead) const {
    return ((b * sequence + row) * kvHeads + kvHead) * c;
  }
  __host__ __device__ int64_t rowAt(int64_t b, int64_t head, int64_t row) const {
    return (b * heads + head) * sequence + row;
  }
  int64_t tiles(int64_t rows) const { return ceilDiv(sequence, rows); }

  int64_t batch, sequence, c, heads, kvHeads;
  double scale;
  bool causal;
};

/// The factors of dropout (KERNELS.md).
struct AttentionMask {
  /// Inputs `first` and `first` + 1 of the call are sample numbers and step; without
  /// them nothing is dropped.
  AttentionMask(const KernelCall &call, size_t first) {
    if (call.inputs.size() <= first)
      return;
    double probability = call.attributes->real("dropout");
    samples = call.inputs[first].as<int32_t>();
    step = call.inputs[first + 1].as<int32_t>();
    key = uint64_t(call.attributes->integer("key"));
    firstHead = uint32_t(call.attributes->integer("width_offset") / call.attributes->integer("head_dim"));
    threshold = thresholdOf(probability);
    kept = 1 / (1 - probability);
  }
  template <typename A> __device__ A factor(int64_t b, int64_t head, int64_t row, int64_t column) const {
    if (!samples)
      return A(1);
    Words words = drawWords(uint32_t(column / 4) + ((firstHead + uint32_t(head)) << 20), uint32_t(row),
                            uint32_t(samples[b]), uint32_t(*step), key);
    uint32_t word = column % 4 == 0   ? words.at[0]
                    : column % 4 == 1 ? words.at[1]
                    : column % 4 == 2 ? words.at[2]
                                      : words.at[3];
    return word >= threshold ? A(kept) : A(0);
  }

  const int32_t *samples = nullptr, *step = nullptr;
  uint64_t key = 0;
  uint32_t firstHead = 0, threshold = 0;
  double kept = 1;
};

template <typename T> struct AttentionOperands {
  const T *q, *k, *v;
  T *o;
  AccumulatorOf<T> *lse;
  AttentionShape shape;
  AttentionMask mask;
  bool inVectors;
};

template <typename T> struct AttentionGradOperands {
  const T *dout, *q, *k, *v, *o;
  const AccumulatorOf<T> *lse;
  T *dq, *dk, *dv;
  AccumulatorOf<T> *total;           ///< D of every row
  AccumulatorOf<T> *dkPart, *dvPart; ///< of every part; null where a KV head has one
  int64_t parts;                     ///< of a KV head
  AttentionShape shape;
  AttentionMask mask;
  bool inVectors;
};

/// Whether rows of heads may be read in vectors.
template <typename T, typename... Pointers> bool headsAreAligned(int64_t c, Pointers... pointers) {
  return c % vectorOf<T> == 0 && areAligned(pointers...);
}

/// Whether tensor cores serve the call: heads of 64 or 128 elements, and no order of sums asked for.
/// Operands must be aligned beside.
inline bool isForMma(const KernelCall &call, const AttentionShape &shape) {
  return (shape.c == 64 || shape.c == 128) && call.attributes->integer("chunks") == 0;
}

/// The kernels on tensor cores, for bf16 and f16. The gradient's takes D of every row as made.
template <typename T> KernelStatus attendByMma(const AttentionOperands<T> &o);
template <typename T> KernelStatus attentionGradByMma(const AttentionGradOperands<T> &o);

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_ATTENTIONOPERANDS_H
