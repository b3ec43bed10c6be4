//===- Workspace.h - working memory of a thread -----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each thread keeps one buffer per purpose. A buffer grows when a larger shape
// is met and is never returned before the thread ends, so that a training step
// allocates nothing after the first one.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CPU_WORKSPACE_H
#define TGPT_RUNTIME_KERNELS_CPU_WORKSPACE_H

#include <cstddef>
#include <cstdint>

namespace tgpt::runtime::cpu {

enum class WorkspaceUse : uint8_t {
  Scores,         ///< attention: scores, then probabilities
  ScoreGradients, ///< attention: gradients of probabilities, then of scores
  StoredScores,   ///< attention: probabilities rounded to the compute type
  StoredGradients,
  RowSums,
  MaskRow,        ///< attention: what dropout makes of the probabilities of a row
  StackedQueries, ///< attention: rows of all query heads of a KV head
  StackedOutputs,
  BlockOutput, ///< attention: output rows before normalisation
  KeyGradients,
  ValueGradients,
  RotatedRow,  ///< rope: one row in f32
  PartialSums, ///< sums of each chunk, added up at the end
  TokenRows,   ///< embedding_grad: where the tokens of each row begin
  TokenOrder,  ///< embedding_grad: the tokens, row after row
  GemmScratchpad,
  GemmA, ///< operands converted to f32 where there is no product of their type
  GemmB,
  GemmC,
  GemmBias,
  Count
};

/// At least `bytes`, 64-byte aligned, or null when memory is exhausted.
void *workspace(WorkspaceUse use, size_t bytes);

/// What the workspaces of all threads take at the moment.
int64_t workspaceBytes();

template <typename T> T *workspace(WorkspaceUse use, int64_t elements) {
  return static_cast<T *>(workspace(use, size_t(elements) * sizeof(T)));
}

inline constexpr const char *workspaceExhausted = "no memory for a kernel's workspace";

} // namespace tgpt::runtime::cpu

#endif // TGPT_RUNTIME_KERNELS_CPU_WORKSPACE_H
