//===- ColumnSums.h - sums of rows, column by column ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of a part are shared out to 8 threads by their number within the part, whose
// sums are added in order; the parts are added in a tree. Which rows a part has depends
// on the shape, or is the caller's: one chunk each.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_COLUMNSUMS_H
#define TGPT_RUNTIME_KERNELS_CUDA_COLUMNSUMS_H

#include "runtime/kernels/cuda/Kernels.h"
#include "runtime/kernels/cuda/Tree.h"

namespace tgpt::runtime::cuda::TGPT_TARGET {

inline constexpr int rowLanes = 8;

template <typename T, int V>
__global__ void __launch_bounds__(32 * rowLanes)
    sumPart(const T *x, AccumulatorOf<T> *partial, int64_t rows, int64_t width, int64_t rowsPerPart) {
  using A = AccumulatorOf<T>;
  TGPT_SHARED(A, ofLane, rowLanes * 32 * V);
  int64_t columnBlocks = (width + 32 * V - 1) / (32 * V), part = blockIdx.x / columnBlocks;
  int64_t column = (blockIdx.x % columnBlocks * 32 + threadIdx.x) * V;
  int64_t begin = part * rowsPerPart, end = begin + rowsPerPart < rows ? begin + rowsPerPart : rows;
  Pack<A, V> sums;
  TGPT_UNROLL
  for (int k = 0; k < V; ++k)
    sums.at[k] = A(0);
  if (column < width)
    for (int64_t row = begin + threadIdx.y; row < end; row += rowLanes) {
      Pack<T, V> in = loadPack<V>(x + row * width + column);
      TGPT_UNROLL
      for (int k = 0; k < V; ++k)
        sums.at[k] += load(in.at[k]);
    }
  storePack(sharedAt<A>(ofLane, (threadIdx.y * 32 + threadIdx.x) * V, V), sums);
  __syncthreads();
  if (threadIdx.y != 0 || column >= width)
    return;
  for (int lane = 1; lane < rowLanes; ++lane) {
    Pack<A, V> more = loadPack<V>(sharedAt<A>(ofLane, (lane * 32 + threadIdx.x) * V, V));
    TGPT_UNROLL
    for (int k = 0; k < V; ++k)
      sums.at[k] += more.at[k];
  }
  storePack(partial + part * width + column, sums);
}

/// Rows [rows, width] in `groups` groups of `parts` parts of `rowsPerPart` rows; of each group `count` parts from
/// `first` on are summed.
struct ColumnSums {
  int64_t rows, width, groups, parts, rowsPerPart, first = 0, count = parts;

  /// One group, its parts chosen by the shape.
  static ColumnSums ofAll(int64_t rows, int64_t width) {
    cost::RowParts cut = cost::columnSumParts(rows);
    return {rows, width, 1, cut.parts, cut.rowsPerPart};
  }
  int64_t elements() const { return groups * parts * width; }
};

/// to[group][column] = or += the sums.
template <typename T>
KernelStatus sumColumns(const ColumnSums &sums, const T *x, AccumulatorOf<T> *to, bool accumulate) {
  using A = AccumulatorOf<T>;
  Scratch scratch;
  A *partial = scratch.take<A>(sums.elements());
  if (!partial)
    return {workspaceTooSmall};
  auto launchWith = [&](auto kernel, int64_t vector) {
    Launches launches;
    int64_t blocks = ceilDiv(sums.width, 32 * vector) * sums.groups * sums.parts;
    launches.then(LaunchShape(unsigned(blocks), dim3(32, rowLanes)), kernel, x, partial, sums.rows, sums.width,
                  sums.rowsPerPart);
    launchAddParts(launches, {partial, sums.groups, sums.parts, sums.width, sums.first, sums.count}, 0, sums.width, to,
                   accumulate);
    return KernelStatus(launches);
  };
  constexpr int vector = vectorOf<T>;
  return sums.width % vector == 0 && areAligned(x) ? launchWith(sumPart<T, vector>, vector)
                                                   : launchWith(sumPart<T, 1>, 1);
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_COLUMNSUMS_H
