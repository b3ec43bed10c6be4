//===- BackwardTest.cpp - what the backwards of the ops build ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of gradients is judged by kernels and whole models; here it is
// what a pass relies on: each wanted operand gets a gradient of the right type,
// none else does, and nothing is read that getSavedForBackward does not name.
//
//===----------------------------------------------------------------------===//

#include "OpProgram.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tgpt;
using namespace tgpt::test;

namespace {

/// Gradients of one op, held in maps; parameters are what the test says.
class MapGradients : public Gradients {
public:
  Value of(Value value) override { return given.lookup(value); }
  bool isWanted(Value value) override { return wanted.contains(value); }
  void add(Value value, Value gradient) override { added[value].push_back(gradient); }
  RankedTensorType typeOf(Value value) override {
    auto type = cast<RankedTensorType>(value.getType());
    return parameters.contains(value) ? type.clone(accumulationType(type.getElementType())) : type;
  }

  DenseMap<Value, Value> given;
  llvm::SetVector<Value> wanted, parameters;
  llvm::MapVector<Value, SmallVector<Value>> added;
};

bool isFloat(Value value) {
  return isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType());
}

/// Builds the backward of `op` behind it, from ones as gradients of its first result.
struct Built {
  Built(DifferentiableOpInterface op, llvm::function_ref<void(MapGradients &)> prepare) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Value result = op->getResult(0);
    Value ones = FillOp::create(builder, op.getLoc(), gradients.typeOf(result), builder.getF64FloatAttr(1.0));
    gradients.given[result] = ones;
    prepare(gradients);
    Operation *before = ones.getDefiningOp(), *after = before->getNextNode();
    outcome = op.buildBackward(builder, gradients);
    for (Operation *built = before->getNextNode(); built != after; built = built->getNextNode())
      ops.push_back(built);
  }

  MapGradients gradients;
  SmallVector<Operation *> ops;
  LogicalResult outcome = failure();
};

TEST(Backward, GivesEachWantedOperandAGradientOfItsType) {
  OpProgram program;
  for (DifferentiableOpInterface op : program.all<DifferentiableOpInterface>()) {
    SCOPED_TRACE(op->getName().getStringRef().str());
    Built built(op, [&](MapGradients &gradients) {
      for (Value operand : op->getOperands())
        if (isFloat(operand))
          gradients.wanted.insert(operand);
    });
    ASSERT_TRUE(succeeded(built.outcome));
    for (Value operand : op->getOperands()) {
      if (!isFloat(operand))
        continue;
      ASSERT_EQ(built.gradients.added.count(operand), 1u);
      for (Value gradient : built.gradients.added[operand])
        EXPECT_EQ(gradient.getType(), built.gradients.typeOf(operand));
    }
  }
  EXPECT_TRUE(succeeded(verify(program.module())));
}

TEST(Backward, GivesParametersGradientsOfTheAccumulationType) {
  OpProgram program;
  auto op = cast<DifferentiableOpInterface>(program.find("linear", "wider"));
  Value weight = op->getOperand(1);
  Built built(op, [&](MapGradients &gradients) {
    gradients.wanted.insert(weight);
    gradients.parameters.insert(weight);
  });
  ASSERT_TRUE(succeeded(built.outcome));
  // The f32 gradient is rounded to the bf16 that the kernels take; dw stays in f32.
  ASSERT_EQ(built.ops.size(), 2u);
  EXPECT_TRUE(isa<CastOp>(built.ops[0]));
  EXPECT_TRUE(isa<LinearWgradOp>(built.ops[1]));
  EXPECT_TRUE(cast<RankedTensorType>(built.gradients.added[weight].front().getType()).getElementType().isF32());
}

TEST(Backward, BuildsNothingThatIsNotWanted) {
  OpProgram program;
  for (DifferentiableOpInterface op : program.all<DifferentiableOpInterface>()) {
    SCOPED_TRACE(op->getName().getStringRef().str());
    Built built(op, [](MapGradients &) {});
    EXPECT_TRUE(succeeded(built.outcome));
    EXPECT_TRUE(built.gradients.added.empty());
    // A cast of the incoming gradient may be left over: it is pure and has no use.
    for (Operation *leftOver : built.ops)
      EXPECT_TRUE(isa<CastOp>(leftOver) && leftOver->use_empty());
  }
}

