//===- GradientTest.cpp - backward kernels against finite differences -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each forward kernel, in f64: loss = sum of weight y over its first output,
// differentiated numerically with respect to every input element by the
// five-point formula, against the backward kernel fed with dy = weight.
//
// Bound: the formula's h^4/30 |d5 loss| and its rounding 3 u sum|weight y| / h. With
// h = 1e-3 and fifth derivatives below 1e3 both stay below 1e-10 of the loss's size.
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/Case.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <map>

using namespace tgpt::runtime;
using namespace tgpt::test;

using Find = std::function<const Kernel *(std::string_view)>;

namespace {
/// Output `output` of `call` is the gradient of forward input `input`.
struct GradientOf {
  size_t input;
  Case call;
  size_t output;
};
/// The backward calls of a forward call with outputs `y`, for dy = `weight`.
using Backward =
    std::function<std::vector<GradientOf>(const Case &, const std::vector<Tensor> &y, const Tensor &weight)>;
} // namespace

static Case backwardCase(const Case &forward, std::string kernel, std::vector<Tensor> inputs,
                         std::vector<Tensor> outputs) {
  return {
      kernel, kernel + " of " + forward.label, DType::F64, std::move(inputs), std::move(outputs), forward.attributes};
}

static std::vector<GradientOf> linearBackward(const Case &f, const std::vector<Tensor> &, const Tensor &dy) {
  std::vector<GradientOf> calls = {{0, backwardCase(f, "linear_dgrad", {dy, f.inputs[1]}, {f.inputs[0]}), 0},
                                   {1, backwardCase(f, "linear_wgrad", {dy, f.inputs[0]}, {f.inputs[1]}), 0}};
  if (f.inputs.size() > 2)
    calls.push_back({2, backwardCase(f, "sum_leading", {dy}, {f.inputs[2]}), 0});
  return calls;
}

static std::vector<GradientOf> rmsNormBackward(const Case &f, const std::vector<Tensor> &y, const Tensor &dy) {
  Case call = backwardCase(f, "rms_norm_grad", {dy, f.inputs[0], f.inputs[1], y[1]}, {f.inputs[0], f.inputs[1]});
  return {{0, call, 0}, {1, call, 1}};
}

static std::vector<GradientOf> layerNormBackward(const Case &f, const std::vector<Tensor> &y, const Tensor &dy) {
  Case call = backwardCase(f, "layer_norm_grad", {dy, f.inputs[0], f.inputs[1], y[1], y[2]},
                           {f.inputs[0], f.inputs[1], f.inputs[2]});
  return {{0, call, 0}, {1, call, 1}, {2, call, 2}};
}

static std::vector<GradientOf> attentionBackward(const Case &f, const std::vector<Tensor> &y, const Tensor &dy) {
  std::vector<Tensor> inputs = {dy, f.inputs[0], f.inputs[1], f.inputs[2], y[0], y[1]};
  inputs.insert(inputs.end(), f.inputs.begin() + 3, f.inputs.end()); // with dropout, samples and step
  Case call = backwardCase(f, "attention_grad", inputs, {f.inputs[0], f.inputs[1], f.inputs[2]});
  return {{0, call, 0}, {1, call, 1}, {2, call, 2}};
}

/// The gradient of a rotation is the rotation back.
static std::vector<GradientOf> ropeBackward(const Case &f, const std::vector<Tensor> &, const Tensor &dy) {
  Case call = backwardCase(f, "rope", {dy}, {f.inputs[0]});
  call.attributes = {};
  for (const char *name : {"head_dim", "position_offset"})
    call.attributes.set(name, f.attributes.integer(name));
  call.attributes.set("inverse", 1 - f.attributes.integer("inverse"));
  call.attributes.set("theta", f.attributes.real("theta"));
  return {{0, call, 0}};
}

static std::vector<GradientOf> geluBackward(const Case &f, const std::vector<Tensor> &, const Tensor &dy) {
  return {{0, backwardCase(f, "gelu_grad", {dy, f.inputs[0]}, {f.inputs[0]}), 0}};
}

static std::vector<GradientOf> swigluBackward(const Case &f, const std::vector<Tensor> &, const Tensor &dy) {
  Case call = backwardCase(f, "swiglu_grad", {dy, f.inputs[0], f.inputs[1]}, {f.inputs[0], f.inputs[1]});
  return {{0, call, 0}, {1, call, 1}};
}

static std::vector<GradientOf> embeddingBackward(const Case &f, const std::vector<Tensor> &, const Tensor &dy) {
  return {{1, backwardCase(f, "embedding_grad", {f.inputs[0], dy}, {f.inputs[1]}), 0}};
}

