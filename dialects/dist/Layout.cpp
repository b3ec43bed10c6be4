//===- Layout.cpp - how a tensor is spread over the mesh ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayoutAttr: its text form, its constraints and its accessors. The partial axes
// are kept in alphabetical order, so that equal layouts are the same attribute.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tgpt::dist;

static ArrayAttr axesAttr(MLIRContext *context, ArrayRef<StringRef> axes) {
  return Builder(context).getStrArrayAttr(axes);
}

static ArrayAttr sortedAxesAttr(MLIRContext *context, ArrayRef<StringRef> axes) {
  SmallVector<StringRef> sorted(axes);
  llvm::sort(sorted);
  return axesAttr(context, sorted);
}

LayoutAttr::Axes tgpt::dist::axesIn(ArrayAttr axes) {
  auto names = axes.getAsValueRange<StringAttr>();
  return LayoutAttr::Axes(names.begin(), names.end());
}

//===----------------------------------------------------------------------===//
// Text form: <[dp, {dp, tp}, -], partial = max [tp], of = [8, 64]>
//===----------------------------------------------------------------------===//

static ParseResult parseAxis(AsmParser &parser, SmallVectorImpl<StringRef> &axes) {
  StringRef axis;
  if (parser.parseKeyword(&axis))
    return failure();
  axes.push_back(axis);
  return success();
}

// One dim: `-`, an axis or `{` axes `}`.
static ParseResult parseDim(AsmParser &parser, SmallVectorImpl<ArrayAttr> &dims) {
  SmallVector<StringRef> axes;
  if (succeeded(parser.parseOptionalMinus())) {
    dims.push_back(axesAttr(parser.getContext(), {}));
    return success();
  }
  if (succeeded(parser.parseOptionalLBrace())) {
    if (parser.parseCommaSeparatedList([&] { return parseAxis(parser, axes); }) || parser.parseRBrace())
      return failure();
  } else if (parseAxis(parser, axes)) {
    return failure();
  }
  dims.push_back(axesAttr(parser.getContext(), axes));
  return success();
}

static ParseResult parsePartial(AsmParser &parser, SmallVectorImpl<StringRef> &axes, ReductionKind &reduction) {
  if (succeeded(parser.parseOptionalKeyword("max")))
    reduction = ReductionKind::Max;
  else
    (void)parser.parseOptionalKeyword("sum");
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return parseAxis(parser, axes); }))
    return failure();
  if (axes.empty())
    return parser.emitError(loc, "partial needs at least one axis");
  return success();
}

