//===- TensorAxes.cpp - the mesh axes of tensor parallelism ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asks the sharding rules: a dim that is a product of factors is cut by the axes in
// turn, so tp must divide the outermost factor, or be a multiple of it that the next
// factor divides.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/TensorAxes.h"
#include "dialects/tgpt/Tgpt.h"

using namespace mlir;
using namespace tgpt;
using Axes = dist::LayoutAttr::Axes;

int64_t tgpt::nearestLegal(int64_t wanted, int64_t most, function_ref<bool(int64_t)> isLegal) {
  for (int64_t distance = 0;; ++distance) {
    if (int64_t below = wanted - distance; below >= 1 && below <= most && isLegal(below))
      return below;
    if (int64_t above = wanted + distance; above <= most && isLegal(above))
      return above;
  }
}

InFlightDiagnostic tgpt::failDivision(Operation *op, const Twine &what, int64_t count, int64_t tp, int64_t nearestTp) {
  InFlightDiagnostic error = op->emitError() << what << " is " << count << ", which tp = " << tp
                                             << " does not divide; the nearest legal tp is " << nearestTp;
  error.attachNote(op->getLoc()) << "with tp = " << tp << " the nearest legal size is "
                                 << std::max<int64_t>((count + tp / 2) / tp, 1) * tp;
  return error;
}

/// The factors of a product that may be sharded, outermost first.
static SmallVector<ShardingRule::Size> freeSizes(const ShardingRule &rule, StringRef dim) {
  SmallVector<ShardingRule::Size> sizes;
  for (char factor : dim)
    if (const ShardingRule::Size *size = rule.sizeOf(factor); size && !rule.isBlocked(factor))
      sizes.push_back(*size);
  return sizes;
}

/// The parts of `tp` that cut the factors, outermost first; nothing where none do.
static std::optional<SmallVector<int64_t>> cutsOf(ArrayRef<ShardingRule::Size> sizes, int64_t tp) {
  SmallVector<int64_t> cuts;
  for (const ShardingRule::Size &size : sizes) {
    if (size.entries % tp == 0) {
      cuts.push_back(tp);
      return cuts;
    }
    if (tp % size.entries != 0)
      return std::nullopt;
    cuts.push_back(size.entries); // 1 as well: one KV head is every rank's
    tp /= size.entries;
  }
  return std::nullopt;
}

/// The longest product among the dims of an op's operands and results.
static SmallVector<ShardingRule::Size> widestProduct(const ShardingRule &rule) {
  SmallVector<ShardingRule::Size> widest;
  for (const auto *groups : {&rule.operands, &rule.results})
    for (const ShardingRule::Dims &dims : *groups)
      for (const std::string &dim : dims)
        if (dim.size() > 1)
          if (SmallVector<ShardingRule::Size> sizes = freeSizes(rule, dim); sizes.size() > widest.size())
            widest = sizes;
  return widest;
}

/// Either all heads together are not divisible, or they are but not in the order of the factors.
static InFlightDiagnostic failProduct(Operation *op, ArrayRef<ShardingRule::Size> sizes, int64_t tp) {
  int64_t entries = 1;
  for (const ShardingRule::Size &size : sizes)
    entries *= size.entries;
  int64_t nearest = nearestLegal(tp, entries, [&](int64_t tp) { return cutsOf(sizes, tp).has_value(); });
  if (entries % tp != 0)
    return failDivision(op, "the number of heads", entries, tp, nearest);
  return failDivision(op, "the number of " + sizes.front().unitName + "s", sizes.front().entries, tp, nearest);
}

FailureOr<TensorAxisSizes> tgpt::splitTensorAxis(func::FuncOp model, int64_t tp) {
  TensorAxisSizes split{tp, 1};
  Operation *splitter = nullptr;
  for (Operation &op : model.getBody().front()) {
    if (isa<BeginBackwardOp>(op))
      break;
    auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
    SmallVector<ShardingRule::Size> sizes =
        ruled ? widestProduct(ruled.getShardingRule()) : SmallVector<ShardingRule::Size>();
    if (sizes.empty())
      continue;
    std::optional<SmallVector<int64_t>> cuts = cutsOf(sizes, tp);
    if (!cuts)
      return failProduct(&op, sizes, tp);
    if (cuts->size() < 2)
      continue;
    TensorAxisSizes needed{cuts->front(), tp / cuts->front()};
    if (splitter && needed.outer != split.outer) {
      InFlightDiagnostic error = op.emitError() << "has " << sizes.front().entries << " " << sizes.front().unitName
                                                << "s, so tp = " << tp << " is to be split into " << needed.outer
                                                << " x " << needed.inner;
      error.attachNote(splitter->getLoc()) << "but is split into " << split.outer << " x " << split.inner << " here";
      return error;
    }
    split = needed;
    splitter = &op;
  }
  return split;
}

/// How many of the axes the last dim of `dims` takes in factors that are not blocked.
static size_t countTaken(const ShardingRule &rule, StringRef dim, ArrayRef<StringRef> axes, dist::MeshOp mesh) {
  dist::DealtAxes dealt = dist::dealAxes(rule, dim, axes, mesh);
  size_t count = 0;
  for (auto [factor, taken] : llvm::zip_equal(dim, dealt.ofFactor)) {
    if (rule.isBlocked(factor))
      break;
    count += taken.size();
  }
  return count;
}

Axes tgpt::axesOfFeatures(Value value, ArrayRef<StringRef> axes, dist::MeshOp mesh) {
  size_t count = axes.size();
  for (Operation *user : value.getUsers()) {
    auto ruled = dyn_cast<ShardingRuleOpInterface>(user);
    if (!ruled)
      continue;
    ShardingRule rule = ruled.getShardingRule();
    for (auto [operand, dims] : llvm::zip_equal(user->getOperands(), rule.operands)) {
      if (operand != value || dims.empty())
        continue;
      const std::string &last = dims.back();
      if (last.size() > 1)
        count = std::min(count, countTaken(rule, last, axes, mesh));
      else if (!rule.isBlocked(last.front()))
        for (auto [result, resultDims] : llvm::zip_equal(user->getResults(), rule.results))
          if (!resultDims.empty() && resultDims.back() == last)
            count = std::min(count, axesOfFeatures(result, axes, mesh).size());
    }
  }
  return Axes(axes.begin(), axes.begin() + count);
}
