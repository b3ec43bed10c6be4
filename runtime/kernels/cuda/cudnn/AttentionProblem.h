//===- AttentionProblem.h - what cuDNN is asked for -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call of `attention` or `attention_grad` in the words of a library: tensors of four
// dimensions with strides. Apart from the library that computes it, so that it is tested
// without a GPU. The library's statistics of a row are the kernels' lse: log sum exp of the
// scaled, masked scores, base e, f32, [batch, heads, sequence] without gaps. So a gradient
// may be the library's where the forward was ours, and the other way round.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_CUDNN_ATTENTIONPROBLEM_H
#define TGPT_RUNTIME_KERNELS_CUDA_CUDNN_ATTENTIONPROBLEM_H

#include "runtime/kernels/api/Kernel.h"

#include <optional>

namespace tgpt::runtime::cuda {

/// Batch, head, position, element.
struct HeadLayout {
  std::array<int64_t, 4> dims{}, strides{};

  int64_t at(int64_t b, int64_t head, int64_t row, int64_t element) const {
    return b * strides[0] + head * strides[1] + row * strides[2] + element * strides[3];
  }
};

struct AttentionProblem {
  bool isGradient = false, causal = false;
  DType dtype = DType::BF16; ///< of all but the statistics, which are f32
  int64_t batch = 0, sequence = 0, heads = 0, kvHeads = 0, headDim = 0;
  double scale = 1;
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  void *o = nullptr, *statistics = nullptr;         ///< results, or operands of the gradient
  const void *dout = nullptr;                       ///< of the gradient
  void *dq = nullptr, *dk = nullptr, *dv = nullptr; ///< its results

  bool isGrouped() const { return heads != kvHeads; }
  HeadLayout queryLayout() const { return headLayout(heads); } ///< of q, o, dout and dq
  HeadLayout keyLayout() const { return headLayout(kvHeads); } ///< of k, v, dk and dv
  HeadLayout statisticsLayout() const { return {{batch, heads, sequence, 1}, {heads * sequence, sequence, 1, 1}}; }
  /// "attention_grad bf16 16 x 1024, 12 heads of 64 and 12 of k, causal": what a choice depends on.
  std::string key() const;

private:
  HeadLayout headLayout(int64_t count) const {
    return {{batch, count, sequence, headDim}, {sequence * count * headDim, headDim, count * headDim, 1}};
  }
};

/// Of calls that passed their checks. Nothing where only our kernels do what is asked: f32 and
/// f64, dropout, an order of sums (attribute `chunks`), heads of no multiple of 8 or more than
/// 256 elements, gradients of a single position. Addresses do not matter.
std::optional<AttentionProblem> attentionProblem(const KernelCall &call);
std::optional<AttentionProblem> attentionGradProblem(const KernelCall &call);

/// Whether all operands begin at multiples of 16 bytes, as the library needs them.
bool operandsAreAligned(const KernelCall &call);

/// The most that a plan of cuDNN 9 takes. Its gradient has the same bits every time where it keeps
/// all scores in between (`keepsScores`: GPUs before sm_100), and then this grows with the square
/// of the sequence.
size_t libraryWorkspaceBytes(const AttentionProblem &problem, bool keepsScores);

} // namespace tgpt::runtime::cuda

#endif // TGPT_RUNTIME_KERNELS_CUDA_CUDNN_ATTENTIONPROBLEM_H
