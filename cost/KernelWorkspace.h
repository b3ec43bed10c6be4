//===- KernelWorkspace.h - what kernels of a device need beside their operands --*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some kernels of runtime/kernels/cuda keep sums of parts, angles or rows between their
// launches. How many bytes follows from the shapes of a call. Compiler and kernels both ask
// here: what the compiler plans is what the kernel takes. Products of a library take what
// they are given, also nothing; how much that is the compiler decides.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COST_KERNELWORKSPACE_H
#define TGPT_COST_KERNELWORKSPACE_H

#include <algorithm>
#include <cstdint>

namespace tgpt::cost {

/// Each piece of a workspace begins at a multiple of it.
inline constexpr int64_t workspaceGrainBytes = 256;

constexpr int64_t workspacePiece(int64_t elements, int64_t elementBytes) {
  return (elements * elementBytes + workspaceGrainBytes - 1) / workspaceGrainBytes * workspaceGrainBytes;
}

/// Rows that are summed in parts of so many, each by a block.
struct RowParts {
  int64_t parts = 0, rowsPerPart = 0;

  static constexpr RowParts of(int64_t rows, int64_t mostParts, int64_t leastRows) {
    int64_t perPart = std::max((rows + mostParts - 1) / mostParts, leastRows);
    return {(rows + perPart - 1) / perPart, perPart};
  }
};

/// Of the columns of a matrix: at least the rows that a block's lanes have.
constexpr RowParts columnSumParts(int64_t rows) {
  return RowParts::of(rows, 128, 8);
}

/// Rows up to this width are a warp's.
inline constexpr int64_t mostNarrowWidth = 512;

/// Of the gradient of a norm's weight.
constexpr RowParts normGradParts(int64_t rows, int64_t width) {
  return RowParts::of(rows, width <= mostNarrowWidth ? 1024 : 256, 1);
}

/// Of the squares of a gradient, whose elements are the rows; vectors of 4 are not cut.
constexpr RowParts squareParts(int64_t elements) {
  int64_t perPart = std::max<int64_t>(((elements + 1023) / 1024 + 3) / 4 * 4, 8192);
  return {(elements + perPart - 1) / perPart, perPart};
}

/// Bytes of sums of `width` columns. With `chunks` each of `samples` has a sum a chunk, else the rows are cut as above.
constexpr int64_t columnSumWorkspace(int64_t rows, int64_t width, int64_t chunks, int64_t sumBytes) {
  return workspacePiece((chunks > 0 ? chunks : columnSumParts(rows).parts) * width, sumBytes);
}
constexpr int64_t sampleSumWorkspace(int64_t samples, int64_t width, int64_t chunks, int64_t sumBytes) {
  return workspacePiece(samples * std::max<int64_t>(chunks, 1) * width, sumBytes);
}
/// `vectors` parameters have a gradient.
constexpr int64_t normGradWorkspace(int64_t vectors, int64_t rows, int64_t width, int64_t samples, int64_t chunks,
                                    int64_t sumBytes) {
  int64_t parts = chunks > 0 ? samples * chunks : normGradParts(rows, width).parts;
  return workspacePiece(vectors * parts * width, sumBytes);
}
/// A sum in f64 a part; with `chunks` that many. Tensors that share a launch need what the largest does: where there
/// is more, more of them share one.
constexpr int64_t squareSumWorkspace(int64_t elements, int64_t chunks) {
  return workspacePiece(chunks > 0 ? chunks : squareParts(elements).parts, 8);
}
/// A loss in f64 a token: of cross_entropy and of token_loss.
constexpr int64_t tokenLossWorkspace(int64_t tokens) {
  return workspacePiece(tokens, 8);
}
/// Cosines and sines of every position.
constexpr int64_t ropeWorkspace(int64_t positions, int64_t headDim, int64_t sumBytes) {
  return 2 * workspacePiece(positions * (headDim / 2), sumBytes);
}
/// A sum of products for each row of the scores; where the query heads of a KV head are added in
/// `parts` > 1 parts, these parts' gradients of keys and values.
constexpr int64_t attentionGradWorkspace(int64_t rows, int64_t keyElements, int64_t parts, int64_t sumBytes) {
  return workspacePiece(rows, sumBytes) + (parts > 1 ? 2 * workspacePiece(keyElements * parts, sumBytes) : 0);
}

/// Operands that one launch adds, whose arguments have 4 KiB; more are added to sums in the workspace.
inline constexpr int64_t mostAddends = 504;
constexpr int64_t addWorkspace(int64_t operands, int64_t elements, int64_t sumBytes) {
  return operands > mostAddends ? workspacePiece(elements, sumBytes) : 0;
}

/// That a product may be given at most.
inline constexpr int64_t mostProductWorkspaceBytes = int64_t(1) << 30;

/// Whether a product may be a library's: its sums have no order that we promise.
constexpr bool isLibraryProduct(int64_t elementBytes, int64_t chunks) {
  return elementBytes < 8 && chunks == 0;
}

} // namespace tgpt::cost

#endif // TGPT_COST_KERNELWORKSPACE_H
