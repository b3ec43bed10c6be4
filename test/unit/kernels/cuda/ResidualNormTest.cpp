//===- ResidualNormTest.cpp - norms with the sum beside them ----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every case of a norm that the suite has, with a residual: against the references of the
// two kernels, within their bounds, and bit by bit against the two device kernels. With
// operands that are not aligned, and results that lie on operands, the bits must be those too.
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/Coverage.h"
#include "test/unit/kernels/ErrorBounds.h"
#include "test/unit/kernels/Judged.h"
#include "test/unit/kernels/cuda/GroupedCall.h"

#include <cstring>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

static bool isGradient(const Case &kase) {
  return kase.kernel.ends_with("_grad");
}

/// Cases of layer_norm, rms_norm and their gradients that the program has time for.
static std::vector<const Case *> normCases(int64_t mostElements = 40000) {
  std::vector<const Case *> cases;
  for (const Case &kase : allCases())
    if ((kase.kernel.starts_with("layer_norm") || kase.kernel.starts_with("rms_norm")) && isJudged(kase) &&
        kase.inputs[0].elements() <= mostElements)
      cases.push_back(&kase);
  return cases;
}

static std::vector<int64_t> shapeOf(Tensor &tensor) {
  TensorView view = tensor.view();
  return {view.shape.begin(), view.shape.begin() + view.rank};
}

namespace {
/// A norm's case and the other operand of the sum, with the results of a call.
struct Residual {
  Residual(const Case &kase, bool isBroadcast) : kase(kase) {
    std::vector<int64_t> shape = shapeOf(this->kase.inputs[isGradient(kase) ? 1 : 0]);
    if (isBroadcast)
      shape.erase(shape.begin());
    addend = drawn(kase.compute, shape, 7, -2, 2);
    inputs = kase.inputs;
    inputs.push_back(addend);
    outputs = kase.outputs;
    if (!isGradient(kase))
      outputs.push_back(kase.inputs[0]); // z, to be overwritten
  }

  /// In one call, over these views of the operands.
  void runTogether(std::span<const TensorView> in, std::span<const TensorView> out) const {
    runKernel(kase.kernel, {in, out, &kase.attributes});
  }
  std::vector<Tensor> together() const {
    std::vector<Tensor> in = inputs, out = outputs;
    runTogether(viewsOf(in), viewsOf(out));
    for (size_t i = 0; i < in.size(); ++i)
      EXPECT_EQ(in[i].bytes(), inputs[i].bytes()) << kase.label << ": input " << i << " was changed";
    for (Tensor &tensor : out)
      EXPECT_TRUE(tensor.guardIntact()) << kase.label;
    return out;
  }
  /// The same in two calls, over these views.
  void runApart(std::span<const TensorView> in, std::span<const TensorView> out) const {
    Attributes none;
    size_t own = kase.inputs.size();
    if (isGradient(kase)) {
      runKernel(kase.kernel, {in.first(own), out, &kase.attributes});
      TensorView sum[] = {in[own], out[0]};
      return runKernel("add", {sum, out.first(1), &none});
    }
    const TensorView &z = out.back();
    TensorView sum[] = {in[0], in[own]};
    runKernel("add", {sum, {&z, 1}, &none});
    std::vector<TensorView> norm(in.begin(), in.begin() + own);
    norm[0] = z;
    runKernel(kase.kernel, {norm, out.first(out.size() - 1), &kase.attributes});
  }
  std::vector<Tensor> apart() const {
    std::vector<Tensor> in = inputs, out = outputs;
    runApart(viewsOf(in), viewsOf(out));
    return out;
  }

  Case kase;
  Tensor addend{DType::F32, {}};
  std::vector<Tensor> inputs, outputs;
};
} // namespace

/// z by the reference of `add`, the norm by its own, of the very z.
static void judgeForward(const Residual &residual, const std::vector<Tensor> &got) {
  const Tensor &z = got.back();
  Case sum{"add", residual.kase.label + ", sum", residual.kase.compute, {residual.inputs[0], residual.addend}, {z}, {}};
  Case norm = residual.kase;
  norm.inputs[0] = z;
  double worst = std::max(worstAgainstReference(sum, {z}), worstAgainstReference(norm, {got.begin(), got.end() - 1}));
  EXPECT_LE(worst, 1.0) << residual.kase.label;
  cover("add, " + residual.kase.kernel, residual.kase, worst);
}

