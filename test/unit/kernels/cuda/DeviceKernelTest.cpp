//===- DeviceKernelTest.cpp - device kernels on the host --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the suite that judges every backend does not: what only device kernels promise.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/api/TypeDispatch.h"
#include "runtime/kernels/cuda/Queue.h"
#include "test/unit/kernels/ErrorBounds.h"
#include "test/unit/kernels/LossCase.h"
#include "test/unit/kernels/cuda/EmulatedBuilds.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::test;

static const Kernel &emulated(std::string_view name) {
  return *findKernel(judgedBuilds()[0].table, name);
}

/// Enough to fill several blocks, and little work; f16 has the code of bf16.
static bool isSmall(const Case &kase) {
  int64_t elements = 0;
  for (const Tensor &input : kase.inputs)
    elements += input.elements();
  return elements < 12000 && kase.compute != DType::F16 && isJudged(kase);
}

static std::vector<std::vector<char>> bitsOf(const std::vector<Tensor> &outputs) {
  std::vector<std::vector<char>> bits;
  for (const Tensor &output : outputs)
    bits.push_back(output.bytes());
  return bits;
}

/// Runs without expecting success.
static KernelStatus statusOf(Case kase, const Kernel &kernel) {
  std::vector<TensorView> inputs, outputs;
  for (Tensor &tensor : kase.inputs)
    inputs.push_back(tensor.view());
  for (Tensor &tensor : kase.outputs)
    outputs.push_back(tensor.view());
  return kernel.function({inputs, outputs, &kase.attributes});
}

/// Between barriers, threads may run in any order, and blocks always: a missing barrier,
/// or a sum over blocks, would show.
TEST(DeviceKernels, AnyOrderOfThreadsAndBlocksGivesTheSameBits) {
  for (const Case &kase : allCases()) {
    if (!isSmall(kase))
      continue;
    EXPECT_EQ(bitsOf(kase.run(*findKernel(judgedBuilds()[0].table, kase.kernel))),
              bitsOf(kase.run(*findKernel(judgedBuilds()[1].table, kase.kernel))))
        << kase.label;
  }
}

namespace {
/// A tensor whose data begins one element behind a multiple of 16 bytes.
struct Shifted {
  explicit Shifted(Tensor &tensor) : view(tensor.view()), storage(tensor.view().bytes() / sizeof(double) + 4) {
    view.data = reinterpret_cast<char *>(storage.data()) + sizeInBytes(view.dtype);
    std::memcpy(view.data, tensor.view().data, view.bytes());
  }
  TensorView view;
  std::vector<double> storage;
};
} // namespace

/// A view into a bucket begins at any element: no vector is read there.
TEST(DeviceKernels, OperandsNeedNoAlignment) {
  for (const Case &original : allCases()) {
    if (!isSmall(original))
      continue;
    Case kase = original;
    std::vector<Tensor> expected = kase.run(*findKernel(KernelBackend::Reference, kase.kernel));
    auto bounds = errorBounds(kase, expected);
    std::vector<Shifted> operands;
    for (std::vector<Tensor> *tensors : {&kase.inputs, &kase.outputs})
      for (Tensor &tensor : *tensors)
        operands.emplace_back(tensor);
    std::vector<TensorView> views;
    for (Shifted &operand : operands)
      views.push_back(operand.view);
    std::span all(views);
    KernelCall call{all.first(kase.inputs.size()), all.subspan(kase.inputs.size()), &kase.attributes};
    KernelStatus status = emulated(kase.kernel).function(call);
    ASSERT_TRUE(status.ok()) << kase.label << ": " << status.error;
    for (size_t o = 0; o < expected.size(); ++o) {
      Tensor got = expected[o];
      std::memcpy(got.view().data, call.outputs[o].data, call.outputs[o].bytes());
      for (int64_t i = 0; i < got.elements(); ++i) {
        bool isSame = got.get(i) == expected[o].get(i) || (std::isnan(got.get(i)) && std::isnan(expected[o].get(i)));
        ASSERT_LE(isSame ? 0 : std::abs(got.get(i) - expected[o].get(i)), bounds[o][i])
            << kase.label << ": output " << o;
      }
    }
  }
}

