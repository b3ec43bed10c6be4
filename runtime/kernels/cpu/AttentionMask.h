//===- AttentionMask.h - dropout of attention probabilities -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The factor of probability (head, row, key) of a sample is 0 where word[key % 4] is
// below dropout 2^32, else 1 / (1 - dropout), with word = Philox4x32-10(counter =
// key / 4 + 2^20 head, row, sample, step; key of the stream). Heads are numbered in
// the whole tensor, so ranks that share them out draw the same.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_ATTENTIONMASK_H
#define TGPT_RUNTIME_KERNELS_CPU_ATTENTIONMASK_H

#include "runtime/kernels/cpu/AttentionGeometry.h"
#include "runtime/kernels/cpu/RandomRow.h"
#include "runtime/kernels/cpu/Workspace.h"

namespace tgpt::runtime::cpu::TGPT_ISA {

class AttentionMask {
public:
  /// Inputs `first` and `first` + 1 of the call are sample numbers and step; without
  /// them nothing is dropped.
  AttentionMask(const KernelCall &call, size_t first) : active(call.inputs.size() > first) {
    if (!active)
      return;
    double probability = call.attributes->real("dropout");
    samples = call.inputs[first].as<int32_t>();
    step = uint32_t(*call.inputs[first + 1].as<int32_t>());
    key = uint64_t(call.attributes->integer("key"));
    firstHead = call.attributes->integer("width_offset") / call.attributes->integer("head_dim");
    threshold = thresholdOf(probability);
    scale = 1 / (1 - probability);
  }
  bool isActive() const { return active; }

  /// factors[0, keys) of one row; space for whole blocks of columns.
  template <typename A> void fill(int64_t b, int64_t head, int64_t row, int64_t keys, A *factors) const {
    RowStream stream{uint32_t(row), uint32_t(samples[b]), step, uint32_t(key), uint32_t(key >> 32)};
    uint32_t words[blockColumns], least = threshold, first = uint32_t(firstHead + head) << 20;
    A kept = A(scale);
    for (int64_t j = 0; j < keys; j += blockColumns) {
      drawWords(stream, first + uint32_t(j / 4), words);
      A *to = factors + j;
#pragma omp simd
      for (int64_t i = 0; i < blockColumns; ++i)
        to[i] = words[i] >= least ? kept : A(0);
    }
  }

  /// This thread's space for the factors of a row; null when memory is exhausted.
  template <typename A> static A *rowOf(const AttentionGeometry &g) {
    return workspace<A>(WorkspaceUse::MaskRow, (g.sequence + blockColumns - 1) / blockColumns * blockColumns);
  }

private:
  bool active;
  const int32_t *samples = nullptr;
  uint32_t step = 0, threshold = 0;
  uint64_t key = 0;
  int64_t firstHead = 0;
  double scale = 1;
};

} // namespace tgpt::runtime::cpu::TGPT_ISA

#endif // TGPT_RUNTIME_KERNELS_CPU_ATTENTIONMASK_H
