//===- Mesh.cpp - the device grid ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/AxisNames.h"
#include "dialects/dist/Dist.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tgpt::dist;

std::string tgpt::dist::quoted(ArrayRef<StringRef> axes) {
  return axes.empty() ? "no axis" : "\"" + llvm::join(axes, "\", \"") + "\"";
}

//===----------------------------------------------------------------------===//
// dist.mesh @mesh (dp = 2, pp = 2, tp = 2)
//===----------------------------------------------------------------------===//

ParseResult MeshOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<StringRef> axes;
  SmallVector<int64_t> sizes;
  auto parseAxis = [&]() -> ParseResult {
    return failure(parser.parseKeyword(&axes.emplace_back()) || parser.parseEqual() ||
                   parser.parseInteger(sizes.emplace_back()));
  };
  if (parser.parseSymbolName(name, "sym_name", result.attributes) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseAxis) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  result.addAttribute("axes", parser.getBuilder().getStrArrayAttr(axes));
  result.addAttribute("sizes", parser.getBuilder().getDenseI64ArrayAttr(sizes));
  return success();
}

void MeshOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printSymbolName(getSymName());
  printer << " (";
  llvm::interleaveComma(llvm::zip(getAxes().getAsValueRange<StringAttr>(), getSizes()), printer.getStream(),
                        [&](auto axis) { printer << std::get<0>(axis) << " = " << std::get<1>(axis); });
  printer << ")";
  printer.printOptionalAttrDict((*this)->getAttrs(), {"sym_name", "axes", "sizes"});
}

// Products of axis sizes, and their squares, stay far from overflow.
static constexpr int64_t maxRanks = 1 << 30;

// True for a name that a layout can print as a bare word.
static bool isAxisName(StringRef name) {
  return !name.empty() && (llvm::isAlpha(name[0]) || name[0] == '_') &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

LogicalResult MeshOp::verify() {
  if (getAxes().size() != getSizes().size())
    return emitOpError() << "names " << getAxes().size() << " axes but has " << getSizes().size() << " sizes";
  llvm::StringSet<> seen;
  int64_t ranks = 1;
  for (auto [axis, size] : llvm::zip(getAxes().getAsValueRange<StringAttr>(), getSizes())) {
    if (!isAxisName(axis)) // C1
      return emitOpError() << "axis name \"" << axis << "\" is not a word of letters, digits and '_'";
    if (!seen.insert(axis).second) // C1
      return emitOpError() << "axis \"" << axis << "\" appears twice";
    if (size < 1) // C2
      return emitOpError() << "axis \"" << axis << "\" has size " << size << " but 1 is the least";
    if (size > maxRanks / ranks) // C4
      return emitOpError() << "has more than " << maxRanks << " ranks";
    ranks *= size;
  }
  for (Operation *other = (*this)->getPrevNode(); other; other = other->getPrevNode()) // C3
    if (isa<MeshOp>(other)) {
      InFlightDiagnostic error = emitOpError() << "is the second mesh of the module";
      error.attachNote(other->getLoc()) << "first mesh declared here";
      return error;
    }
  return success();
}

bool MeshOp::hasAxis(StringRef axis) {
  return llvm::is_contained(getAxes().getAsValueRange<StringAttr>(), axis);
}

int64_t MeshOp::sizeOf(StringRef axis) {
  for (auto [name, size] : llvm::zip(getAxes().getAsValueRange<StringAttr>(), getSizes()))
    if (name == axis)
      return size;
  return 1;
}

int64_t MeshOp::sizeOf(ArrayRef<StringRef> axes) {
  int64_t product = 1;
  for (StringRef axis : axes)
    product *= sizeOf(axis);
  return product;
}

int64_t MeshOp::rankCount() {
  int64_t product = 1;
  for (int64_t size : getSizes())
    product *= size;
  return product;
}

MeshOp tgpt::dist::meshOf(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  for (; module; module = module->getParentOfType<ModuleOp>())
    for (Operation &candidate : *module.getBody())
      if (auto mesh = dyn_cast<MeshOp>(candidate))
        return mesh;
  return {};
}

FailureOr<SmallVector<int64_t>> tgpt::dist::localShape(ArrayRef<int64_t> globalShape, LayoutAttr layout, MeshOp mesh,
                                                       function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<int64_t> local(globalShape);
  for (int64_t dim = 0; dim < layout.getRank(); ++dim) {
    LayoutAttr::Axes axes = layout.axesOf(dim);
    int64_t shards = mesh.sizeOf(axes);
    if (shards == 1)
      continue;
    if (globalShape[dim] < shards || globalShape[dim] % shards != 0) {
      int64_t below = globalShape[dim] / shards * shards;
      InFlightDiagnostic error = emitError() << "dim " << dim << " is " << globalShape[dim] << " but \""
                                             << llvm::join(axes, "\", \"") << "\" = " << shards
                                             << " does not divide it; nearest legal size is ";
      if (below > 0 && globalShape[dim] - below <= below + shards - globalShape[dim])
        error << below;
      else
        error << below + shards;
      error.attachNote(mesh.getLoc()) << "mesh declared here";
      return failure();
    }
    local[dim] = globalShape[dim] / shards;
  }
  return local;
}
