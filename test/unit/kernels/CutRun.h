//===- CutRun.h - a kernel call and its parts ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Draws the operands of a call, runs it whole and in parts, and compares what they give.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_KERNELS_CUTRUN_H
#define TGPT_TEST_UNIT_KERNELS_CUTRUN_H

#include "test/unit/kernels/Case.h"
#include "test/unit/kernels/CutCall.h"

#include <optional>
#include <random>

namespace tgpt::test {

class CutRun {
public:
  explicit CutRun(const CutCall &call) : call(call) {}

  /// Elements of the whole outputs that the parts do not give, added in a tree where they are sums.
  int64_t countDifferent(const runtime::Kernel &kernel, runtime::DType dtype, bool isChunked, int64_t parts);
  /// Elements of the whole outputs that the nodes of the parts do not give.
  int64_t countDifferentNodes(const runtime::Kernel &kernel, const runtime::Kernel &sumNodes, runtime::DType dtype,
                              int64_t parts);

private:
  Tensor draw(runtime::DType dtype, const Shape &shape, bool isInteger);
  Case whole(runtime::DType dtype, bool isChunked);
  void setAttributes(Case &made, bool isChunked, int64_t part, int64_t parts) const;
  std::vector<Tensor> runPart(const Case &all, const runtime::Kernel &kernel, bool isChunked, int64_t part,
                              int64_t parts, std::optional<int64_t> node = {}) const;

  const CutCall &call;
  std::mt19937 random{7};
};

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_KERNELS_CUTRUN_H
