//===- Movement.cpp - fill, copy and slice ----------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fill:  every element = value.
// copy:  y = x, any dtype; the same buffer is allowed.
// slice: y = x[offset : offset + y.dim(dim)] along dim, any dtype.
// Memory-bound; no arithmetic.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/cpu/Arithmetic.h"
#include "runtime/kernels/cpu/Kernels.h"
#include "runtime/kernels/cpu/Parallel.h"

#include <cstring>

namespace tgpt::runtime::cpu::TGPT_ISA {

template <typename T> static void fillWith(const TensorView &y, T value) {
  T *to = y.as<T>();
  forChunks(y.elements(), chunkElements, [&](int64_t begin, int64_t end) { std::fill(to + begin, to + end, value); });
}

KernelStatus fill(const KernelCall &call) {
  const TensorView &y = call.outputs[0];
  double value = call.attributes->real("value");
  switch (y.dtype) {
  case DType::F64: fillWith(y, value); break;
  case DType::F32: fillWith(y, float(value)); break;
  case DType::BF16: fillWith(y, toBFloat16(value)); break;
  case DType::F16: fillWith(y, toFloat16(value)); break;
  case DType::I32: fillWith(y, int32_t(std::clamp(std::nearbyint(value), double(INT32_MIN), double(INT32_MAX)))); break;
  }
  return {};
}

KernelStatus copy(const KernelCall &call) {
  const char *from = call.inputs[0].as<char>();
  char *to = call.outputs[0].as<char>();
  constexpr int64_t chunkBytes = 4 * chunkElements;
  forChunks(int64_t(call.inputs[0].bytes()), chunkBytes,
            [&](int64_t begin, int64_t end) { std::memmove(to + begin, from + begin, end - begin); });
  return {};
}

KernelStatus slice(const KernelCall &call) {
  const TensorView &x = call.inputs[0], &y = call.outputs[0];
  int64_t along = call.attributes->integer("dim"), offset = call.attributes->integer("offset");
  int64_t outer = 1, innerBytes = int64_t(sizeInBytes(x.dtype));
  for (int64_t i = 0; i < along; ++i)
    outer *= x.shape[i];
  for (int64_t i = along + 1; i < x.rank; ++i)
    innerBytes *= x.shape[i];
  int64_t fromBytes = x.shape[along] * innerBytes, toBytes = y.shape[along] * innerBytes;
  for (int64_t i = 0; i < outer; ++i)
    std::memmove(y.as<char>() + i * toBytes, x.as<char>() + i * fromBytes + offset * innerBytes, toBytes);
  return {};
}

} // namespace tgpt::runtime::cpu::TGPT_ISA
