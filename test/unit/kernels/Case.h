//===- Case.h - a kernel call that owns its operands ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_KERNELS_CASE_H
#define TGPT_TEST_UNIT_KERNELS_CASE_H

#include "runtime/kernels/api/Registry.h"

#include <string>
#include <vector>

namespace tgpt::test {

/// A tensor that owns its bytes. Guard bytes behind the data show writes beyond it.
class Tensor {
public:
  Tensor(runtime::DType dtype, std::vector<int64_t> shape);

  runtime::TensorView view();
  runtime::DType dtype() const { return type; }
  int64_t elements() const { return count; }
  int64_t dim(int i) const { return shape[i < 0 ? int(shape.size()) + i : i]; }
  double get(int64_t i) const;
  void set(int64_t i, double value);
  std::vector<double> values() const;
  bool guardIntact() const;
  std::vector<char> bytes() const;

private:
  runtime::DType type;
  std::vector<int64_t> shape;
  int64_t count = 1;
  std::vector<double> storage; ///< bytes, aligned for every dtype
};

/// Inputs and outputs hold their initial values; a run works on a copy.
struct Case {
  std::string kernel;
  std::string label;
  runtime::DType compute = runtime::DType::F32; ///< `T` of KERNELS.md
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  runtime::Attributes attributes;

  /// Runs on a copy of the operands; the check and the status must be clean.
  std::vector<Tensor> run(const runtime::Kernel &with) const;
  bool accumulates(size_t output) const { return attributes.integer("accumulate") >> output & 1; }
};

/// What the test program judges, a definition each: the builds of the cpu kernels, or the
/// device kernels in emulation.
std::span<const runtime::CpuKernelBuild> judgedBuilds();

/// Of these, those with a function of their own for the kernel.
std::vector<const runtime::CpuKernelBuild *> buildsOf(std::string_view kernel);

/// Whether a build's attention is cuDNN's: `roundsShares` of ErrorBounds.h.
bool roundsShares(const runtime::CpuKernelBuild &build);

/// Whether the program has time for this case.
bool isJudged(const Case &kase);

/// Every kernel over odd sizes, size 1, sizes beyond a block, both values of
/// every flag, in f64, f32, bf16 and f16. Values depend on the case alone.
const std::vector<Case> &allCases();

/// Cases of the sizes that several threads share.
std::vector<Case> largeCases();

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_KERNELS_CASE_H
