//===- VerifyLayouts.cpp - check layouts against an op's sharding rule ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The type check of distributed programs. An op's rule (an einsum of factors) and
// the layouts in its types must agree:
//
//   L1  all tensor types have a layout, or none; all are local, or all global
//   L2  a factor is sharded by the same axes wherever it appears
//   L3  an axis shards one factor only
//   L4  a blocked factor is not sharded
//   L5  a sharded dim divides, in whole units (heads) where its elements come in
//       them: in the innermost dim. Where it is a product of factors, the axes divide
//       them in turn, the outermost first
//   L6  operands are partial only where the op is linear in all of them together,
//       and then all over the same axes; or where it is linear in that operand, over
//       axes that neither shard a factor nor make another operand partial. Where the
//       order of additions is canonical no operand is partial
//   L7  a result is partial over exactly the axes of the operands' factors that it
//       lacks, and those its operands are partial over
//
// So a sum that is missing, or taken twice, does not verify.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/AxisNames.h"
#include "dialects/dist/Dist.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tgpt;
using namespace tgpt::dist;

using Axes = LayoutAttr::Axes;

namespace {

/// One operand or result.
struct Tensor {
  Value value;
  RankedTensorType type;
  LayoutAttr layout;
  std::string name; ///< "operand 1"
  const ShardingRule::Dims *dims;
  SmallVector<DealtAxes> dealt = {}; ///< a dim
};

/// One factor of one dim of a tensor.
struct Place {
  const Tensor *tensor;
  int64_t dim;
  size_t factor = 0; ///< which one of the dim

  Axes axes() const { return tensor->dealt[dim].ofFactor[factor]; }
  bool isProduct() const { return (*tensor->dims)[dim].size() > 1; }
  bool isInnermost() const { return dim + 1 == tensor->layout.getRank(); }
  int64_t globalSize() const {
    DenseI64ArrayAttr global = tensor->layout.getGlobal();
    return global ? global[dim] : tensor->type.getDimSize(dim);
  }
};

class LayoutCheck {
public:
  explicit LayoutCheck(Operation *op)
      : op(op), rule(cast<ShardingRuleOpInterface>(op).getShardingRule()), mesh(meshOf(op)) {}

  LogicalResult run() {
    if (addsCanonically(op) && !rule.addsNothing) {
      rule.linearity = ShardingRule::Linearity::None;
      rule.linearOperands.clear();
    }
    if (failed(collect("operand", op->getOperands(), rule.operands, operands)) ||
        failed(collect("result", op->getResults(), rule.results, results)))
      return failure();
    for (char factor : rule.factors())
      if (failed(checkFactor(factor)))
        return failure();
    if (failed(checkOperandPartials()))
      return failure();
    for (const Tensor &result : results)
      if (failed(checkResultPartial(result)))
        return failure();
    return success();
  }

private:
  // An error about `tensor`, with a note where it comes from.
  LogicalResult fail(const Tensor &tensor, const Twine &message) {
    InFlightDiagnostic error = op->emitOpError() << message;
    if (Operation *producer = tensor.value.getDefiningOp(); producer && producer != op)
      error.attachNote(producer->getLoc()) << tensor.name << " comes from here, with layout " << tensor.layout;
    return error;
  }

  LogicalResult collect(StringRef kind, ValueRange values, ArrayRef<ShardingRule::Dims> groups,
                        SmallVectorImpl<Tensor> &tensors) {
    if (groups.size() != values.size())
      return op->emitOpError() << "sharding rule has " << groups.size() << " " << kind << "s but the op has "
                               << values.size();
    for (auto [index, value] : llvm::enumerate(values)) {
      Tensor tensor{value, dyn_cast<RankedTensorType>(value.getType()), layoutOf(value),
                    (kind + " " + Twine(index)).str(), &groups[index]};
      if (!tensor.layout) // L1
        return fail(tensor, Twine(tensor.name) + " has no layout but other operands or results have one");
      if (tensor.layout.getRank() != static_cast<int64_t>(tensor.dims->size()))
        return op->emitOpError() << tensor.name << " has " << tensor.layout.getRank()
                                 << " dims but the op's sharding rule has " << tensor.dims->size();
      tensors.push_back(std::move(tensor));
      const Tensor &first = operands.empty() ? results.front() : operands.front();
      if (tensors.back().layout.isLocal() != first.layout.isLocal()) // L1
        return fail(tensors.back(), Twine(tensors.back().name) + " is " + scope(tensors.back()) + " but " + first.name +
                                        " is " + scope(first));
      if (failed(checkClaim(tensors.back())) || failed(deal(tensors.back())))
        return failure();
    }
    return success();
  }

  static StringRef scope(const Tensor &tensor) { return tensor.layout.isLocal() ? "local" : "global"; }

