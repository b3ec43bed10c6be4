//===- Collectives.cpp - constraints of the collectives ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective's result layout follows from its operand's: each verifier says what
// the operand must look like, builds the layout that must come out, and compares.
// One shape check serves all, since a shard's shape follows from its layout.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/AxisNames.h"
#include "dialects/dist/Dist.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tgpt;
using namespace tgpt::dist;

using Axes = LayoutAttr::Axes;

static Axes without(ArrayRef<StringRef> axes, ArrayRef<StringRef> removed) {
  Axes rest;
  for (StringRef axis : axes)
    if (!llvm::is_contained(removed, axis))
      rest.push_back(axis);
  return rest;
}

static Axes joined(ArrayRef<StringRef> first, ArrayRef<StringRef> second) {
  Axes axes(first.begin(), first.end());
  axes.append(second.begin(), second.end());
  return axes;
}

//===----------------------------------------------------------------------===//
// Checks that all collectives share
//===----------------------------------------------------------------------===//

// Both types are local and the axes are distinct axes of the mesh.
static LogicalResult verifyAxesAndClaims(Operation *op, ArrayRef<StringRef> axes) {
  for (Type type : {op->getOperand(0).getType(), op->getResult(0).getType()})
    if (LayoutAttr layout = layoutOf(type); !layout || !layout.isLocal())
      return op->emitOpError() << "needs local types, whose layout says 'of' which global tensor they are a part";
  MeshOp mesh = meshOf(op);
  if (!mesh)
    return op->emitOpError() << "needs a dist.mesh in its module";
  if (axes.empty())
    return op->emitOpError() << "needs at least one axis";
  llvm::StringSet<> seen;
  for (StringRef axis : axes) {
    if (!seen.insert(axis).second)
      return op->emitOpError() << "names axis \"" << axis << "\" twice";
    if (!mesh.hasAxis(axis)) {
      InFlightDiagnostic error = op->emitOpError() << "axis \"" << axis << "\" is not an axis of the mesh";
      error.attachNote(mesh.getLoc()) << "mesh declared here";
      return error;
    }
  }
  return success();
}

static LogicalResult verifyDim(Operation *op, StringRef name, int64_t dim) {
  int64_t rank = layoutOf(op->getOperand(0)).getRank();
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError() << name << " is " << dim << " but the tensor has " << rank << " dims";
}

// An error about the operand, with a note where it comes from.
static InFlightDiagnostic emitOperandError(Operation *op) {
  InFlightDiagnostic error = op->emitOpError();
  if (Operation *producer = op->getOperand(0).getDefiningOp())
    error.attachNote(producer->getLoc()) << "operand comes from here, with layout " << layoutOf(op->getOperand(0));
  return error;
}

// The axes are the innermost of those that shard `dim`.
static LogicalResult verifyInnermost(Operation *op, LayoutAttr layout, int64_t dim, ArrayRef<StringRef> axes) {
  Axes present = layout.axesOf(dim);
  if (present.size() >= axes.size() && std::equal(axes.begin(), axes.end(), present.end() - axes.size()))
    return success();
  return emitOperandError(op) << quoted(axes) << " must be the innermost axes of operand dim " << dim
                              << ", which is sharded by " << quoted(present);
}

// The operand's layout does not use the axes (slice).
static LogicalResult verifyReplicated(Operation *op, LayoutAttr layout, ArrayRef<StringRef> axes) {
  for (StringRef axis : axes) {
    if (layout.isPartialOver(axis))
      return emitOperandError(op) << "operand must be replicated over \"" << axis << "\" but is partial over it";
    if (layout.dimOf(axis) >= 0)
      return emitOperandError(op) << "operand must be replicated over \"" << axis << "\" but its dim "
                                  << layout.dimOf(axis) << " is sharded by it";
  }
  return success();
}

static LogicalResult verifyPartial(Operation *op, LayoutAttr layout, ArrayRef<StringRef> axes,
                                   ReductionKind reduction) {
  for (StringRef axis : axes)
    if (!layout.isPartialOver(axis))
      return emitOperandError(op) << "operand is not partial over \"" << axis << "\" but over "
                                  << quoted(layout.partialAxes());
  if (!axes.empty() && layout.getReduction() != reduction)
    return emitOperandError(op) << "combines by " << stringifyReductionKind(reduction)
                                << " but the operand is partial by " << stringifyReductionKind(layout.getReduction());
  return success();
}

