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

void FactorAxes::offer(const ShardingRule::Dims &dims, LayoutAttr layout) {
  for (auto [dim, factors] : llvm::enumerate(dims)) {
    dist::DealtAxes dealt = dist::dealAxes(rule, factors, layout.axesOf(dim), mesh);
    declined += dealt.dealt < layout.axesOf(dim).size();
    for (auto [factor, axes] : llvm::zip_equal(factors, dealt.ofFactor))
      if (!take(factor, axes))
        break;
  }
}

/// True when the factor has these axes now.
bool FactorAxes::take(char factor, const LayoutAttr::Axes &axes) {
  auto found = axesOfFactor.find(factor);
  if (found != axesOfFactor.end())
    return found->second == axes;
  if (axes.empty())
    return true;
  if (!canTake(factor, axes)) {
    ++declined;
    return false;
  }
  axesOfFactor[factor] = axes;
  return true;
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

bool FactorAxes::isDivisible(char factor, const ShardingRule::Dims &dims, Value value, int64_t parts) const {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  for (auto [dim, factors] : llvm::enumerate(dims)) {
    if (!StringRef(factors).contains(factor))
      continue;
    const ShardingRule::Size *size = rule.sizeOf(factor);
    // Only an innermost dim counts elements; elsewhere the factor counts units (lse: a number a head).
    if ((size ? size->entries : shape[dim] / rule.unitElements(factor, dims)) % parts != 0)
      return false;
  }
  return true;
}

LayoutAttr FactorAxes::layoutOf(const ShardingRule::Dims &dims) const {
  SmallVector<LayoutAttr::Axes> axes(dims.size());
  for (auto [dim, factors] : llvm::enumerate(dims))
    for (char factor : factors)
      if (auto found = axesOfFactor.find(factor); found != axesOfFactor.end())
        axes[dim].append(found->second);
  return LayoutAttr::get(op->getContext(), axes);
}

SmallVector<StringRef> FactorAxes::reducedAxes(const ShardingRule::Dims &result) const {
  SmallVector<StringRef> reduced;
  for (StringRef axis : mesh.getAxes().getAsValueRange<StringAttr>()) // mesh order: deterministic
    for (const auto &[factor, axes] : axesOfFactor)
      if (rule.isReducedIn(factor, result) && llvm::is_contained(axes, axis))
        reduced.push_back(axis);
  return reduced;
}
