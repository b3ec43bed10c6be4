//===- FactorAxes.cpp - which mesh axes shard which factor of an op ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/FactorAxes.h"

using namespace mlir;
using namespace tgpt;
using dist::LayoutAttr;

void FactorAxes::offer(StringRef dims, LayoutAttr layout) {
  for (auto [dim, factor] : llvm::enumerate(dims)) {
    LayoutAttr::Axes axes = layout.axesOf(dim);
    if (axes.empty() || axesOfFactor.count(factor))
      continue;
    if (canTake(factor, axes))
      axesOfFactor[factor] = axes;
    else
      ++declined;
  }
}

bool FactorAxes::isUsed(StringRef axis) const {
  for (const auto &[factor, axes] : axesOfFactor)
    if (llvm::is_contained(axes, axis))
      return true;
  return false;
}

bool FactorAxes::canTake(char factor, ArrayRef<StringRef> axes) const {
  if (rule.isBlocked(factor) || llvm::any_of(axes, [&](StringRef axis) { return isUsed(axis); }))
    return false;
  int64_t parts = mesh.sizeOf(axes);
  for (auto [value, dims] : llvm::zip_equal(op->getOperands(), rule.operands))
    if (!isDivisible(factor, dims, value, parts))
      return false;
  for (auto [value, dims] : llvm::zip_equal(op->getResults(), rule.results))
    if (!isDivisible(factor, dims, value, parts))
      return false;
  return true;
}

bool FactorAxes::isDivisible(char factor, StringRef dims, Value value, int64_t parts) const {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  for (auto [dim, letter] : llvm::enumerate(dims)) {
    // Only an innermost dim counts elements; elsewhere the factor counts units (lse: a number a head).
    int64_t unitElements = dim + 1 == dims.size() ? rule.unitElements(factor) : 1;
    if (letter == factor && (shape[dim] / unitElements) % parts != 0)
      return false;
  }
  return true;
}

LayoutAttr FactorAxes::layoutOf(StringRef dims) const {
  SmallVector<LayoutAttr::Axes> axes;
  for (char factor : dims) {
    auto found = axesOfFactor.find(factor);
    axes.push_back(found == axesOfFactor.end() ? LayoutAttr::Axes() : found->second);
  }
  return LayoutAttr::get(op->getContext(), axes);
}

SmallVector<StringRef> FactorAxes::reducedAxes(StringRef resultDims) const {
  SmallVector<StringRef> reduced;
  for (StringRef axis : mesh.getAxes().getAsValueRange<StringAttr>()) // mesh order: deterministic
    for (const auto &[factor, axes] : axesOfFactor) {
      bool isInOperand = llvm::any_of(rule.operands, [&, factor = factor](const std::string &dims) {
        return dims.find(factor) != std::string::npos;
      });
      if (isInOperand && !resultDims.contains(factor) && llvm::is_contained(axes, axis))
        reduced.push_back(axis);
    }
  return reduced;
}
