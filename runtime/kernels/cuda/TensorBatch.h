//===- TensorBatch.h - one launch over many tensors -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model has hundreds of parameters, most of them small: a launch for each would take
// longer than its work. A launch has a list of tensors as its argument, as many as fit into
// 4 KiB, and blocks of its grid for each: what a block does is as if it ran for its tensor
// alone, so the bits do not depend on the company. A block finds its tensor by bisection.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_CUDA_TENSORBATCH_H
#define TGPT_RUNTIME_KERNELS_CUDA_TENSORBATCH_H

#include "runtime/kernels/cuda/Arithmetic.h"
#include "runtime/kernels/cuda/Launch.h"

#include <climits>

#ifndef __CUDACC__
/// An argument that is read where it is: a list that is indexed is not copied to each thread's stack.
#define __grid_constant__
#endif

namespace tgpt::runtime::cuda::TGPT_TARGET {

inline constexpr size_t argumentBytes = 4096; ///< of a launch, on every architecture

/// Tensors of a launch that has `otherBytes` of arguments beside.
template <typename Tensor> constexpr int mostTensors(size_t otherBytes) {
  return int((argumentBytes - otherBytes - 32) / (sizeof(Tensor) + sizeof(int32_t)));
}

template <typename Tensor, int Most> struct TensorBatch {
  Tensor tensors[Most];
  int32_t firstBlock[Most + 1] = {0}; ///< of each tensor, and behind the last
  int32_t count = 0;

  void clear() { count = 0; }
  void add(const Tensor &tensor, int64_t blocks) {
    tensors[count] = tensor;
    firstBlock[count + 1] = firstBlock[count] + int32_t(blocks);
    ++count;
  }
  /// A grid has up to 2^31 - 1 blocks, and no tensor asks for more than half of them.
  bool isFull() const { return count == Most || blocks() > INT_MAX / 2; }
  int32_t blocks() const { return firstBlock[count]; }

  /// The tensor that a block of the grid works on.
  __device__ int tensorOf(unsigned block) const {
    int from = 0, to = count;
    while (to - from > 1) {
      int middle = (from + to) / 2;
      (unsigned(firstBlock[middle]) <= block ? from : to) = middle;
    }
    return from;
  }
};

__device__ __forceinline__ int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/// areAligned, in a kernel.
template <typename... Pointers> __device__ __forceinline__ bool areAlignedOnDevice(Pointers... pointers) {
  return ((reinterpret_cast<uintptr_t>(pointers) % 16 == 0) && ...);
}

/// Applies an operation (Elements.h) to the elements [begin, end) of a block.
template <int Vector, typename Operation>
__device__ __forceinline__ void applyToShare(const Operation &operation, int64_t begin, int64_t end, bool aligned) {
  if (!aligned) {
    for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x)
      operation.template apply<1>(i);
    return;
  }
  for (int64_t i = begin + int64_t(threadIdx.x) * Vector; i < end; i += int64_t(blockDim.x) * Vector) {
    if (i + Vector <= end)
      operation.template apply<Vector>(i);
    else
      for (int64_t j = i; j < end; ++j)
        operation.template apply<1>(j);
  }
}

} // namespace tgpt::runtime::cuda::TGPT_TARGET

#endif // TGPT_RUNTIME_KERNELS_CUDA_TENSORBATCH_H