static std::vector<GradientOf> crossEntropyBackward(const Case &f, const std::vector<Tensor> &y, const Tensor &dy) {
  Case call = backwardCase(f, "cross_entropy_grad", {f.inputs[0], f.inputs[1], y[2], dy}, {f.inputs[0]});
  call.attributes.set("vocabulary", f.inputs[0].dim(-1));
  return {{0, call, 0}};
}

/// The gradient passes through the very mask of the forward.
static std::vector<GradientOf> dropoutBackward(const Case &f, const std::vector<Tensor> &, const Tensor &dy) {
  return {{0, backwardCase(f, "dropout", {dy, f.inputs[1], f.inputs[2]}, {f.inputs[0]}), 0}};
}

static std::vector<GradientOf> headNormBackward(const Case &f, const std::vector<Tensor> &, const Tensor &dy) {
  Case call = backwardCase(f, "head_norm_grad", {dy, f.inputs[0], f.inputs[1]}, {f.inputs[0], f.inputs[1]});
  return {{0, call, 0}, {1, call, 1}};
}

static const std::map<std::string, Backward> pairs = {{"attention", attentionBackward},
                                                      {"cross_entropy", crossEntropyBackward},
                                                      {"dropout", dropoutBackward},
                                                      {"embedding", embeddingBackward},
                                                      {"gelu", geluBackward},
                                                      {"head_norm", headNormBackward},
                                                      {"layer_norm", layerNormBackward},
                                                      {"linear", linearBackward},
                                                      {"rms_norm", rmsNormBackward},
                                                      {"rope", ropeBackward},
                                                      {"swiglu", swigluBackward}};

/// sum of weight y, and of |weight y|.
static std::pair<double, double> loss(const Case &kase, const Kernel &kernel, const Tensor &weight) {
  Tensor y = kase.run(kernel)[0];
  double sum = 0, magnitude = 0;
  for (int64_t i = 0; i < y.elements(); ++i) {
    sum += weight.get(i) * y.get(i);
    magnitude += std::abs(weight.get(i) * y.get(i));
  }
  return {sum, magnitude};
}

static void checkInput(const Case &forward, const Kernel &kernel, const Tensor &weight, size_t input,
                       const Tensor &gradient, const std::string &label) {
  constexpr double h = 1e-3;
  double size = loss(forward, kernel, weight).second + 1;
  for (int64_t i = 0; i < gradient.elements(); ++i) {
    auto at = [&](double steps) {
      Case moved = forward;
      moved.inputs[input].set(i, forward.inputs[input].get(i) + steps * h);
      return loss(moved, kernel, weight).first;
    };
    double numeric = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h);
    ASSERT_NEAR(gradient.get(i), numeric, 1e-9 * size) << label << ": input " << input << ", element " << i;
  }
}

static void checkGradients(const Case &forward, const Backward &backward, const Find &find) {
  const Kernel &kernel = *find(forward.kernel);
  std::vector<Tensor> y = forward.run(kernel);
  Tensor weight = forward.outputs[0]; // random values of the right shape
  for (const GradientOf &gradient : backward(forward, y, weight)) {
    Tensor got = gradient.call.run(*find(gradient.call.kernel))[gradient.output];
    checkInput(forward, kernel, weight, gradient.input, got, gradient.call.label);
  }
}

/// Small f64 cases of a forward kernel, in the order of additions that is the kernel's.
static std::vector<Case> forwardCases(const std::string &kernel) {
  std::vector<Case> small;
  for (const Case &kase : allCases()) {
    int64_t elements = 0;
    for (const Tensor &input : kase.inputs)
      elements += input.elements();
    bool isChunked = kase.attributes.integer("chunks") > 0;
    if (kase.kernel == kernel && kase.compute == DType::F64 && elements <= 700 && !isChunked)
      small.push_back(kase);
  }
  return small;
}

class Gradient : public testing::TestWithParam<std::string> {};

TEST_P(Gradient, AgreesWithFiniteDifferences) {
  std::vector<Case> cases = forwardCases(GetParam());
  ASSERT_GE(cases.size(), 2u);
  for (const Case &kase : cases) {
    checkGradients(kase, pairs.at(GetParam()),
                   [](std::string_view name) { return findKernel(KernelBackend::Reference, name); });
    for (const CpuKernelBuild &build : cpuKernelBuilds())
      checkGradients(kase, pairs.at(GetParam()), [&](std::string_view name) { return findKernel(build.table, name); });
  }
}

static std::vector<std::string> forwardNames() {
  std::vector<std::string> names;
  for (const auto &[name, backward] : pairs)
    names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Gradient, testing::ValuesIn(forwardNames()),
                         [](const auto &info) { return info.param; });
