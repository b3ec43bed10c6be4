//===- SplitFused.cpp - fused weights as weights of their own ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which rows of a fused weight make which part of the result?
//
//   y = x [a; b]^T; u, v = split y   ->   u = x a^T; v = x b^T
//
// The rows of a part are contiguous, so each part's weight is a window on the fused one.
//
// Relies on: layers written out (tgpt-unroll-layers). Leaves true: no tgpt.split.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/model/Passes.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tgpt {
#define GEN_PASS_DEF_SPLITFUSED
#include "passes/model/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

namespace {

/// "layers.0.attn.q.weight" for part "q" of "layers.0.attn.qkv.weight".
std::string partName(StringRef fused, StringRef part) {
  auto [stem, kind] = fused.rsplit('.');
  StringRef scope = stem.contains('.') ? stem.rsplit('.').first : StringRef();
  return ((scope.empty() ? Twine(part) : scope + "." + part) + (kind.empty() ? "" : "." + kind)).str();
}

struct SplitFusedPass : tgpt::impl::SplitFusedBase<SplitFusedPass> {
  void runOnOperation() override {
    SmallVector<SplitOp> splits;
    int64_t numLinears = 0;
    getOperation().walk([&](Operation *op) {
      numLinears += isa<LinearOp>(op);
      if (auto split = dyn_cast<SplitOp>(op))
        splits.push_back(split);
    });
    SymbolTable table(getOperation()); // a look-up in the module itself is linear
    symbols = &table;
    for (SplitOp split : splits)
      if (failed(takeApart(split)))
        return signalPassFailure();
    numKept += numLinears - splits.size();
  }

  LogicalResult takeApart(SplitOp split) {
    auto linear = split.getInput().getDefiningOp<LinearOp>();
    if (!linear || !linear.getOutput().hasOneUse()) {
      InFlightDiagnostic error = split.emitError() << "what is split is "
                                                   << (linear ? "read by others too" : "not the result of a linear")
                                                   << ", so it has no rows of a weight of its own";
      error.attachNote(split.getInput().getLoc()) << "it comes from here";
      return error;
    }
    FailureOr<ParameterOp> weight = parameterOf(linear, linear.getWeight(), "weight");
    FailureOr<ParameterOp> bias =
        linear.getBias() ? parameterOf(linear, linear.getBias(), "bias") : FailureOr<ParameterOp>(ParameterOp());
    if (failed(weight) || failed(bias))
      return failure();
    OpBuilder builder(linear);
    int64_t row = 0;
    for (auto [part, name] : llvm::zip_equal(split.getParts(), split.getNames().getAsValueRange<StringAttr>())) {
      int64_t rows = cast<RankedTensorType>(part.getType()).getShape().back();
      FailureOr<Value> ownWeight = declare(builder, linear, *weight, name, row, rows), ownBias = Value();
      if (*bias)
        ownBias = declare(builder, linear, *bias, name, row, rows);
      if (failed(ownWeight) || failed(ownBias))
        return failure();
      auto own = LinearOp::create(builder, linear.getLoc(), part.getType(), linear.getInput(), *ownWeight, *ownBias);
      own->setDiscardableAttrs(linear->getDiscardableAttrDictionary());
      part.replaceAllUsesWith(own.getOutput());
      row += rows;
      ++numParts;
    }
    erase(split, linear, {*weight, *bias});
    ++numSplit;
    return success();
  }

  /// The parameter that is read as `value`, and by `linear` alone.
  FailureOr<ParameterOp> parameterOf(LinearOp linear, Value value, StringRef what) {
    auto read = value.getDefiningOp<ReadOp>();
    auto parameter = read ? symbols->lookup<ParameterOp>(read.getSymbolAttr().getAttr()) : ParameterOp();
    if (!parameter)
      return linear.emitError() << "the " << what << " of a fused linear is not a parameter, so it has no parts";
    bool isShared =
        !value.hasOneUse() || !llvm::hasSingleElement(*SymbolTable::getSymbolUses(parameter, getOperation()));
    if (!isShared && !parameter.getWindow())
      return parameter;
    InFlightDiagnostic error = linear.emitError() << "the fused parameter '@" << parameter.getSymName() << "' "
                                                  << (isShared ? "has other readers" : "is a window already")
                                                  << " and cannot be taken apart";
    error.attachNote(parameter.getLoc()) << "declared here";
    return error;
  }

  /// Declares the window of `rows` rows from `row` on, and reads it before `linear`.
  FailureOr<Value> declare(OpBuilder &builder, LinearOp linear, ParameterOp fused, StringRef part, int64_t row,
                           int64_t rows) {
    std::string name = partName(fused.getSymName(), part);
    if (Operation *taken = symbols->lookup(name)) {
      InFlightDiagnostic error = linear.emitError() << "a part of '@" << fused.getSymName() << "' needs the name '@"
                                                    << name << "', which is taken";
      error.attachNote(taken->getLoc()) << "declared here";
      return error;
    }
    auto type = cast<RankedTensorType>(fused.getType());
    SmallVector<int64_t> shape(type.getShape()), at(type.getRank(), 0);
    shape[0] = rows;
    at[0] = row;
    OpBuilder declaration(fused);
    auto own = cast<ParameterOp>(declaration.clone(*fused));
    own.setSymName(name);
    own.setType(type.clone(shape));
    own.setWindowAttr(dist::WindowAttr::get(&getContext(), fused.getSymNameAttr(), type.getShape(), at));
    symbols->insert(own);
    auto read = ReadOp::create(builder, linear.getLoc(), own.getType(), own.getSymName());
    read->setDiscardableAttrs(linear->getDiscardableAttrDictionary());
    return read.getValue();
  }

  void erase(SplitOp split, LinearOp linear, ArrayRef<ParameterOp> fused) {
    split.erase();
    SmallVector<Value> operands(linear->getOperands());
    linear.erase();
    for (Value operand : operands)
      if (auto read = operand.getDefiningOp<ReadOp>(); read && read->use_empty())
        read.erase();
    for (ParameterOp parameter : fused)
      if (parameter)
        symbols->erase(parameter);
  }

  SymbolTable *symbols = nullptr;
};

} // namespace
