//===- TensorGroupTest.cpp - many tensors in a launch -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call for many tensors against a call for each: the same bits, in as few launches as
// arguments of 4 KiB allow. Each tensor is judged by the reference too.
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/Coverage.h"
#include "test/unit/kernels/cuda/GroupedCall.h"

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

/// Runs `body`, in so many launches where they are counted.
static void expectLaunches(uint64_t launches, const auto &body) {
  uint64_t before = launchCount();
  body();
  if (launchCount() > 0) {
    EXPECT_EQ(launchCount() - before, launches);
  }
}

/// Odd sizes, one that has several blocks, and a single element.
static int64_t sizeOf(int i) {
  return i == 3 ? 40001 : i == 5 ? 1 : 7 + 13 * (i % 11);
}

namespace {
/// Parameters with gradients and moments, updated in place.
struct Parameters {
  Parameters(DType dtype, int count, double step) {
    for (int i = 0; i < count; ++i)
      for (int k = 0; k < 4; ++k)
        state.push_back(drawn(dtype, {sizeOf(i)}, uint32_t(4 * i + k), k == 3 ? 0 : -1, 1));
    for (double value : {0.7, 0.01, step}) {
      scalars.push_back(Tensor(dtype, {}));
      scalars.back().set(0, value);
    }
    for (auto [name, value] : {std::pair("beta1", 0.9), {"beta2", 0.95}, {"epsilon", 1e-8}, {"weight_decay", 0.1}})
      attributes.set(name, value);
  }
  int count() const { return int(state.size()) / 4; }

  /// The state after one call for all, or one for each; `rounded` gets the parameters in `to`, if that is one.
  std::vector<Tensor> update(bool isTogether, DType to, std::vector<Tensor> &rounded) const {
    std::vector<Tensor> after = state, shared = scalars;
    rounded.clear();
    for (int i = 0; to != DType::I32 && i < count(); ++i)
      rounded.push_back(Tensor(to, {sizeOf(i)}));
    std::vector<TensorView> in = viewsOf(after), last = viewsOf(shared), casts = viewsOf(rounded), out;
    for (int i = 0; i < count(); ++i) {
      std::vector<TensorView> own(in.begin() + 4 * i, in.begin() + 4 * i + 4), made = {own[0], own[2], own[3]};
      if (!casts.empty())
        made.push_back(casts[size_t(i)]);
      out.insert(out.end(), made.begin(), made.end());
      if (isTogether)
        continue;
      own.insert(own.end(), last.begin(), last.end());
      runKernel("adamw", {own, std::span(made).first(3), &attributes});
      if (!casts.empty())
        runKernel("cast", {std::span(own).first(1), std::span(made).subspan(3), &attributes});
    }
    if (isTogether) {
      in.insert(in.end(), last.begin(), last.end());
      runKernel("adamw", {in, out, &attributes});
    }
    return after;
  }

  std::vector<Tensor> state, scalars;
  Attributes attributes;
};
} // namespace

TEST(TensorGroups, AdamWOfManyParametersHasTheBitsOfOneAfterTheOther) {
  for (DType dtype : {DType::F32, DType::F64})
    for (DType to : {DType::I32, DType::BF16, DType::F16}) { // I32: none is rounded
      if (dtype == DType::F64 && to != DType::I32)
        continue;
      for (double step : {0.0, 3.0}) {
        Parameters parameters(dtype, 110, step);
        std::vector<Tensor> apartRounded, togetherRounded, together;
        std::vector<Tensor> apart = parameters.update(false, to, apartRounded);
        expectLaunches(3, [&] { together = parameters.update(true, to, togetherRounded); }); // 52 a launch
        for (size_t i = 0; i < apart.size(); ++i)
          ASSERT_EQ(together[i].bytes(), apart[i].bytes()) << i;
        for (size_t i = 0; i < apartRounded.size(); ++i)
          ASSERT_EQ(togetherRounded[i].bytes(), apartRounded[i].bytes()) << i;
        for (int i = 0; i < parameters.count(); ++i) {
          auto of = [&](const std::vector<Tensor> &all, int k) { return all[size_t(4 * i + k)]; };
          Case kase{"adamw", "adamw", dtype, {}, {}, parameters.attributes};
          for (int k = 0; k < 4; ++k)
            kase.inputs.push_back(of(parameters.state, k));
          kase.inputs.insert(kase.inputs.end(), parameters.scalars.begin(), parameters.scalars.end());
          kase.outputs = {kase.inputs[0], kase.inputs[2], kase.inputs[3]};
          double worst = worstAgainstReference(kase, {of(together, 0), of(together, 2), of(together, 3)});
          EXPECT_LE(worst, 1.0) << i;
          cover(to == DType::I32 ? "adamw, many" : "adamw, cast, many", kase, worst);
        }
      }
    }
}

TEST(TensorGroups, SumsOfSquaresOfManyTensorsHaveTheBitsOfEach) {
  Attributes none;
  for (DType dtype : {DType::F32, DType::F64}) {
    std::vector<Tensor> x, apart, together;
    for (int i = 0; i < 230; ++i) {
      x.push_back(drawn(dtype, {sizeOf(i)}, uint32_t(i)));
      apart.push_back(Tensor(dtype, {}));
    }
    together = apart;
    std::vector<TensorView> in = viewsOf(x), each = viewsOf(apart), all = viewsOf(together);
    for (size_t i = 0; i < x.size(); ++i)
      runKernel("sum_squares", {std::span(in).subspan(i, 1), std::span(each).subspan(i, 1), &none});
    // The workspace that one tensor needs holds parts of few: 32 of the 234 parts. In more, 112 tensors share two
    // launches.
    for (auto [more, launches] : {std::pair<size_t, uint64_t>(0, 16), {1 << 16, 6}}) {
      expectLaunches(launches, [&] { runKernel("sum_squares", {in, all, &none}, more); });
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(together[i].bytes(), apart[i].bytes()) << i;
        Case kase{"sum_squares", "sum_squares", dtype, {x[i]}, {apart[i]}, {}};
        double worst = worstAgainstReference(kase, {together[i]});
        EXPECT_LE(worst, 1.0) << i;
        cover("sum_squares, many", kase, worst);
        together[i].set(0, -1);
      }
    }
  }
}

TEST(TensorGroups, FillsManyTensors) {
  Attributes attributes;
  attributes.set("value", 2.0 / 3);
  for (DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F16, DType::I32}) {
    std::vector<Tensor> y;
    for (int i = 0; i < 230; ++i)
      y.push_back(drawn(dtype, {sizeOf(i)}, uint32_t(i)));
    std::vector<TensorView> out = viewsOf(y);
    expectLaunches(2, [&] { runKernel("fill", {{}, out, &attributes}); });
    for (Tensor &tensor : y) {
      Case kase{"fill", "fill", dtype, {}, {tensor}, attributes};
      EXPECT_EQ(kase.run(*findKernel(KernelBackend::Reference, "fill"))[0].bytes(), tensor.bytes());
      EXPECT_TRUE(tensor.guardIntact());
      cover("fill, many", kase, 0);
    }
  }
}
