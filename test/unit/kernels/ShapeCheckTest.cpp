//===- ShapeCheckTest.cpp - a malformed call is refused, and says why -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/Case.h"

#include <functional>
#include <gtest/gtest.h>
#include <set>

using namespace tgpt::runtime;
using namespace tgpt::test;

static std::string check(Case kase) {
  std::vector<TensorView> inputs, outputs;
  for (Tensor &tensor : kase.inputs)
    inputs.push_back(tensor.view());
  for (Tensor &tensor : kase.outputs)
    outputs.push_back(tensor.view());
  return findKernel(KernelBackend::Cpu, kase.kernel)->check({inputs, outputs, &kase.attributes});
}

static std::vector<Case> wellFormed() {
  std::vector<Case> cases;
  for (const Case &kase : allCases())
    if (kase.compute == DType::F32)
      cases.push_back(kase);
  return cases;
}

static std::vector<int64_t> shapeOf(Tensor tensor) {
  TensorView view = tensor.view();
  return {view.shape.begin(), view.shape.begin() + view.rank};
}

/// `mutate` one operand of every case; the check must then find something.
static void expectRefused(const std::function<bool(Case &, Tensor &, bool isOutput)> &mutate, const char *what) {
  int64_t refused = 0;
  for (const Case &kase : wellFormed())
    for (size_t i = 0; i < kase.inputs.size() + kase.outputs.size(); ++i) {
      Case broken = kase;
      bool isOutput = i >= kase.inputs.size();
      Tensor &operand = isOutput ? broken.outputs[i - kase.inputs.size()] : broken.inputs[i];
      if (!mutate(broken, operand, isOutput))
        continue;
      EXPECT_NE(check(broken), "") << kase.label << ": operand " << i << " with " << what;
      ++refused;
    }
  EXPECT_GT(refused, 100);
}

/// Kernels that take any single shape or dtype have one operand free to change.
static bool isAlone(const Case &kase) {
  return kase.inputs.size() + kase.outputs.size() == 1;
}

TEST(ShapeCheck, AcceptsEveryWellFormedCall) {
  for (const Case &kase : wellFormed())
    EXPECT_EQ(check(kase), "") << kase.label;
}

/// Whether a legal call results when the operand's last dimension grows.
static bool lastDimensionIsFree(const Case &kase, bool isOutput) {
  static const std::set<std::string> logits = {"cross_entropy", "loss_statistics", "sum_squares"};
  bool isSlice = kase.kernel == "slice"; // has a test of its own
  bool sumsAll = kase.kernel == "sum_leading" && kase.outputs[0].elements() == 1;
  return isAlone(kase) || isSlice || sumsAll || (!isOutput && logits.count(kase.kernel));
}

TEST(ShapeCheck, RefusesAnotherSizeOfTheLastDimension) {
  expectRefused(
      [](Case &kase, Tensor &operand, bool isOutput) {
        std::vector<int64_t> shape = shapeOf(operand);
        bool isLogits = &operand == &kase.inputs.front();
        bool isSamples = kase.kernel == "accumulate_nodes" && &operand == &kase.inputs[1]; // as many as there are
        if (shape.empty() || isSamples || lastDimensionIsFree(kase, isOutput || !isLogits))
          return false;
        shape.back() += 1;
        operand = Tensor(operand.dtype(), shape);
        return true;
      },
      "one more in the last dimension");
}

TEST(ShapeCheck, RefusesAnotherDType) {
  expectRefused(
      [](Case &kase, Tensor &operand, bool isOutput) {
        if (isAlone(kase) || kase.kernel == "cast" || kase.kernel == "accumulate")
          return false;
        operand = Tensor(operand.dtype() == DType::I32 ? DType::F64 : DType::I32, shapeOf(operand));
        return true;
      },
      "another dtype");
}

TEST(ShapeCheck, RefusesAMissingOperand) {
  for (Case kase : wellFormed()) {
    kase.outputs.pop_back();
    EXPECT_NE(check(kase), "") << kase.label;
  }
}

TEST(ShapeCheck, RefusesDimensionsBelowOneAndOperandsWithoutData) {
  for (Case kase : wellFormed()) {
    std::vector<TensorView> inputs, outputs;
    for (Tensor &tensor : kase.inputs)
      inputs.push_back(tensor.view());
    for (Tensor &tensor : kase.outputs)
      outputs.push_back(tensor.view());
    KernelCall call{inputs, outputs, &kase.attributes};
    KernelShapeCheck check = findKernel(KernelBackend::Cpu, kase.kernel)->check;
    void *data = outputs[0].data;
    outputs[0].data = nullptr;
    EXPECT_EQ(check(call), "output 0: has no data") << kase.label;
    outputs[0].data = data;
    for (int64_t size : {int64_t(0), int64_t(-4), INT64_MAX}) {
      outputs[0].rank = 2;
      outputs[0].shape = {8, size};
      EXPECT_NE(check(call), "") << kase.label << ": dimension " << size;
    }
  }
}

/// The first f32 case of a kernel, with some attributes replaced.
static Case caseOf(const std::string &kernel) {
  for (const Case &kase : wellFormed())
    if (kase.kernel == kernel && kase.inputs[0].elements() > 20)
      return kase;
  ADD_FAILURE() << kernel;
  return {};
}

TEST(ShapeCheck, AttributesAreRequired) {
  for (const char *kernel : {"rms_norm", "layer_norm", "rope", "attention", "attention_grad", "adamw", "slice",
                             "dropout", "head_norm", "head_norm_grad"}) {
    Case kase = caseOf(kernel);
    kase.attributes = {};
    EXPECT_NE(check(kase).find("is missing"), std::string::npos) << kernel << ": " << check(kase);
  }
}

