//===- FlatTensor.cpp - many local tensors side by side in one ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What flat tensors look like, and dist.pack and dist.unpack, which make and take
// them apart.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/FlatTensor.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tgpt;
using namespace tgpt::dist;

using Axes = LayoutAttr::Axes;

Axes tgpt::dist::shardingAxesOf(LayoutAttr layout) {
  Axes axes;
  for (int64_t dim = 0; dim < layout.getRank(); ++dim)
    axes.append(layout.axesOf(dim));
  return axes;
}

RankedTensorType tgpt::dist::flatTypeOf(RankedTensorType part, int64_t elements, ArrayRef<StringRef> partial,
                                        ArrayRef<StringRef> pieces, MeshOp mesh) {
  MLIRContext *context = part.getContext();
  Axes shards = shardingAxesOf(layoutOf(part));
  SmallVector<Axes> dims;
  SmallVector<int64_t> local, global;
  if (!shards.empty()) {
    dims.push_back(shards);
    local.push_back(1);
    global.push_back(mesh.sizeOf(shards));
  }
  dims.emplace_back(pieces);
  local.push_back(elements / mesh.sizeOf(pieces));
  global.push_back(elements);
  LayoutAttr layout = LayoutAttr::get(context, dims, partial).withGlobal(DenseI64ArrayAttr::get(context, global));
  return RankedTensorType::get(local, part.getElementType(), layout);
}

int64_t tgpt::dist::flatElementsOf(RankedTensorType flat) {
  return layoutOf(flat).getGlobal().asArrayRef().back();
}

Axes tgpt::dist::pieceAxesOf(RankedTensorType flat) {
  return layoutOf(flat).axesOf(flat.getRank() - 1);
}

static std::string axesText(ArrayRef<StringRef> axes) {
  return axes.empty() ? "no axis" : "\"" + llvm::join(axes, "\", \"") + "\"";
}

// Local, and of one dim or of two of which the first is one.
static LogicalResult verifyFlatType(RankedTensorType flat, function_ref<InFlightDiagnostic()> emitError) {
  LayoutAttr layout = layoutOf(flat);
  if (!layout || !layout.isLocal())
    return emitError() << "flat type " << flat
                       << " is not local: its layout does not say 'of' which global tensor it is a part";
  if (flat.getRank() == 1 || (flat.getRank() == 2 && flat.getDimSize(0) == 1))
    return success();
  return emitError() << "flat type " << flat << " has dims before the last that are not one";
}

static LogicalResult verifyPartType(RankedTensorType flat, const FlatPart &part,
                                    function_ref<InFlightDiagnostic()> emitError) {
  LayoutAttr layout = layoutOf(part.type);
  if (!layout || !layout.isLocal())
    return emitError() << part.name << " has type " << part.type << ", which is not local";
  if (part.type.getElementType() != flat.getElementType())
    return emitError() << part.name << " has element type " << part.type.getElementType() << " but the flat tensor has "
                       << flat.getElementType();
  Axes found = shardingAxesOf(layout), expected;
  if (flat.getRank() == 2)
    expected = layoutOf(flat).axesOf(0);
  if (found != expected)
    return emitError() << part.name << " is sharded by " << axesText(found) << " but the flat tensor's first dim by "
                       << axesText(expected);
  return success();
}

LogicalResult tgpt::dist::verifyFlat(RankedTensorType flat, ArrayRef<FlatPart> parts,
                                     function_ref<InFlightDiagnostic()> emitError) {
  if (failed(verifyFlatType(flat, emitError)))
    return failure();
  int64_t end = 0, elements = flatElementsOf(flat);
  for (const FlatPart &part : parts) {
    if (failed(verifyPartType(flat, part, emitError)))
      return failure();
    if (part.offset < end)
      return emitError() << part.name << " begins at element " << part.offset << " but what is before it ends at "
                         << end;
    end = part.offset + part.type.getNumElements();
    if (end > elements)
      return emitError() << part.name << " ends at element " << end << " of a flat tensor of " << elements;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// pack and unpack
//===----------------------------------------------------------------------===//

static LogicalResult verifyParts(Operation *op, RankedTensorType flat, TypeRange types, ArrayRef<int64_t> offsets,
                                 StringRef what) {
  if (types.size() != offsets.size()) // C2
    return op->emitOpError() << "has " << types.size() << " " << what << "s but " << offsets.size() << " offsets";
  SmallVector<FlatPart> parts;
  for (auto [i, type, offset] : llvm::enumerate(types, offsets))
    parts.push_back({(what + " " + Twine(i)).str(), cast<RankedTensorType>(type), offset});
  if (failed(verifyFlat(flat, parts, [&] { return op->emitOpError(); }))) // C1, C2, C3
    return failure();
  if (!pieceAxesOf(flat).empty())
    return op->emitOpError() << "flat type " << flat << " is a piece; parts are those of the whole";
  for (const FlatPart &part : parts)
    if (layoutOf(part.type).getPartial() != layoutOf(flat).getPartial()) // C4
      return op->emitOpError() << part.name << " is partial over " << axesText(layoutOf(part.type).partialAxes())
                               << " but the flat tensor over " << axesText(layoutOf(flat).partialAxes());
  return success();
}

LogicalResult PackOp::verify() {
  return verifyParts(*this, cast<RankedTensorType>(getOutput().getType()), getInputs().getTypes(), getOffsets(),
                     "operand");
}

LogicalResult UnpackOp::verify() {
  return verifyParts(*this, cast<RankedTensorType>(getInput().getType()), getOutputs().getTypes(), getOffsets(),
                     "result");
}
