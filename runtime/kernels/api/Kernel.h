//===- Kernel.h - what a kernel is ------------------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is a plain function over tensor views. It does not allocate on the
// hot path, log, or read the environment; an error is returned, never thrown.
// A call is resolved (function pointer, attributes) once, when a plan is loaded.
// KERNELS.md beside this folder lists every kernel with its operands.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_API_KERNEL_H
#define TGPT_RUNTIME_KERNELS_API_KERNEL_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tgpt::runtime {

enum class DType : uint8_t { F64, F32, BF16, F16, I32 };

/// Size of one element in bytes.
constexpr size_t sizeInBytes(DType dtype) {
  switch (dtype) {
  case DType::F64: return 8;
  case DType::F32: return 4;
  case DType::BF16:
  case DType::F16: return 2;
  case DType::I32: return 4;
  }
  return 0;
}

/// "f64", "f32", "bf16", "f16", "i32".
std::string_view name(DType dtype);

/// A dense row-major tensor that somebody else owns.
struct TensorView {
  static constexpr size_t maxRank = 6;

  void *data = nullptr;
  DType dtype = DType::F32;
  uint8_t rank = 0;
  std::array<int64_t, maxRank> shape{};

  /// Size of dimension `i`; negative `i` counts from the last dimension.
  int64_t dim(int i) const { return shape[i < 0 ? rank + i : i]; }
  int64_t elements() const {
    int64_t n = 1;
    for (size_t i = 0; i < rank; ++i)
      n *= shape[i];
    return n;
  }
  /// Product of all dimensions but the last (1 for a scalar).
  int64_t rows() const { return rank == 0 ? 1 : elements() / dim(-1); }
  size_t bytes() const { return elements() * sizeInBytes(dtype); }
  template <typename T> T *as() const { return static_cast<T *>(data); }
};

/// Named scalars of a call, resolved for this rank (axis offsets included).
class Attributes {
public:
  void set(std::string name, int64_t value) { integers.emplace_back(std::move(name), value); }
  void set(std::string name, double value) { reals.emplace_back(std::move(name), value); }
  void set(std::string name, std::string value) { strings.emplace_back(std::move(name), std::move(value)); }

  int64_t integer(std::string_view name, int64_t otherwise = 0) const { return find(integers, name, otherwise); }
  double real(std::string_view name, double otherwise = 0) const { return find(reals, name, otherwise); }
  std::string_view string(std::string_view name, std::string_view otherwise = "") const {
    return find(strings, name, otherwise);
  }

private:
  template <typename Stored, typename T>
  static T find(const std::vector<std::pair<std::string, Stored>> &from, std::string_view name, T otherwise) {
    for (const auto &[key, value] : from)
      if (key == name)
        return value;
    return otherwise;
  }
  std::vector<std::pair<std::string, int64_t>> integers;
  std::vector<std::pair<std::string, double>> reals;
  std::vector<std::pair<std::string, std::string>> strings;
};

/// One call, ready to run.
struct KernelCall {
  std::span<const TensorView> inputs;
  std::span<const TensorView> outputs;
  const Attributes *attributes = nullptr;

  /// Bit i of attribute "accumulate": outputs[i] += result instead of =.
  bool accumulates(size_t output) const { return (attributes->integer("accumulate") >> output) & 1; }
};

/// Empty when all went well, else what went wrong, in one line.
struct KernelStatus {
  const char *error = nullptr;
  bool ok() const { return error == nullptr; }
};

using KernelFunction = KernelStatus (*)(const KernelCall &);

/// Checks operand count, dtypes and shapes of a call, without reading data.
/// Returns an empty string or what is wrong ("input 1: last dimension is 48, expected 64").
using KernelShapeCheck = std::string (*)(const KernelCall &);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_KERNELS_API_KERNEL_H