static ParseResult parseGlobal(AsmParser &parser, DenseI64ArrayAttr &global) {
  SmallVector<int64_t> shape;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(shape.emplace_back()); }))
    return failure();
  global = DenseI64ArrayAttr::get(parser.getContext(), shape);
  return success();
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<ArrayAttr> dims;
  SmallVector<StringRef> partial;
  ReductionKind reduction = ReductionKind::Sum;
  DenseI64ArrayAttr global;
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return parseDim(parser, dims); }))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    if (partial.empty() && !global && succeeded(parser.parseOptionalKeyword("partial"))) {
      if (parser.parseEqual() || parsePartial(parser, partial, reduction))
        return {};
    } else if (!global) {
      if (parser.parseKeyword("of") || parser.parseEqual() || parseGlobal(parser, global))
        return {};
    } else {
      parser.emitError(parser.getCurrentLocation(), "expected '>' after 'of'");
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<LayoutAttr>(loc, parser.getContext(), ArrayRef<ArrayAttr>(dims),
                                       sortedAxesAttr(parser.getContext(), partial), reduction, global);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  llvm::raw_ostream &os = printer.getStream();
  os << "<[";
  llvm::interleaveComma(getDims(), os, [&](ArrayAttr dim) {
    if (dim.empty())
      os << "-";
    else if (dim.size() == 1)
      os << cast<StringAttr>(dim[0]).getValue();
    else
      os << "{" << llvm::join(axesIn(dim), ", ") << "}";
  });
  os << "]";
  if (isPartial())
    os << ", partial = " << (getReduction() == ReductionKind::Max ? "max " : "") << "["
       << llvm::join(partialAxes(), ", ") << "]";
  if (isLocal()) {
    os << ", of = [";
    llvm::interleaveComma(getGlobal().asArrayRef(), os);
    os << "]";
  }
  os << ">";
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<ArrayAttr> dims,
                                 ArrayAttr partial, ReductionKind, DenseI64ArrayAttr global) {
  llvm::StringSet<> seen;
  auto insert = [&](ArrayAttr axes) -> LogicalResult {
    for (Attribute attribute : axes) {
      auto axis = dyn_cast<StringAttr>(attribute);
      if (!axis || axis.getValue().empty())
        return emitError() << "axes of a layout are names";
      if (!seen.insert(axis.getValue()).second) // C2
        return emitError() << "axis \"" << axis.getValue() << "\" appears twice in the layout";
    }
    return success();
  };
  for (ArrayAttr dim : dims)
    if (failed(insert(dim)))
      return failure();
  if (failed(insert(partial)))
    return failure();
  if (global && static_cast<size_t>(global.size()) != dims.size()) // C3
    return emitError() << "'of' has " << global.size() << " dims but the layout has " << dims.size();
  return success();
}

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getDims().size()) // C1
    return emitError() << "layout has " << getRank() << " dims but the tensor has " << shape.size();
  if (!isLocal())
    return success();
  for (auto [dim, local, global] : llvm::enumerate(shape, getGlobal().asArrayRef())) { // C3
    if (axesOf(dim).empty() ? local != global : local <= 0 || global % local != 0)
      return emitError() << "dim " << dim << " holds " << local << " elements "
                         << (axesOf(dim).empty() ? "and has no axes, but 'of' says " : "which do not divide the ")
                         << global;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Accessors
//===----------------------------------------------------------------------===//

LayoutAttr LayoutAttr::replicated(MLIRContext *context, int64_t rank) {
  return get(context, SmallVector<Axes>(rank));
}

LayoutAttr LayoutAttr::get(MLIRContext *context, ArrayRef<Axes> dims, ArrayRef<StringRef> partial,
                           ReductionKind reduction) {
  SmallVector<ArrayAttr> attributes;
  for (const Axes &axes : dims)
    attributes.push_back(axesAttr(context, axes));
  return get(context, ArrayRef<ArrayAttr>(attributes), sortedAxesAttr(context, partial),
             partial.empty() ? ReductionKind::Sum : reduction, DenseI64ArrayAttr());
}

LayoutAttr::Axes LayoutAttr::axesOf(int64_t dim) const {
  return axesIn(getDims()[dim]);
}

LayoutAttr::Axes LayoutAttr::partialAxes() const {
  return axesIn(getPartial());
}

bool LayoutAttr::isReplicated() const {
  return !isPartial() && llvm::all_of(getDims(), [](ArrayAttr dim) { return dim.empty(); });
}

int64_t LayoutAttr::dimOf(StringRef axis) const {
  for (int64_t dim = 0; dim < getRank(); ++dim)
    if (llvm::is_contained(axesOf(dim), axis))
      return dim;
  return -1;
}

bool LayoutAttr::isPartialOver(StringRef axis) const {
  return llvm::is_contained(partialAxes(), axis);
}

LayoutAttr LayoutAttr::withPartial(ArrayRef<StringRef> axes, ReductionKind reduction) const {
  return get(getContext(), getDims(), sortedAxesAttr(getContext(), axes), axes.empty() ? ReductionKind::Sum : reduction,
             getGlobal());
}

LayoutAttr LayoutAttr::withDim(int64_t dim, ArrayRef<StringRef> axes) const {
  SmallVector<ArrayAttr> dims(getDims());
  dims[dim] = axesAttr(getContext(), axes);
  return get(getContext(), dims, getPartial(), getReduction(), getGlobal());
}

LayoutAttr LayoutAttr::withGlobal(DenseI64ArrayAttr shape) const {
  return get(getContext(), getDims(), getPartial(), getReduction(), shape);
}

LayoutAttr tgpt::dist::layoutOf(Type type) {
  RankedTensorType tensor = tensorOf(type);
  return tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding()) : LayoutAttr();
}

RankedTensorType tgpt::dist::withLayout(RankedTensorType type, LayoutAttr layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(), layout);
}