TEST(DeviceKernels, LossOfHugeLogitsIsFiniteAndOfNanIsNan) {
  for (double logit : {3e38, -3e38, 0.0}) {
    std::vector<Tensor> y = lossCase(logit, {0, -100, 3}, 16).run(emulated("cross_entropy"));
    EXPECT_TRUE(std::isfinite(y[0].get(0)));
    EXPECT_EQ(y[1].get(0), 2);
  }
  Case kase = lossCase(1, {0, 3}, 16);
  kase.inputs[0].set(5, NAN);
  EXPECT_TRUE(std::isnan(kase.run(emulated("cross_entropy"))[0].get(0)));
}

/// Each thread keeps a maximum of its own: one that has seen nothing but minus infinity, or comes last, changes
/// nothing.
TEST(DeviceKernels, LossOfMaskedLogitsIsThatOfTheOthers) {
  for (int64_t width : {16, 4096, 4099})
    for (int64_t only : {int64_t(0), width / 2, width - 1}) {
      Case kase = lossCase(-INFINITY, {int32_t(only)}, width);
      kase.inputs[0].set(only, -1e30);
      std::vector<Tensor> y = kase.run(emulated("cross_entropy"));
      EXPECT_EQ(y[0].get(0), 0) << width << ", " << only;
      EXPECT_EQ(y[2].get(0), double(-1e30f)) << width << ", " << only;
    }
}

TEST(DeviceKernels, LabelBeyondTheVocabularyIsAFault) {
  EXPECT_STREQ(statusOf(lossCase(1, {0, 16}, 16), emulated("cross_entropy")).error,
               "cross_entropy: a label is not below the vocabulary size");
}

TEST(DeviceKernels, MicroBatchBeyondTheCountIsAFault) {
  for (int number : {5, -1}) {
    Tensor x(DType::F32, {3}), micro(DType::I32, {});
    micro.set(0, number);
    Case kase{"accumulate_tree", "accumulate_tree", DType::F32, {x, micro}, {x, x, x}, {}};
    kase.attributes.set("micro_batches", int64_t(5));
    EXPECT_STREQ(statusOf(kase, emulated("accumulate_tree")).error,
                 "accumulate_tree: the micro-batch's number is not below their count");
  }
}

TEST(DeviceKernels, StepZeroOfAdamWKeepsEveryBit) {
  for (DType dtype : {DType::F64, DType::F32}) {
    Tensor state(dtype, {5}), gradient(dtype, {5}), nan(dtype, {}), zero(dtype, {});
    for (int64_t i = 0; i < 5; ++i) {
      state.set(i, 0.1 * double(i + 1));
      gradient.set(i, i == 1 ? NAN : INFINITY);
    }
    nan.set(0, NAN);
    Case kase{"adamw", "adamw", dtype, {state, gradient, state, state, nan, nan, zero}, {state, state, state}, {}};
    for (Tensor &output : kase.outputs)
      output.set(0, 7);
    for (const char *attribute : {"beta1", "beta2", "epsilon", "weight_decay"})
      kase.attributes.set(attribute, 0.5);
    for (const Tensor &result : kase.run(emulated("adamw")))
      EXPECT_EQ(result.bytes(), state.bytes());
  }
}

TEST(DeviceKernels, SpecialValuesOfGeluAndCasts) {
  Tensor x(DType::F32, {4});
  for (DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F16}) {
    Case kase{"gelu", "gelu", dtype, {Tensor(dtype, {4})}, {Tensor(dtype, {4})}, {}};
    for (int i = 0; i < 4; ++i)
      kase.inputs[0].set(i, std::vector<double>{1024, -1024, NAN, 0}[i]);
    Tensor y = kase.run(emulated("gelu"))[0];
    EXPECT_EQ(y.get(0), 1024);
    EXPECT_EQ(y.get(1), 0);
    EXPECT_TRUE(std::isnan(y.get(2)));
    EXPECT_EQ(y.get(3), 0);
  }
  for (int i = 0; i < 4; ++i)
    x.set(i, std::vector<double>{INFINITY, -1e30, NAN, 2.5}[i]);
  Tensor y = Case{"cast", "cast", DType::F32, {x}, {Tensor(DType::I32, {4})}, {}}.run(emulated("cast"))[0];
  EXPECT_EQ(y.get(0), INT32_MAX);
  EXPECT_EQ(y.get(1), INT32_MIN);
  EXPECT_EQ(y.get(2), 0);
  EXPECT_EQ(y.get(3), 2);
}