// The result has the layout that follows, and both shapes are what their layouts say.
static LogicalResult verifyResult(Operation *op, LayoutAttr expected) {
  LayoutAttr actual = layoutOf(op->getResult(0));
  if (actual != expected)
    return op->emitOpError() << "result has layout " << actual << " but " << expected << " follows";
  RankedTensorType input = tensorOf(op->getOperand(0).getType()), output = tensorOf(op->getResult(0).getType());
  if (input.getElementType() != output.getElementType())
    return op->emitOpError() << "operand has element type " << input.getElementType() << " but the result has "
                             << output.getElementType();
  MeshOp mesh = meshOf(op);
  for (auto [name, type] : {std::pair("operand", input), std::pair("result", output)}) {
    LayoutAttr layout = layoutOf(type);
    auto shape =
        localShape(layout.getGlobal().asArrayRef(), layout, mesh, [&] { return op->emitOpError(name) << " "; });
    if (failed(shape))
      return failure();
    for (auto [dim, size, claimed] : llvm::enumerate(type.getShape(), *shape))
      if (size != claimed) {
        InFlightDiagnostic error = op->emitOpError()
                                   << name << " dim " << dim << " is " << size << " but " << layout.getGlobal()[dim]
                                   << " over " << quoted(layout.axesOf(dim)) << " is " << claimed;
        error.attachNote(mesh.getLoc()) << "mesh declared here";
        return error;
      }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// One verifier an op
//===----------------------------------------------------------------------===//

static LogicalResult verifyStages(AllReduceOp op, ArrayRef<StringRef> axes) { // C3
  std::optional<ArrayRef<int64_t>> stages = op.getStages();
  if (!stages)
    return success();
  if (!llvm::is_contained(axes, "pp"))
    return op.emitOpError() << "has stages but no axis \"pp\"";
  int64_t count = meshOf(op).sizeOf(StringRef("pp"));
  llvm::SmallSetVector<int64_t, 4> seen;
  for (int64_t stage : *stages) {
    if (stage < 0 || stage >= count)
      return op.emitOpError() << "stage " << stage << " is not in the range of \"pp\" = " << count;
    if (!seen.insert(stage))
      return op.emitOpError() << "names stage " << stage << " twice";
  }
  return success();
}

// The members of a group come in the order of its axes: that of the mesh, in which ranks hold the parts of a sum.
static LogicalResult verifyTree(Operation *op, bool isTree, ReductionKind reduction, ArrayRef<StringRef> axes) {
  if (!isTree)
    return success();
  if (reduction != ReductionKind::Sum)
    return op->emitOpError() << "adds in a tree but combines by max";
  size_t found = 0;
  for (StringRef axis : meshOf(op).getAxes().getAsValueRange<StringAttr>())
    found += found < axes.size() && axis == axes[found];
  if (found == axes.size())
    return success();
  return op->emitOpError() << "adds in a tree over axes in another order than the mesh's: " << quoted(axes);
}

LogicalResult AllReduceOp::verify() {
  Axes axes = axesIn(getAxes());
  if (failed(verifyAxesAndClaims(*this, axes)) || failed(verifyStages(*this, axes)) ||
      failed(verifyTree(*this, getTree(), getReduction(), axes))) // C4
    return failure();
  LayoutAttr input = layoutOf(getInput());
  if (failed(verifyPartial(*this, input, axes, getReduction()))) // C1
    return failure();
  return verifyResult(*this, input.withPartial(without(input.partialAxes(), axes), input.getReduction())); // C2
}

LogicalResult StageAddendOp::verify() {
  if (failed(verifyAxesAndClaims(*this, {StringRef("pp")}))) // C1
    return failure();
  LayoutAttr input = layoutOf(getInput());
  Axes partial = input.partialAxes();
  if (input.isPartialOver("pp") || (input.isPartial() && input.getReduction() != ReductionKind::Sum)) // C2
    return emitOperandError(*this) << "operand has layout " << input << ", of which there is no sum over \"pp\"";
  return verifyResult(*this, input.withPartial(joined(partial, {StringRef("pp")})));
}

LogicalResult AllGatherOp::verify() {
  Axes axes = axesIn(getAxes());
  if (failed(verifyAxesAndClaims(*this, axes)) || failed(verifyDim(*this, "dim", getDim())))
    return failure();
  LayoutAttr input = layoutOf(getInput());
  if (failed(verifyInnermost(*this, input, getDim(), axes))) // C1
    return failure();
  return verifyResult(*this, input.withDim(getDim(), without(input.axesOf(getDim()), axes))); // C2
}

LogicalResult ReduceScatterOp::verify() {
  Axes axes = axesIn(getAxes());
  if (failed(verifyAxesAndClaims(*this, axes)) || failed(verifyDim(*this, "dim", getDim())) ||
      failed(verifyTree(*this, getTree(), ReductionKind::Sum, axes))) // C3
    return failure();
  LayoutAttr input = layoutOf(getInput());
  if (failed(verifyPartial(*this, input, axes, ReductionKind::Sum))) // C1
    return failure();
  LayoutAttr reduced = input.withPartial(without(input.partialAxes(), axes));
  return verifyResult(*this, reduced.withDim(getDim(), joined(input.axesOf(getDim()), axes))); // C2
}

LogicalResult AllToAllOp::verify() {
  Axes axes = axesIn(getAxes());
  if (failed(verifyAxesAndClaims(*this, axes)) || failed(verifyDim(*this, "split", getSplit())) ||
      failed(verifyDim(*this, "concat", getConcat())))
    return failure();
  if (getSplit() == getConcat()) // C2
    return emitOpError() << "splits and concatenates the same dim " << getSplit();
  LayoutAttr input = layoutOf(getInput());
  if (failed(verifyInnermost(*this, input, getConcat(), axes))) // C1
    return failure();
  LayoutAttr gathered = input.withDim(getConcat(), without(input.axesOf(getConcat()), axes));
  return verifyResult(*this, gathered.withDim(getSplit(), joined(input.axesOf(getSplit()), axes)));
}

LogicalResult SliceOp::verify() {
  Axes axes = axesIn(getAxes());
  if (failed(verifyAxesAndClaims(*this, axes)) || failed(verifyDim(*this, "dim", getDim())))
    return failure();
  LayoutAttr input = layoutOf(getInput());
  if (failed(verifyReplicated(*this, input, axes))) // C1
    return failure();
  return verifyResult(*this, input.withDim(getDim(), joined(input.axesOf(getDim()), axes))); // C2
}

LogicalResult StackNodesOp::verify() {
  if (getInputs().empty())
    return emitOpError() << "needs at least one operand";
  Axes axes = axesIn(getAxes());
  if (failed(verifyAxesAndClaims(*this, axes)) || failed(verifyTree(*this, true, ReductionKind::Sum, axes))) // C1
    return failure();
  for (Type type : getInputs().getTypes())
    if (type != getInputs().front().getType())
      return emitOpError() << "operands differ in type: " << getInputs().front().getType() << " and " << type;
  LayoutAttr input = layoutOf(getInputs().front());
  if (failed(verifyPartial(*this, input, axes, ReductionKind::Sum)))
    return failure();
  RankedTensorType expected = stackedTypeOf(cast<RankedTensorType>(getInputs().front().getType()), // C2
                                            getInputs().size(), axes, meshOf(*this));
  if (getOutput().getType() != expected)
    return emitOpError() << "result is " << getOutput().getType() << " but " << expected << " follows";
  return success();
}

RankedTensorType tgpt::dist::stackedTypeOf(RankedTensorType addend, int64_t rows, ArrayRef<StringRef> axes,
                                           MeshOp mesh) {
  LayoutAttr layout = layoutOf(addend);
  SmallVector<Axes> dims = {Axes(axes.begin(), axes.end())};
  for (int64_t dim = 0; dim < layout.getRank(); ++dim)
    dims.push_back(layout.axesOf(dim));
  SmallVector<int64_t> shape = {rows}, global = {rows * mesh.sizeOf(axes)};
  llvm::append_range(shape, addend.getShape());
  llvm::append_range(global, layout.getGlobal().asArrayRef());
  MLIRContext *context = addend.getContext();
  LayoutAttr stacked = LayoutAttr::get(context, dims, without(layout.partialAxes(), axes), layout.getReduction());
  return RankedTensorType::get(shape, addend.getElementType(),
                               stacked.withGlobal(DenseI64ArrayAttr::get(context, global)));
}