/// dx may be off by its bound, and what is then added is rounded as `add` may round it.
static void judgeBackward(const Residual &residual, const std::vector<Tensor> &got) {
  const Case &kase = residual.kase;
  std::vector<Tensor> expected = kase.run(*findKernel(KernelBackend::Reference, kase.kernel));
  auto bounds = errorBounds(kase, expected);
  Case sum{"add", kase.label + ", sum", kase.compute, {residual.addend, expected[0]}, {expected[0]}, {}};
  std::vector<Tensor> total = sum.run(*findKernel(KernelBackend::Reference, "add"));
  std::vector<double> rounding = errorBounds(sum, total)[0];
  for (size_t i = 0; i < rounding.size(); ++i)
    bounds[0][i] = bounds[0][i] * (1 + 2 * roundoff(kase.compute)) + rounding[i];
  expected[0] = total[0];
  double worst = 0;
  for (size_t o = 0; o < expected.size(); ++o)
    worst = std::max(worst, worstRatio(got[o], expected[o], bounds[o]));
  EXPECT_LE(worst, 1.0) << kase.label;
  cover(kase.kernel + ", add", kase, worst);
}

TEST(ResidualNorms, AreWithinTheBoundsAndHaveTheBitsOfTwoCalls) {
  for (const Case *kase : normCases())
    for (bool isBroadcast : {false, true}) {
      if (isBroadcast &&
          (isGradient(*kase) || kase->inputs[0].elements() > 10000 || Tensor(kase->inputs[0]).view().rank < 2))
        continue;
      Residual residual(*kase, isBroadcast);
      std::vector<Tensor> got = residual.together();
      isGradient(*kase) ? judgeBackward(residual, got) : judgeForward(residual, got);
      expectSameBits(got, residual.apart(), kase->label);
    }
}

/// One element behind a multiple of 16 bytes, where no vector may be read.
TEST(ResidualNorms, NeedNoAlignment) {
  for (const Case *kase : normCases(2000)) {
    Residual residual(*kase, false);
    auto shifted = [&](bool isTogether) {
      std::vector<std::vector<char>> bytes;
      std::vector<std::vector<TensorView>> views;
      for (const std::vector<Tensor> *tensors : {&residual.inputs, &residual.outputs}) {
        std::vector<Tensor> own = *tensors;
        views.push_back(viewsOf(own));
        for (TensorView &view : views.back()) {
          bytes.emplace_back(view.bytes() + 32);
          char *at = bytes.back().data() + sizeInBytes(view.dtype); // malloc aligns it to 16
          std::memcpy(at, view.data, view.bytes());
          view.data = at;
        }
      }
      isTogether ? residual.runTogether(views[0], views[1]) : residual.runApart(views[0], views[1]);
      return bytes;
    };
    EXPECT_EQ(shifted(true), shifted(false)) << kase->label;
  }
}

/// The sum in the place of x, the norm in that of y; the gradient in that of the residual, of dy or of x.
TEST(ResidualNorms, MayLieOnWhatTheyRead) {
  for (const Case *kase : normCases(10000)) {
    Residual residual(*kase, false);
    std::vector<Tensor> expected = residual.apart();
    size_t own = kase->inputs.size();
    auto run = [&](std::vector<std::pair<size_t, size_t>> places) { // an output, and the input that it lies on
      std::vector<Tensor> in = residual.inputs, out = residual.outputs;
      std::vector<TensorView> inViews = viewsOf(in), outViews = viewsOf(out);
      for (auto [output, input] : places)
        outViews[output].data = inViews[input].data;
      residual.runTogether(inViews, outViews);
      for (auto [output, input] : places)
        std::memcpy(out[output].view().data, inViews[input].data, inViews[input].bytes());
      expectSameBits(out, expected, kase->label);
    };
    if (!isGradient(*kase)) {
      run({{kase->outputs.size(), 0}, {0, own}});
      continue;
    }
    for (size_t input : {own, size_t(0), size_t(1)})
      run({{0, input}});
  }
}
