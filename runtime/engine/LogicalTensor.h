//===- LogicalTensor.h - a variable, unsharded ------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_LOGICALTENSOR_H
#define TGPT_RUNTIME_ENGINE_LOGICALTENSOR_H

#include "runtime/kernels/api/Kernel.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tgpt::runtime {

struct ShardRun;

/// The whole (global) tensor behind the shards of a variable: dense, row-major.
struct LogicalTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  /// The bytes as a tensor; to be written through only when they are the caller's own.
  TensorView view() const {
    TensorView tensor;
    tensor.data = const_cast<std::byte *>(bytes.data());
    tensor.dtype = dtype;
    tensor.rank = static_cast<uint8_t>(shape.size());
    for (size_t i = 0; i < shape.size(); ++i)
      tensor.shape[i] = shape[i];
    return tensor;
  }

  /// Takes over the elements that a rank holds, from `held`. Padding is passed over.
  void setRun(const ShardRun &run, const std::byte *held);
  /// Copies the elements that a rank holds to `held`.
  void copyRun(const ShardRun &run, std::byte *held) const;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_LOGICALTENSOR_H
