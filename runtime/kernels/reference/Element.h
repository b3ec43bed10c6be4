//===- Element.h - reading and writing one element in f64 -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_REFERENCE_ELEMENT_H
#define TGPT_RUNTIME_KERNELS_REFERENCE_ELEMENT_H

#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"
#include "runtime/kernels/api/Kernel.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tgpt::runtime::reference {

/// Element `i` (row-major) as f64.
inline double get(const TensorView &from, int64_t i) {
  switch (from.dtype) {
  case DType::F64: return from.as<double>()[i];
  case DType::F32: return from.as<float>()[i];
  case DType::BF16: return toFloat(from.as<BFloat16>()[i]);
  case DType::F16: return toFloat(from.as<Float16>()[i]);
  case DType::I32: return from.as<int32_t>()[i];
  }
  return 0;
}

/// All elements as f64.
inline std::vector<double> valuesOf(const TensorView &from) {
  std::vector<double> values(from.elements());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = get(from, int64_t(i));
  return values;
}

/// NaN -> 0, values outside the range of i32 -> its nearest end.
inline int32_t toInteger(double value) {
  if (std::isnan(value))
    return 0;
  return int32_t(std::clamp(std::nearbyint(value), double(INT32_MIN), double(INT32_MAX)));
}

/// Writes element `i`, rounded once to nearest even.
inline void put(const TensorView &to, int64_t i, double value) {
  switch (to.dtype) {
  case DType::F64: to.as<double>()[i] = value; break;
  case DType::F32: to.as<float>()[i] = float(value); break;
  case DType::BF16: to.as<BFloat16>()[i] = toBFloat16(value); break;
  case DType::F16: to.as<Float16>()[i] = toFloat16(value); break;
  case DType::I32: to.as<int32_t>()[i] = toInteger(value); break;
  }
}

/// Writes or adds, as the call's attribute "accumulate" says for this output.
inline void put(const KernelCall &call, size_t output, int64_t i, double value) {
  const TensorView &to = call.outputs[output];
  put(to, i, call.accumulates(output) ? get(to, i) + value : value);
}

} // namespace tgpt::runtime::reference

#endif // TGPT_RUNTIME_KERNELS_REFERENCE_ELEMENT_H
