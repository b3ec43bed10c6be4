//===- CallChecker.h - the vocabulary of shape checks -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects the first thing that is wrong with a call. After a failure every
// further question is a no-op, so a check reads as a list of requirements.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_KERNELS_API_CALLCHECKER_H
#define TGPT_RUNTIME_KERNELS_API_CALLCHECKER_H

#include "runtime/kernels/api/Kernel.h"

#include <initializer_list>
#include <string>

namespace tgpt::runtime {

/// One operand of a call.
struct Operand {
  bool isOutput = false;
  size_t index = 0;
};
constexpr Operand input(size_t index) {
  return {false, index};
}
constexpr Operand output(size_t index) {
  return {true, index};
}

class CallChecker {
public:
  /// Operand counts (inputs in [minInputs, maxInputs]), and that every operand
  /// has data, a legal rank and dimensions of at least 1. `accumulable` is the
  /// mask of outputs that attribute "accumulate" may name.
  CallChecker(const KernelCall &call, size_t minInputs, size_t maxInputs, size_t outputs, int64_t accumulable = 0);

  /// Empty, or the first thing that is wrong.
  const std::string &error() const { return message; }
  bool failed() const { return !message.empty(); }
  void fail(std::string what);
  void fail(Operand operand, std::string what);

  bool has(Operand operand) const;
  /// Facts of an operand; 0 after a failure.
  int64_t dim(Operand operand, int i) const;
  int64_t rank(Operand operand) const;
  int64_t elements(Operand operand) const;

  /// Dtypes. computeType fixes `T` (f64, f32, bf16 or f16), and with it `A`.
  void computeType(std::initializer_list<Operand> operands);
  void accumulatorType(std::initializer_list<Operand> operands);
  void indexType(Operand operand);
  void realType(Operand operand);
  void sameType(Operand operand, Operand as);

  void minRank(Operand operand, int64_t least);
  void sameShape(Operand operand, Operand as);
  /// shape(operand) == shape(as) without its last dimension.
  void rowsShape(Operand operand, Operand as);
  /// shape(operand) == the last dimensions of `of`.
  void trailingShape(Operand operand, Operand of);
  void shape(Operand operand, std::initializer_list<int64_t> expected);
  void dimIs(Operand operand, int i, int64_t expected);
  void scalar(Operand operand);
  void requireInteger(std::string_view name, int64_t least, int64_t most = INT64_MAX);
  /// The same, for an attribute that may be absent (0 then).
  void optionalInteger(std::string_view name, int64_t least, int64_t most);
  void requireReal(std::string_view name);
  /// Attribute `chunks`, which may be absent (0 then), cuts `count` of `what` into equal parts.
  void optionalChunks(int64_t count, std::string_view what);
  /// Attributes `parts` and `nodes`, which may be absent, choose some of the chunks (ChunkRange.h).
  void chunkRange();
  int64_t integer(std::string_view name, int64_t otherwise = 0) const;

private:
  const TensorView &view(Operand operand) const;
  void checkCounts(size_t minInputs, size_t maxInputs, size_t outputs);
  void checkOperand(Operand operand);
  void typeIs(Operand operand, DType expected);

  const KernelCall &call;
  DType compute = DType::F32;
  std::string message;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_KERNELS_API_CALLCHECKER_H
