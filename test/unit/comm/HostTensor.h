//===- HostTensor.h - a tensor in host memory ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_COMM_HOSTTENSOR_H
#define TGPT_TEST_UNIT_COMM_HOSTTENSOR_H

#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"
#include "runtime/kernels/api/Kernel.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <vector>

namespace tgpt::test {

using runtime::DType;
using runtime::TensorView;

/// Owns its bytes.
struct HostTensor {
  HostTensor(DType dtype, const std::vector<int64_t> &shape) {
    view.dtype = dtype;
    view.rank = static_cast<uint8_t>(shape.size());
    std::copy(shape.begin(), shape.end(), view.shape.begin());
    bytes.resize(view.bytes());
    view.data = bytes.data();
  }
  HostTensor(const HostTensor &other) : bytes(other.bytes), view(other.view) { view.data = bytes.data(); }
  bool operator==(const HostTensor &other) const { return bytes == other.bytes; }

  void set(int64_t i, double value) {
    switch (view.dtype) {
    case DType::F64: view.as<double>()[i] = value; break;
    case DType::F32: view.as<float>()[i] = static_cast<float>(value); break;
    case DType::BF16: view.as<runtime::BFloat16>()[i] = runtime::toBFloat16(static_cast<float>(value)); break;
    case DType::F16: view.as<runtime::Float16>()[i] = runtime::toFloat16(static_cast<float>(value)); break;
    case DType::I32: view.as<int32_t>()[i] = static_cast<int32_t>(value); break;
    }
  }
  double get(int64_t i) const {
    switch (view.dtype) {
    case DType::F64: return view.as<double>()[i];
    case DType::F32: return view.as<float>()[i];
    case DType::BF16: return runtime::toFloat(view.as<runtime::BFloat16>()[i]);
    case DType::F16: return runtime::toFloat(view.as<runtime::Float16>()[i]);
    case DType::I32: return view.as<int32_t>()[i];
    }
    return 0;
  }
  void fill(const std::function<double()> &draw) {
    for (int64_t i = 0; i < view.elements(); ++i)
      set(i, draw());
  }

  friend void PrintTo(const HostTensor &tensor, std::ostream *out) {
    *out << runtime::name(tensor.view.dtype) << " [";
    for (int64_t i = 0; i < std::min<int64_t>(tensor.view.elements(), 64); ++i)
      *out << (i ? ", " : "") << tensor.get(i);
    *out << "]";
  }

  std::vector<std::byte> bytes;
  TensorView view;
};

using HostTensors = std::vector<HostTensor>;

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_COMM_HOSTTENSOR_H
