//===- CutCall.h - kernel calls that ranks and micro-batches share out ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_KERNELS_CUTCALL_H
#define TGPT_TEST_UNIT_KERNELS_CUTCALL_H

#include "runtime/kernels/api/Kernel.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace tgpt::test {

using Shape = std::vector<int64_t>;
inline constexpr int whole = -1, summed = -2;

/// How a call is cut: of each operand the dim, or that it is whole (of an output: summed).
struct CutCall {
  const char *kernel;
  std::vector<Shape> inputs;
  std::vector<int> inputDims;
  std::vector<Shape> outputs;
  std::vector<int> outputDims;
  int64_t chunks; ///< of the whole; a part has as many less if something is summed
  std::function<void(runtime::Attributes &, int64_t part, int64_t parts)> attributes = {};
  std::vector<int> integerInputs = {}; ///< operands of ids below 16

  bool isSummed() const { return std::count(outputDims.begin(), outputDims.end(), summed) > 0; }
};

inline std::ostream &operator<<(std::ostream &stream, const CutCall &call) {
  return stream << call.kernel;
}

/// "linear_3", for a suite's instances.
inline std::string cutCallName(const testing::TestParamInfo<CutCall> &info) {
  return info.param.kernel + ("_" + std::to_string(info.index));
}

/// Sizes that are no multiples of vectors, so that what is in a vector's body in one call is in its tail in the other.
std::span<const CutCall> cutCalls();

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_KERNELS_CUTCALL_H