/// A run may go from one backend to the other: the masks of dropout have the same bits.
TEST(DeviceKernels, DropoutKeepsWhatTheCpuKeeps) {
  int64_t judged = 0;
  for (const Case &kase : allCases()) {
    if (kase.kernel != "dropout" || !isJudged(kase))
      continue;
    Tensor device = kase.run(emulated("dropout"))[0];
    Tensor host = kase.run(*findKernel(KernelBackend::Cpu, "dropout"))[0];
    EXPECT_EQ(device.bytes(), host.bytes()) << kase.label;
    ++judged;
  }
  EXPECT_GE(judged, 20);
}

/// Heads that fill no tile, exactly one, and need every size of forHeadSize.
TEST(DeviceKernels, AttentionOfEveryHeadSize) {
  for (DType dtype : {DType::F64, DType::F32, DType::BF16})
    for (int64_t c : {32, 64, 65, 96, 128, 200, 256}) {
      if (dtype == DType::F64 && c > 128)
        continue;
      constexpr int64_t s = 35;
      Tensor q(dtype, {1, s, 2 * c}), k(dtype, {1, s, c}), lse(accumulatorOf(dtype), {1, 2, s});
      for (int64_t i = 0; i < q.elements(); ++i)
        q.set(i, std::sin(double(3 * i)));
      for (int64_t i = 0; i < k.elements(); ++i)
        k.set(i, std::cos(double(5 * i)));
      Case kase{"attention", "attention of heads of " + std::to_string(c), dtype, {q, k, k}, {q, lse}, {}};
      kase.attributes.set("head_dim", c);
      kase.attributes.set("causal", int64_t(1));
      kase.attributes.set("scale", 1 / std::sqrt(double(c)));
      std::vector<Tensor> expected = kase.run(*findKernel(KernelBackend::Reference, "attention"));
      Case grad = kase;
      grad.kernel = "attention_grad";
      grad.inputs = {q, q, k, k, expected[0], expected[1]};
      grad.outputs = {q, k, k};
      for (const Case &judged : {kase, grad}) {
        std::vector<Tensor> want = judged.run(*findKernel(KernelBackend::Reference, judged.kernel));
        std::vector<Tensor> got = judged.run(emulated(judged.kernel));
        auto bounds = errorBounds(judged, want);
        for (size_t o = 0; o < got.size(); ++o)
          for (int64_t i = 0; i < got[o].elements(); ++i)
            ASSERT_LE(std::abs(got[o].get(i) - want[o].get(i)), bounds[o][i]) << judged.kernel << " " << judged.label;
      }
    }
}

TEST(DeviceKernels, HeadsThatDoNotFitAreRefused) {
  for (auto [dtype, c, most] : {std::tuple(DType::F32, 257, "256 in f32"), {DType::F64, 129, "128 in f64"}}) {
    Tensor q(dtype, {1, 2, c}), lse(dtype, {1, 1, 2});
    Case kase{"attention", "", dtype, {q, q, q}, {q, lse}, {}};
    kase.attributes.set("head_dim", int64_t(c));
    kase.attributes.set("causal", int64_t(1));
    kase.attributes.set("scale", 1.0);
    std::vector<TensorView> inputs, outputs;
    for (Tensor &tensor : kase.inputs)
      inputs.push_back(tensor.view());
    for (Tensor &tensor : kase.outputs)
      outputs.push_back(tensor.view());
    EXPECT_EQ(emulated("attention").check({inputs, outputs, &kase.attributes}),
              "attribute head_dim is " + std::to_string(c) + ", the device kernel takes at most " + most);
  }
}

TEST(DeviceKernels, AQueueWithoutWorkspaceIsAnError) {
  int32_t fault = 0;
  int64_t refused = 0;
  for (const cuda::DeviceKernel &kernel : cuda::emulated::kernelTable())
    for (const Case &original : allCases()) {
      if (original.kernel != kernel.entry.name || !kernel.workspaceBytes)
        continue;
      Case kase = original;
      std::vector<TensorView> inputs, outputs;
      for (Tensor &tensor : kase.inputs)
        inputs.push_back(tensor.view());
      for (Tensor &tensor : kase.outputs)
        outputs.push_back(tensor.view());
      KernelCall call{inputs, outputs, &kase.attributes};
      size_t bytes = kernel.workspaceBytes(call);
      if (bytes == 0)
        continue;
      std::vector<char> workspace(bytes);
      cuda::queue() = {nullptr, workspace.data(), bytes - 1, &fault};
      KernelStatus status = kernel.entry.kernel.function(call);
      cuda::queue() = {};
      EXPECT_STREQ(status.error, cuda::workspaceTooSmall) << kase.label;
      ++refused;
      break; // one call of each kernel
    }
  EXPECT_GE(refused, 10);
}
