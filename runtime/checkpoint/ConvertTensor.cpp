//===- runtime/checkpoint/ConvertTensor.cpp - a tensor in another dtype -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/ConvertTensor.h"

#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"

#include <algorithm>
#include <type_traits>

using namespace tgpt::runtime;

bool tgpt::runtime::isConvertible(DType from, DType to) {
  return from == to || (from != DType::I32 && to != DType::I32);
}

template <typename To, typename From> static To convert(From value) {
  if constexpr (std::is_same_v<To, From>)
    return value;
  else if constexpr (std::is_same_v<From, BFloat16> || std::is_same_v<From, Float16>)
    return convert<To>(toFloat(value));
  else if constexpr (std::is_same_v<To, BFloat16>)
    return toBFloat16(value);
  else if constexpr (std::is_same_v<To, Float16>)
    return toFloat16(value);
  else
    return static_cast<To>(value);
}

/// Calls `visit` with a null pointer of the element type.
template <typename Visitor> static void withFloatType(DType dtype, Visitor &&visit) {
  switch (dtype) {
  case DType::F64: return visit(static_cast<double *>(nullptr));
  case DType::F32: return visit(static_cast<float *>(nullptr));
  case DType::BF16: return visit(static_cast<BFloat16 *>(nullptr));
  case DType::F16: return visit(static_cast<Float16 *>(nullptr));
  case DType::I32: return;
  }
}

LogicalTensor tgpt::runtime::convertTensor(LogicalTensor tensor, DType dtype) {
  if (tensor.dtype == dtype)
    return tensor;
  size_t elements = tensor.bytes.size() / sizeInBytes(tensor.dtype);
  LogicalTensor result{.dtype = dtype, .shape = tensor.shape, .bytes = {}};
  result.bytes.resize(elements * sizeInBytes(dtype));
  withFloatType(tensor.dtype, [&](auto *from) {
    withFloatType(dtype, [&](auto *to) {
      using From = std::remove_pointer_t<decltype(from)>;
      using To = std::remove_pointer_t<decltype(to)>;
      const From *source = reinterpret_cast<const From *>(tensor.bytes.data());
      std::transform(source, source + elements, reinterpret_cast<To *>(result.bytes.data()), convert<To, From>);
    });
  });
  return result;
}