TEST(Backward, ReadsOnlyWhatIsSaved) {
  OpProgram program;
  for (DifferentiableOpInterface op : program.all<DifferentiableOpInterface>()) {
    SCOPED_TRACE(op->getName().getStringRef().str());
    Built built(op, [&](MapGradients &gradients) { gradients.wanted.insert_range(op->getOperands()); });
    ASSERT_TRUE(succeeded(built.outcome));
    llvm::SetVector<Value> read;
    for (Operation *backward : built.ops)
      for (Value operand : backward->getOperands())
        if (!llvm::is_contained(built.ops, operand.getDefiningOp()) && operand != built.gradients.of(op->getResult(0)))
          read.insert(operand);
    SmallVector<Value> saved = op.getSavedForBackward();
    for (Value value : read)
      EXPECT_TRUE(llvm::is_contained(saved, value));
    for (Value value : saved)
      EXPECT_TRUE(read.contains(value));
  }
}

TEST(Backward, OfALossThatDoesNotReachItIsEmpty) {
  OpProgram program;
  auto op = cast<DifferentiableOpInterface>(program.find("cross_entropy"));
  MapGradients gradients;
  gradients.wanted.insert(op->getOperand(0));
  gradients.given[op->getResult(1)] = op->getResult(1); // the count does not depend on the logits
  OpBuilder builder(op);
  EXPECT_TRUE(succeeded(op.buildBackward(builder, gradients)));
  EXPECT_TRUE(gradients.added.empty());
}

TEST(Backward, RefusesGradientsOfWhatOnlyServesTheBackward) {
  OpProgram program;
  std::string message;
  ScopedDiagnosticHandler handler(program.context(), [&](Diagnostic &diagnostic) { message += diagnostic.str(); });
  for (auto [mnemonic, result] : {std::pair("rms_norm", 1), std::pair("layer_norm", 1), std::pair("layer_norm", 2),
                                  std::pair("attention", 1), std::pair("cross_entropy", 2)}) {
    SCOPED_TRACE(mnemonic);
    auto op = cast<DifferentiableOpInterface>(program.find(mnemonic));
    MapGradients gradients;
    gradients.given[op->getResult(result)] = op->getResult(result);
    OpBuilder builder(op);
    message.clear();
    EXPECT_TRUE(failed(op.buildBackward(builder, gradients)));
    EXPECT_NE(message.find("has no backward through result"), std::string::npos);
  }
}

TEST(Backward, OfRopeTurnsBack) {
  OpProgram program;
  auto op = cast<RopeOp>(program.find("rope"));
  Built built(op, [&](MapGradients &gradients) { gradients.wanted.insert(op.getInput()); });
  ASSERT_EQ(built.ops.size(), 1u);
  auto back = cast<RopeOp>(built.ops[0]);
  EXPECT_NE(back.getInverse(), op.getInverse());
  EXPECT_EQ(back.getHeadDim(), op.getHeadDim());
  EXPECT_EQ(back.getTheta(), op.getTheta());
}

TEST(Backward, OfDropoutDrawsTheSameMask) {
  OpProgram program;
  auto op = cast<DropoutOp>(program.find("dropout"));
  Built built(op, [&](MapGradients &gradients) { gradients.wanted.insert(op.getInput()); });
  ASSERT_EQ(built.ops.size(), 1u);
  auto back = cast<DropoutOp>(built.ops[0]);
  EXPECT_EQ(back.getProperties(), op.getProperties());
  EXPECT_EQ(back.getSamples(), op.getSamples());
  EXPECT_EQ(back.getStep(), op.getStep());
}

TEST(Backward, OfCrossEntropyHasTheLossesTerms) {
  OpProgram program;
  auto op = cast<CrossEntropyOp>(program.find("cross_entropy"));
  op.setLabelSmoothing(APFloat(0.1));
  op.setZLoss(APFloat(1e-4));
  Built built(op, [&](MapGradients &gradients) { gradients.wanted.insert(op.getLogits()); });
  ASSERT_EQ(built.ops.size(), 1u);
  EXPECT_EQ(cast<CrossEntropyGradOp>(built.ops[0]).getLabelSmoothingAttr(), op.getLabelSmoothingAttr());
  EXPECT_EQ(cast<CrossEntropyGradOp>(built.ops[0]).getZLossAttr(), op.getZLossAttr());
}

TEST(Backward, OfAnAddPassesTheGradientOn) {
  OpProgram program;
  auto op = cast<AddOp>(program.find("add"));
  Built built(op, [&](MapGradients &gradients) { gradients.wanted.insert_range(op->getOperands()); });
  EXPECT_TRUE(built.ops.empty());
  EXPECT_EQ(built.gradients.added[op.getLhs()].front(), built.gradients.of(op.getOutput()));
  EXPECT_EQ(built.gradients.added[op.getRhs()].front(), built.gradients.of(op.getOutput()));
}

} // namespace
