//===- CaseBuilder.h - writes a call down -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_KERNELS_CASEBUILDER_H
#define TGPT_TEST_UNIT_KERNELS_CASEBUILDER_H

#include "runtime/kernels/api/TypeDispatch.h"
#include "test/unit/kernels/Case.h"

#include <algorithm>
#include <random>

namespace tgpt::test {

using Shape = std::vector<int64_t>;
using Cases = std::vector<Case>;
using runtime::DType;

inline constexpr double epsilon = 1e-5; ///< of norms

/// Builds one case after the other; every tensor gets fresh values.
class CaseBuilder {
public:
  CaseBuilder(std::vector<Case> &cases, std::string kernel, DType compute) : cases(cases) {
    made.kernel = std::move(kernel);
    made.compute = compute;
    made.label = made.kernel + " " + std::string(runtime::name(compute));
    auto isOfKernel = [&](const Case &kase) { return kase.kernel == made.kernel; };
    auto number = std::count_if(cases.begin(), cases.end(), isOfKernel); // so other kernels' cases change no value
    random.seed(uint32_t(std::hash<std::string>()(made.kernel) + size_t(number)));
  }
  ~CaseBuilder() { cases.push_back(std::move(made)); }

  /// Inputs of `T` and of `A`, of values in [low, high).
  CaseBuilder &in(Shape shape, double low = -1, double high = 1) { return input(made.compute, shape, low, high); }
  CaseBuilder &inA(Shape shape, double low = -1, double high = 1) {
    return input(runtime::accumulatorOf(made.compute), shape, low, high);
  }
  /// Token ids or labels in [low, high).
  CaseBuilder &tokens(Shape shape, int low, int high) {
    Tensor tensor(DType::I32, shape);
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.set(i, std::uniform_int_distribution<int>(low, high - 1)(random));
    describe(shape);
    made.inputs.push_back(std::move(tensor));
    return *this;
  }
  CaseBuilder &input(DType dtype, Shape shape, double low, double high) {
    describe(shape);
    made.inputs.push_back(filled(dtype, shape, low, high));
    return *this;
  }
  /// Outputs start with values that a kernel must overwrite, or add to.
  CaseBuilder &out(Shape shape) { return output(made.compute, shape); }
  CaseBuilder &outA(Shape shape) { return output(runtime::accumulatorOf(made.compute), shape); }
  CaseBuilder &output(DType dtype, Shape shape) {
    made.outputs.push_back(filled(dtype, shape, -3, 3));
    return *this;
  }
  template <typename Value> CaseBuilder &set(std::string name, Value value) {
    made.label += " " + name + "=" + std::to_string(value);
    made.attributes.set(std::move(name), value);
    return *this;
  }
  CaseBuilder &integer(std::string name, int64_t value) { return set(std::move(name), value); }

private:
  Tensor filled(DType dtype, const Shape &shape, double low, double high) {
    Tensor tensor(dtype, shape);
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.set(i, low < high ? std::uniform_real_distribution<double>(low, high)(random) : low);
    return tensor;
  }
  void describe(const Shape &shape) {
    made.label += " [";
    for (size_t i = 0; i < shape.size(); ++i)
      made.label += (i ? "," : "") + std::to_string(shape[i]);
    made.label += "]";
  }

  std::vector<Case> &cases;
  Case made;
  std::mt19937 random;
};

// Families of kernels, a file each.

struct AttentionSize {
  int64_t batch, sequence, heads, kvHeads, c;
};
void addAttentionCases(Cases &cases, DType t, AttentionSize size);
/// Of heads of `c` channels.
void addRopeCases(Cases &cases, DType t, const Shape &shape, int64_t c);
/// Of embedding and loss: `v` is the extent of the vocabulary, `d` the width.
void addTokenCases(Cases &cases, DType t, int64_t b, int64_t s, int v, int64_t d);
/// Calls with sums in chunks.
void addChunkedCases(Cases &cases, DType t);

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_KERNELS_CASEBUILDER_H