  // The axes are the mesh's, and a local type has the size that its claim gives.
  LogicalResult checkClaim(const Tensor &tensor) {
    if (!mesh)
      return success();
    for (int64_t dim = 0; dim < tensor.layout.getRank(); ++dim) {
      Place place{&tensor, dim};
      Axes axes = tensor.layout.axesOf(dim);
      for (StringRef axis : axes)
        if (!mesh.hasAxis(axis))
          return fail(tensor, Twine(tensor.name) + " dim " + Twine(dim) + " is sharded by \"" + axis +
                                  "\", which is not an axis of the mesh");
      int64_t local = tensor.type.getDimSize(dim), shards = mesh.sizeOf(axes);
      if (tensor.layout.isLocal() && local * shards != place.globalSize())
        return fail(tensor, Twine(tensor.name) + " dim " + Twine(dim) + " holds " + Twine(local) + " of " +
                                Twine(place.globalSize()) + " elements but " + quoted(axes) + " = " + Twine(shards) +
                                " makes shards of another size");
    }
    return success();
  }

  // Which axes shard which factor of each dim.
  LogicalResult deal(Tensor &tensor) {
    for (auto [dim, factors] : llvm::enumerate(*tensor.dims)) {
      Axes axes = tensor.layout.axesOf(dim);
      tensor.dealt.push_back(dealAxes(rule, factors, axes, mesh));
      if (const DealtAxes &dealt = tensor.dealt.back(); dealt.dealt < axes.size())
        return failDeal(tensor, dim, factors[dealt.next], axes);
    }
    return success();
  }

  LogicalResult failDeal(const Tensor &tensor, int64_t dim, char factor, const Axes &axes) { // L5
    const DealtAxes &dealt = tensor.dealt[dim];
    const ShardingRule::Size &size = *rule.sizeOf(factor);
    Axes cutting = dealt.ofFactor[dealt.next];
    cutting.push_back(axes[dealt.dealt]);
    int64_t shards = mesh.sizeOf(cutting);
    return fail(tensor, Twine(tensor.name) + " dim " + Twine(dim) + " has " + Twine(size.entries) + " " +
                            size.unitName + "s (factor '" + Twine(factor) + "') but " + quoted(cutting) + " = " +
                            Twine(shards) + " does not divide them; nearest legal number is " +
                            Twine(nearestMultiple(size.entries, shards)));
  }

  // The multiple of `step` nearest to `count`, the smaller of two equally near, but not 0.
  static int64_t nearestMultiple(int64_t count, int64_t step) {
    int64_t below = count / step * step;
    return below > 0 && count - below <= below + step - count ? below : below + step;
  }

  SmallVector<Place> placesOf(char factor) const {
    SmallVector<Place> places;
    for (const auto *tensors : {&operands, &results})
      for (const Tensor &tensor : *tensors)
        for (auto [dim, factors] : llvm::enumerate(*tensor.dims))
          if (size_t at = factors.find(factor); at != std::string::npos)
            places.push_back({&tensor, static_cast<int64_t>(dim), at});
    return places;
  }

  LogicalResult checkFactor(char factor) {
    SmallVector<Place> places = placesOf(factor);
    Axes axes = places.front().axes();
    for (const Place &place : places)
      if (place.axes() != axes) // L2
        return failAgreement(factor, places.front(), place);
    if (axes.empty())
      return success();
    if (rule.isBlocked(factor)) // L4
      return fail(*places.front().tensor, "factor '" + Twine(factor) + "' must not be sharded but " +
                                              places.front().tensor->name + " dim " + Twine(places.front().dim) +
                                              " is sharded by " + quoted(axes));
    for (StringRef axis : axes)
      if (auto [entry, isNew] = factorOfAxis.try_emplace(axis, factor); !isNew) // L3
        return op->emitOpError() << "axis \"" << axis << "\" shards factor '" << entry->second << "' and factor '"
                                 << factor << "'";
    for (const Place &place : places)
      if (failed(checkDivides(factor, place)))
        return failure();
    return success();
  }

  LogicalResult failAgreement(char factor, const Place &first, const Place &second) {
    const Place &sharded = first.axes().empty() ? second : first;
    const Place &other = first.axes().empty() ? first : second;
    std::string message = "factor '" + std::string(1, factor) + "' is sharded by " + quoted(sharded.axes()) + " in " +
                          sharded.tensor->name + " but " +
                          (other.axes().empty() ? "not" : "by " + quoted(other.axes())) + " in " + other.tensor->name;
    bool isOtherOperand = llvm::is_contained(op->getOperands(), other.tensor->value);
    return fail(isOtherOperand ? *other.tensor : *sharded.tensor, message);
  }

  LogicalResult checkDivides(char factor, const Place &place) { // L5
    if (!mesh || place.isProduct() || ShapedType::isDynamic(place.globalSize()))
      return success();
    int64_t unit = place.isInnermost() ? rule.unitElements(factor) : 1;
    int64_t shards = mesh.sizeOf(place.axes()), size = place.globalSize();
    if (size % unit == 0 && size / unit % shards == 0)
      return success();
    int64_t units = size / unit;
    std::string what = Twine(units).str() + " " + unitName(factor, unit) + "s";
    if (unit > 1)
      what += " of " + Twine(unit).str() + " elements";
    return fail(*place.tensor, Twine(place.tensor->name) + " dim " + Twine(place.dim) + " has " + what + " but " +
                                   quoted(place.axes()) + " = " + Twine(shards) +
                                   " does not divide them; nearest legal number is " +
                                   Twine(nearestMultiple(units, shards)));
  }

