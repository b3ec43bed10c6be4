//===- MicroBatch.cpp - forward, backward and what is kept between them ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See MicroBatch.h.
//
//===----------------------------------------------------------------------===//

#include "passes/recompute/MicroBatch.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tgpt;

std::optional<int64_t> tgpt::layerOf(Operation *op) {
  auto layer = op->getAttrOfType<IntegerAttr>(layerAttributeName);
  return layer ? std::optional<int64_t>(layer.getInt()) : std::nullopt;
}

bool tgpt::canRunTwice(Operation *op) {
  return op->getNumResults() > 0 && op->getNumRegions() == 0 && isPure(op);
}

bool tgpt::isFree(Value value) {
  Operation *maker = value.getDefiningOp();
  return !maker || maker->getNumOperands() == 0;
}

static func::FuncOp findMicroBatch(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (auto phase = function->getAttrOfType<StringAttr>(phaseAttributeName); phase && phase == "micro_batch")
      return function;
  return {};
}

FailureOr<MicroBatch> MicroBatch::of(ModuleOp module) {
  func::FuncOp function = findMicroBatch(module);
  if (!function || function.isDeclaration() || !function.getBody().hasOneBlock())
    return module.emitError(
        "module has no function of one block with tgpt.phase \"micro_batch\"; tgpt-differentiate writes it");
  MicroBatch microBatch;
  bool isBackward = false;
  for (Operation &op : function.getBody().front().without_terminator())
    if (isa<BeginBackwardOp>(op))
      isBackward = true;
    else
      (isBackward ? microBatch.backward : microBatch.forward).push_back(&op);
  if (!isBackward)
    return function.emitError("the micro-batch has no tgpt.begin_backward; tgpt-differentiate writes it");
  return microBatch;
}

llvm::SetVector<Value> MicroBatch::keptValues() const {
  llvm::SmallPtrSet<Operation *, 32> makers(forward.begin(), forward.end());
  llvm::SetVector<Value> kept;
  for (Operation *op : backward)
    for (Value operand : op->getOperands())
      if (!isFree(operand) && makers.contains(operand.getDefiningOp()))
        kept.insert(operand);
  return kept;
}

int64_t MicroBatch::keptBytes() const {
  int64_t bytes = 0;
  for (Value value : keptValues())
    bytes += bytesOf(value.getType());
  return bytes;
}
