//===- UnrollLayers.cpp - write out the repeated block, one copy a layer ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What does each layer compute, with which parameters?
//
//   tgpt.repeat 2 (%h = %x) { f(%h, @"layers.*.w") }
//     ->   f(f(%x, @layers.0.w), @layers.1.w)
//
// The random stream of a dropout is named and written out like a parameter.
//
// Relies on: a verified L0 module. Leaves true: no tgpt.repeat and no per_layer
// parameter remain; every op of the function carries its layer (`tgpt.layer`).
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/model/Passes.h"

namespace tgpt {
#define GEN_PASS_DEF_UNROLLLAYERS
#include "passes/model/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

/// "layers.*.attn.q.weight", 3 -> "layers.3.attn.q.weight".
std::string nameOfLayer(StringRef pattern, int64_t layer) {
  auto [before, after] = pattern.split('*');
  return (before + Twine(layer) + after).str();
}

/// Replaces the per-layer parameters by one parameter a layer, layer by layer.
FailureOr<int64_t> unrollParameters(ModuleOp module) {
  SmallVector<ParameterOp> patterns;
  int64_t layers = 0;
  for (auto parameter : module.getOps<ParameterOp>())
    if (std::optional<int64_t> count = parameter.getPerLayer()) {
      patterns.push_back(parameter);
      layers = std::max(layers, *count);
    }
  if (patterns.empty())
    return 0;

  OpBuilder builder(patterns.front());
  int64_t created = 0;
  for (int64_t layer = 0; layer < layers; ++layer)
    for (ParameterOp pattern : patterns) {
      if (layer >= static_cast<int64_t>(*pattern.getPerLayer()))
        continue;
      std::string name = nameOfLayer(pattern.getSymName(), layer);
      if (Operation *taken = SymbolTable::lookupSymbolIn(module, name)) {
        InFlightDiagnostic error = pattern.emitError()
                                   << "layer " << layer << " needs the name '@" << name << "', which is taken";
        error.attachNote(taken->getLoc()) << "declared here";
        return failure();
      }
      auto parameter = cast<ParameterOp>(builder.clone(*pattern));
      parameter.setSymName(name);
      parameter.removePerLayerAttr();
      ++created;
    }
  for (ParameterOp pattern : patterns)
    pattern.erase();
  return created;
}

void setLayer(Operation *op, int64_t layer) {
  op->setAttr(layerAttributeName, Builder(op->getContext()).getI64IntegerAttr(layer));
}

/// Clones the body once a layer in front of the repeat and erases it.
void unroll(RepeatOp repeat) {
  OpBuilder builder(repeat);
  Block &body = repeat.getBody().front();
  SmallVector<Value> carried(repeat.getInits());
  for (int64_t layer = 0, layers = repeat.getCount(); layer < layers; ++layer) {
    IRMapping mapping;
    mapping.map(body.getArguments(), carried);
    for (Operation &op : body.without_terminator()) {
      Operation *clone = builder.clone(op, mapping);
      setLayer(clone, layer);
      if (auto read = dyn_cast<ReadOp>(clone); read && read.getSymbol().contains('*'))
        read.setSymbol(nameOfLayer(read.getSymbol(), layer));
      if (auto random = dyn_cast<RandomStreamOpInterface>(clone); random && !random.getStreamName().empty())
        random.setStreamName(nameOfLayer(random.getStreamName(), layer));
    }
    SmallVector<Value> next;
    for (Value yielded : body.getTerminator()->getOperands())
      next.push_back(mapping.lookupOrDefault(yielded));
    carried = std::move(next);
  }
  repeat.replaceAllUsesWith(carried);
  repeat.erase();
}

struct UnrollLayersPass : tgpt::impl::UnrollLayersBase<UnrollLayersPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<int64_t> created = unrollParameters(module);
    if (failed(created))
      return signalPassFailure();
    numParameters += *created;
    numKept += llvm::range_size(module.getOps<ParameterOp>()) - *created;
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(unrollFunction(function)))
        return signalPassFailure();
  }

  LogicalResult unrollFunction(func::FuncOp function) {
    auto repeats = llvm::to_vector(function.getOps<RepeatOp>());
    if (repeats.size() > 1) {
      InFlightDiagnostic error = repeats[1].emitError() << "a model has one repeated block, this is the second";
      error.attachNote(repeats[0].getLoc()) << "the first is here";
      return error;
    }
    int64_t layers = repeats.empty() ? 0 : static_cast<int64_t>(repeats[0].getCount());
    bool isBefore = !repeats.empty();
    for (Operation &op : function.getBody().front().without_terminator()) {
      setLayer(&op, isBefore ? -1 : layers);
      if (isa<RepeatOp>(op))
        isBefore = false;
    }
    if (!repeats.empty())
      unroll(repeats[0]);
    numLayers += layers;
    return success();
  }
};

} // namespace
