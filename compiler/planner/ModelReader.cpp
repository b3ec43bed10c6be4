//===- ModelReader.cpp - the shape of a model in MLIR ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes come from the types of the ops that give them their meaning: heads from attention,
// the MLP's width from its activation, the vocabulary from the embedding's table.
//
//===----------------------------------------------------------------------===//

#include "compiler/planner/ModelReader.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cmath>

using namespace mlir;
using namespace tgpt;

namespace {

double lastDim(Value value) {
  return static_cast<double>(cast<RankedTensorType>(value.getType()).getShape().back());
}

SymbolRefAttr symbolRead(Value value) {
  auto read = value.getDefiningOp<ReadOp>();
  return read ? SymbolRefAttr(read.getSymbolAttr()) : SymbolRefAttr();
}

class ShapeReader {
public:
  explicit ShapeReader(ModuleOp module) : module(module) {}

  FailureOr<ModelFacts> read() {
    facts.name = module.getName().value_or("the model").str();
    SmallVector<RepeatOp> repeats;
    module.walk([&](RepeatOp repeat) { repeats.push_back(repeat); });
    if (repeats.size() != 1)
      return module.emitError()
             << "has " << repeats.size()
             << " tgpt.repeat, expected a model as tgpt-import writes it: one block that is repeated";
    repeat = repeats.front();
    if (repeat.getInits().size() != 1)
      return repeat.emitOpError() << "carries " << repeat.getInits().size() << " values, expected the hidden state";
    shape.layers = static_cast<double>(repeat.getCount());
    shape.hidden = lastDim(repeat.getInits().front());
    if (failed(readBlock()) || failed(readEnds()))
      return failure();
    countParameters();
    facts.shape = shape;
    return checked();
  }

private:
  LogicalResult readBlock() {
    AttentionOp attention;
    int64_t attentions = 0;
    Operation *activation = nullptr;
    shape.biases = shape.layerNorm = false;
    repeat.walk([&](Operation *op) {
      if (auto found = dyn_cast<AttentionOp>(op)) {
        attention = found;
        ++attentions;
      }
      if (isa<SwigluOp, GeluOp>(op))
        activation = op;
      if (auto linear = dyn_cast<LinearOp>(op))
        shape.biases |= bool(linear.getBias());
      shape.layerNorm |= isa<LayerNormOp>(op);
      shape.qkNorm |= isa<HeadNormOp>(op);
    });
    if (attentions != 1)
      return repeat.emitOpError() << "has " << attentions << " tgpt.attention in its block, expected one";
    if (!activation)
      return repeat.emitOpError() << "has neither tgpt.swiglu nor tgpt.gelu in its block, expected an MLP";
    shape.headDim = static_cast<double>(attention.getHeadDim());
    shape.heads = lastDim(attention.getQuery()) / shape.headDim;
    shape.kvHeads = lastDim(attention.getKey()) / shape.headDim;
    shape.sequence = static_cast<double>(cast<RankedTensorType>(attention.getQuery().getType()).getDimSize(1));
    shape.ffnHidden = lastDim(activation->getResult(0));
    shape.gatedMlp = isa<SwigluOp>(activation);
    return success();
  }

  /// Masks of dropout are drawn again in the backward, so nothing is kept for it.
  LogicalResult readEnds() {
    EmbeddingOp embedding;
    CrossEntropyOp loss;
    module.walk([&](Operation *op) {
      if (auto found = dyn_cast<EmbeddingOp>(op))
        embedding = found;
      if (auto found = dyn_cast<CrossEntropyOp>(op))
        loss = found;
      if (auto add = dyn_cast<AddOp>(op); add && !repeat->isProperAncestor(op))
        readPositions(add);
    });
    auto head = loss ? loss.getLogits().getDefiningOp<LinearOp>() : LinearOp();
    if (!embedding || !head)
      return module.emitError() << "has no " << (embedding ? "tgpt.linear that feeds its loss" : "tgpt.embedding")
                                << ", expected a language model";
    shape.vocabulary = lastDim(loss.getLogits());
    shape.tiedEmbedding =
        symbolRead(head.getWeight()) && symbolRead(head.getWeight()) == symbolRead(embedding.getTable());
    return success();
  }

  void readPositions(AddOp add) {
    for (Value operand : add->getOperands())
      if (symbolRead(operand))
        shape.learnedPositions = static_cast<double>(cast<RankedTensorType>(operand.getType()).getDimSize(0));
  }

  void countParameters() {
    for (auto parameter : module.getOps<ParameterOp>())
      facts.parameters +=
          cast<RankedTensorType>(parameter.getType()).getNumElements() * parameter.getPerLayer().value_or(1);
  }

  /// What the shape leaves out must not matter.
  FailureOr<ModelFacts> checked() {
    constexpr double mostDifference = 0.02;
    double counted = shape.parameters(), has = static_cast<double>(facts.parameters);
    if (std::abs(counted - has) <= mostDifference * has)
      return facts;
    return module.emitError() << "has " << facts.parameters << " parameters, but a GPT of its sizes would have "
                              << static_cast<int64_t>(counted)
                              << ": the closed forms know dense GPT-2 and LLaMA blocks alone";
  }

  ModuleOp module;
  RepeatOp repeat;
  ModelFacts facts;
  cost::ModelShape shape;
};

} // namespace

FailureOr<ModelFacts> tgpt::readModelFacts(ModuleOp module) {
  return ShapeReader(module).read();
}
