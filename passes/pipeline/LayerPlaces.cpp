//===- LayerPlaces.cpp - where the ops of a micro-batch run ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op is of the layer that its attribute says, else of that of its operands.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/LayerPlaces.h"
#include "dialects/dist/Dist.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tgpt;

LogicalResult LayerPlaces::place() {
  bool isBackward = false;
  for (Operation &op : ops()) {
    if (isa<BeginBackwardOp>(op)) {
      isBackward = true;
      continue;
    }
    Place place{-1, isBackward};
    bool startsFromNothing = isa<ReadOp>(op) || (op.getNumOperands() == 0 && isMemoryEffectFree(&op));
    if (auto layer = op.getAttrOfType<IntegerAttr>(layerAttributeName); layer && !startsFromNothing) {
      if (layer.getInt() < -1 || layer.getInt() > layerCount)
        return op.emitError() << "'" << layerAttributeName << "' is " << layer.getInt() << "; legal is -1 to "
                              << layerCount;
      place.part = layer.getInt() + 1;
    } else if (!startsFromNothing) {
      place.part = partByOperands(&op, isBackward);
    }
    places[&op] = place;
  }
  return success();
}

int64_t LayerPlaces::partByOperands(Operation *op, bool isBackward) const {
  int64_t part = -1;
  for (Value operand : op->getOperands())
    if (int64_t other = operand.getDefiningOp() ? of(operand.getDefiningOp()).part : -1; other >= 0)
      part = part < 0 ? other : isBackward ? std::min(part, other) : std::max(part, other);
  return part;
}

void LayerPlaces::findWeightGradients() {
  for (Operation &op : ops()) {
    auto servesWeights = [&](Value operand) { return ofWeights.contains(operand.getDefiningOp()); };
    if (of(&op).isBackward && of(&op).part >= 0 &&
        (op.hasTrait<ParameterGradient>() || llvm::any_of(op.getOperands(), servesWeights)))
      ofWeights.insert(&op);
  }
  for (Operation &op : llvm::reverse(ops()))
    if (onlyServesWeights(&op))
      ofWeights.insert(&op);
}

bool LayerPlaces::onlyServesWeights(Operation *op) const {
  bool isMovable = op->hasTrait<dist::Communicates>() || op->hasAttr(recomputedAttributeName);
  auto servesWeights = [&](Operation *user) { return ofWeights.contains(user); };
  if (!isMovable || !of(op).isBackward || of(op).part < 0 || op->use_empty() ||
      !llvm::all_of(op->getUsers(), servesWeights))
    return false;
  int64_t bytesToKeep = 0;
  for (Value operand : llvm::SmallDenseSet<Value>(op->operand_begin(), op->operand_end()))
    if (operand.getDefiningOp() && of(operand.getDefiningOp()).isBackward && of(operand.getDefiningOp()).part >= 0 &&
        llvm::none_of(operand.getUsers(), servesWeights))
      bytesToKeep += bytesOf(operand.getType());
  return bytesToKeep <= sumBytes(op->getResultTypes());
}

bool LayerPlaces::isKeptFor(Value value, Operation *user) const {
  Operation *maker = value.getDefiningOp();
  if (!of(user).isBackward || of(user).part < 0)
    return false;
  return of(maker).isBackward ? ofWeights.contains(user) && !ofWeights.contains(maker) : true;
}

bool LayerPlaces::isKept(Value value) const {
  Operation *maker = value.getDefiningOp();
  if (!maker || of(maker).part < 0)
    return false;
  return llvm::any_of(value.getUsers(), [&](Operation *user) { return isKeptFor(value, user); });
}

LayerPlaces::Parts LayerPlaces::partsThatKeep(OpResult value) const {
  Parts parts;
  for (Operation *user : value.getUsers())
    if (isKeptFor(value, user))
      parts.insert(of(user).part);
  Place made = of(value.getOwner());
  if (!parts.empty() && !made.isBackward && *parts.begin() < made.part)
    parts.insert(made.part);
  return parts;
}

AccumulateOp tgpt::fusedAccumulate(OpResult result) {
  auto kernel = dyn_cast<KernelOpInterface>(result.getOwner());
  if (!kernel || !kernel.canAccumulate(result.getResultNumber()) || !result.hasOneUse())
    return {};
  auto accumulate = dyn_cast<AccumulateOp>(*result.user_begin());
  return accumulate && !accumulate.getCarries() ? accumulate : AccumulateOp();
}