static Attributes attentionAttributes(int64_t headDim, int64_t causal = 1) {
  Attributes attributes;
  attributes.set("head_dim", headDim);
  attributes.set("causal", causal);
  attributes.set("scale", 0.5);
  return attributes;
}

TEST(ShapeCheck, HeadsMustDivide) {
  Case kase{"attention", "attention", DType::F32, {}, {}, attentionAttributes(4)};
  Tensor wide(DType::F32, {2, 5, 24}), narrow(DType::F32, {2, 5, 16});
  kase.inputs = {wide, narrow, narrow};
  kase.outputs = {wide, Tensor(DType::F32, {2, 6, 5})};
  EXPECT_EQ(check(kase), "6 query heads are no multiple of 4 KV heads");
  kase.attributes = attentionAttributes(7);
  EXPECT_EQ(check(kase), "input 0: last dimension is 24, no multiple of head_dim 7");
  kase.attributes = attentionAttributes(0);
  EXPECT_EQ(check(kase), "attribute head_dim is 0, expected at least 1");
  kase.attributes = attentionAttributes(4, 2);
  EXPECT_EQ(check(kase), "attribute causal is 2, expected at most 1");
}

TEST(ShapeCheck, LossStatisticsAreOfEqualParts) {
  auto statistics = [](std::vector<int64_t> shape, int64_t vocabulary) {
    Tensor logits(DType::F32, {2, 5, 24}), labels(DType::I32, {2, 5}), result(DType::F32, std::move(shape));
    Case kase{"loss_statistics", "loss_statistics", DType::F32, {logits, labels}, {result}, {}};
    if (vocabulary > 0)
      kase.attributes.set("vocabulary", vocabulary);
    return check(kase);
  };
  EXPECT_EQ(statistics({4, 2, 2, 5}, 0), "");
  EXPECT_EQ(statistics({4, 3, 2, 5}, 24), "");
  EXPECT_EQ(statistics({4, 3, 2, 5}, 0), "attribute vocabulary (integer) is missing");
  EXPECT_EQ(statistics({5, 2, 2, 5}, 0), "24 columns are not 5 equal parts");
  EXPECT_EQ(statistics({4, 4, 2, 5}, 0), "output 0: dimension 1 is 4, expected 2");
  EXPECT_EQ(statistics({2, 2, 5}, 0),
            "output 0: has 3 dimensions, expected 4: part, statistic and those of the labels");
}

TEST(ShapeCheck, TokenLossTakesTheMeanWhereLabelsAreSmoothed) {
  auto loss = [](int64_t kinds, double smoothing) {
    Tensor labels(DType::I32, {2, 5}), statistics(DType::F32, {4, kinds, 2, 5}), scalar(DType::F32, {});
    Case kase{"token_loss", "token_loss", DType::F32, {labels, statistics}, {}, {}};
    kase.outputs = {scalar, scalar, Tensor(DType::F32, {2, 5})};
    kase.attributes.set("label_smoothing", smoothing);
    return check(kase);
  };
  EXPECT_EQ(loss(2, 0), "");
  EXPECT_EQ(loss(3, 0.1), "");
  EXPECT_EQ(loss(2, 0.1), "input 1: dimension 1 is 2, expected 3");
  EXPECT_EQ(loss(3, 0), "input 1: dimension 1 is 3, expected 2");
}

TEST(ShapeCheck, RopeNeedsAnEvenHeadDim) {
  Case kase{"rope", "rope", DType::F32, {Tensor(DType::F32, {1, 2, 9})}, {Tensor(DType::F32, {1, 2, 9})}, {}};
  kase.attributes.set("head_dim", int64_t(3));
  kase.attributes.set("theta", 1e4);
  EXPECT_EQ(check(kase), "attribute head_dim is 3, expected an even number");
}

TEST(ShapeCheck, SliceStaysInside) {
  auto slice = [](int64_t dim, int64_t offset) {
    Case kase{"slice", "slice", DType::F32, {Tensor(DType::F32, {4, 6})}, {Tensor(DType::F32, {4, 2})}, {}};
    kase.attributes.set("dim", dim);
    kase.attributes.set("offset", offset);
    return check(kase);
  };
  EXPECT_EQ(slice(1, 4), "");
  EXPECT_NE(slice(1, 5).find("lie outside dimension 1 of size 6"), std::string::npos) << slice(1, 5);
  EXPECT_NE(slice(1, -1), "");
  EXPECT_NE(slice(2, 0), "");
  EXPECT_NE(slice(0, 0), "");
  EXPECT_NE(slice(1, INT64_MAX), "");
}

TEST(ShapeCheck, OffsetsAreNotNegative) {
  Case embedding = caseOf("embedding");
  embedding.attributes = {};
  embedding.attributes.set("vocab_offset", INT64_MIN);
  EXPECT_NE(check(embedding).find("attribute vocab_offset is"), std::string::npos) << check(embedding);
  Case rope = caseOf("rope");
  rope.attributes = {};
  rope.attributes.set("head_dim", int64_t(2));
  rope.attributes.set("theta", 1e4);
  rope.attributes.set("position_offset", int64_t(-1));
  EXPECT_EQ(check(rope), "attribute position_offset is -1, expected at least 0");
}

TEST(ShapeCheck, OnlySomeOutputsAccumulate) {
  Case kase = caseOf("linear");
  kase.attributes.set("accumulate", int64_t(1));
  EXPECT_NE(check(kase).find("attribute accumulate is 1"), std::string::npos) << check(kase);
}