  std::string unitName(char factor, int64_t unit) const {
    for (const ShardingRule::Granularity &granularity : rule.granularities)
      if (unit > 1 && granularity.factor == factor)
        return granularity.unitName;
    return "element";
  }

  LogicalResult checkOperandPartials() { // L6
    for (auto [index, operand] : llvm::enumerate(operands)) {
      if (operand.layout.isPartial() && !rule.isLinearIn(index))
        return fail(operand, Twine(operand.name) + " is partial over " + quoted(operand.layout.partialAxes()) +
                                 " but the op is not linear in it");
      if (operand.layout.isPartial() && operand.layout.getReduction() != ReductionKind::Sum)
        return fail(operand, Twine(operand.name) + " is a partial maximum over " +
                                 quoted(operand.layout.partialAxes()) + " but the op is linear only in sums");
      if (rule.linearity == ShardingRule::Linearity::Joint &&
          operand.layout.getPartial() != operands.front().layout.getPartial())
        return failPartialAgreement(operands.front(), operand);
      if (rule.linearity == ShardingRule::Linearity::Each && failed(checkAddends(operand)))
        return failure();
    }
    return success();
  }

  // The addends of a product are the products of one operand's addends with the others.
  LogicalResult checkAddends(const Tensor &operand) {
    for (StringRef axis : operand.layout.partialAxes()) {
      if (auto found = factorOfAxis.find(axis); found != factorOfAxis.end())
        return fail(operand, Twine(operand.name) + " is partial over \"" + axis + "\", which shards factor '" +
                                 Twine(found->second) + "': only sums over it can be taken apart");
      for (const Tensor &other : operands)
        if (&other != &operand && other.layout.isPartialOver(axis))
          return fail(other, Twine(operand.name) + " and " + other.name + " are both partial over \"" + axis +
                                 "\": a product of sums is no sum of products");
    }
    return success();
  }

  LogicalResult failPartialAgreement(const Tensor &first, const Tensor &second) {
    const Tensor &partial = second.layout.isPartial() ? second : first;
    const Tensor &other = second.layout.isPartial() ? first : second;
    std::string rest = other.layout.isPartial() ? "over " + quoted(other.layout.partialAxes()) : "not";
    return fail(other, Twine(partial.name) + " is partial over " + quoted(partial.layout.partialAxes()) + " but " +
                           other.name + " is " + rest);
  }

  /// Axes over which `result` must be partial, each with its reason.
  llvm::MapVector<StringRef, std::string> expectedPartial(const Tensor &result) const {
    llvm::MapVector<StringRef, std::string> expected;
    for (const Tensor &operand : operands)
      for (StringRef axis : operand.layout.partialAxes())
        expected[axis] =
            rule.linearity == ShardingRule::Linearity::Joint ? "as the operands are" : "as " + operand.name + " is";
    for (const auto &[axis, factor] : factorOfAxis)
      if (rule.isReducedIn(factor, *result.dims))
        expected[axis] = std::string("which shards factor '") + factor + "' of the operands";
    return expected;
  }

  LogicalResult checkResultPartial(const Tensor &result) { // L7
    if (rule.mayBePartial)                                 // the addends of 0 are 0: it may stand for any partial sum
      return success();
    llvm::MapVector<StringRef, std::string> expected = expectedPartial(result);
    for (const auto &[axis, reason] : expected)
      if (!result.layout.isPartialOver(axis))
        return op->emitOpError() << result.name << " must be partial over \"" << axis << "\", " << reason
                                 << ", but is not";
    for (StringRef axis : result.layout.partialAxes())
      if (!expected.contains(axis))
        return op->emitOpError() << result.name << " is partial over \"" << axis
                                 << "\" but the operands give its whole value";
    if (!expected.empty() && result.layout.getReduction() != ReductionKind::Sum)
      return op->emitOpError() << result.name << " is a partial "
                               << stringifyReductionKind(result.layout.getReduction()) << " but the op reduces by sum";
    return success();
  }

  Operation *op;
  ShardingRule rule;
  MeshOp mesh;
  SmallVector<Tensor> operands, results;
  llvm::MapVector<StringRef, char> factorOfAxis;
};

} // namespace

LogicalResult tgpt::verifyLayouts(Operation *op) {
  auto hasLayout = [](Type type) { return layoutOf(type) != nullptr; };
  if (llvm::none_of(op->getOperandTypes(), hasLayout) && llvm::none_of(op->getResultTypes(), hasLayout))
    return success();
  return LayoutCheck(op).run();
}
