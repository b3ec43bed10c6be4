//===- TgptDialect.cpp - the tgpt dialect ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/KernelWorkspace.h"
#include "dialects/interfaces/AssemblyCount.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tgpt;

#include "dialects/tgpt/TgptDialect.cpp.inc"
#include "dialects/tgpt/TgptEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/tgpt/TgptAttrs.cpp.inc"
// nodes_of 2 part 0 of 3
static ParseResult parseNodesOf(OpAsmParser &parser, IntegerAttr &ranks, IntegerAttr &part, IntegerAttr &parts) {
  Builder &builder = parser.getBuilder();
  part = builder.getI64IntegerAttr(0);
  parts = builder.getI64IntegerAttr(1);
  if (failed(parser.parseOptionalKeyword("nodes_of")))
    return success();
  if (parseCount(parser, ranks))
    return failure();
  if (failed(parser.parseOptionalKeyword("part")))
    return success();
  return failure(parseCount(parser, part) || parser.parseKeyword("of") || parseCount(parser, parts));
}

static void printNodesOf(OpAsmPrinter &printer, Operation *, IntegerAttr ranks, IntegerAttr part, IntegerAttr parts) {
  if (!ranks)
    return;
  printer << "nodes_of " << ranks.getInt();
  if (parts.getInt() > 1)
    printer << " part " << part.getInt() << " of " << parts.getInt();
}

#define GET_OP_CLASSES
#include "dialects/tgpt/TgptOps.cpp.inc"

InitAttr InitAttr::get(MLIRContext *context, double mean, double stddev) {
  Builder builder(context);
  return get(context, builder.getF64FloatAttr(mean), builder.getF64FloatAttr(stddev));
}

LogicalResult InitAttr::verify(function_ref<InFlightDiagnostic()> emitError, FloatAttr mean, FloatAttr stddev) {
  auto isLegal = [&](StringRef name, FloatAttr number, bool isSigned) -> LogicalResult {
    if (number.getType().isF64() && number.getValue().isFinite() && (isSigned || !number.getValue().isNegative()))
      return success();
    SmallString<24> text;
    number.getValue().toString(text);
    return emitError() << name << " is " << text.str() << ", expected a finite f64 number"
                       << (isSigned ? "" : " of at least 0");
  };
  return success(succeeded(isLegal("mean", mean, true)) && succeeded(isLegal("stddev", stddev, false)));
}

Attribute InitAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  double mean = 0, stddev = 0;
  if (parser.parseLess() || parser.parseKeyword("mean") || parser.parseEqual() || parser.parseFloat(mean) ||
      parser.parseComma() || parser.parseKeyword("stddev") || parser.parseEqual() || parser.parseFloat(stddev) ||
      parser.parseGreater())
    return {};
  Builder &builder = parser.getBuilder();
  return parser.getChecked<InitAttr>(loc, parser.getContext(), builder.getF64FloatAttr(mean),
                                     builder.getF64FloatAttr(stddev));
}

void InitAttr::print(AsmPrinter &printer) const {
  printer << "<mean = ";
  printer.printFloat(getMeanAttr().getValue());
  printer << ", stddev = ";
  printer.printFloat(getStddevAttr().getValue());
  printer << ">";
}

LogicalResult ChunksAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t count, int64_t operand,
                                 int64_t dim) {
  if (count >= 1 && operand >= 0 && dim >= 0)
    return success();
  return emitError() << "count is " << count << ", operand " << operand << " and dim " << dim
                     << ", expected a count of at least 1 and operand and dim of at least 0";
}

LogicalResult NodeAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t index, ArrayAttr axes) {
  if (index >= 0 && axes && llvm::all_of(axes, llvm::IsaPred<StringAttr>))
    return success();
  return emitError() << "index is " << index << " and axes are " << axes
                     << ", expected an index of at least 0 and strings";
}

LogicalResult PartAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t index, int64_t count) {
  if (index >= 0 && index < count)
    return success();
  return emitError() << "index is " << index << " of " << count << ", expected at least 0 and below the count";
}

int64_t tgpt::localChunksOf(Operation *op) {
  auto chunks = op->getAttrOfType<ChunksAttr>(chunksAttributeName);
  if (!chunks)
    return 0;
  auto type = cast<RankedTensorType>(op->getOperand(chunks.getOperand()).getType());
  if (chunks.getDim() >= type.getRank()) // a scalar is one chunk
    return chunks.getCount();
  return chunks.getCount() * type.getDimSize(chunks.getDim()) / globalShapeOf(type)[chunks.getDim()];
}

int64_t tgpt::workspaceBytesOf(Operation *op, int64_t productBytes) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  if (!kernel)
    return 0;
  int64_t bytes = kernel.getWorkspaceBytes();
  auto costs = dyn_cast<CostOpInterface>(op);
  if (!costs || costs.getKernelKind() != cost::KernelKind::MatrixProduct)
    return bytes;
  Type element = cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
  bool isLibrarys = cost::isLibraryProduct(element.getIntOrFloatBitWidth() / 8, localChunksOf(op));
  return isLibrarys ? std::max(bytes, productBytes) : bytes;
}

// The dim exists, its chunks are equal, and a shard of it holds whole ones.
static LogicalResult verifyChunks(Operation *op, NamedAttribute attribute) {
  auto chunks = dyn_cast<ChunksAttr>(attribute.getValue());
  if (!chunks || !isa<ChunkedSumOpInterface>(op))
    return op->emitError() << attribute.getName() << " is " << attribute.getValue()
                           << (chunks ? ", but the op has no sum that is cut" : ", expected a #tgpt.chunks");
  auto type = chunks.getOperand() < int64_t(op->getNumOperands())
                  ? dyn_cast<RankedTensorType>(op->getOperand(chunks.getOperand()).getType())
                  : RankedTensorType();
  int64_t dims = type ? type.getRank() : 0;
  if (!type || chunks.getDim() >= std::max<int64_t>(dims, 1))
    return op->emitError() << attribute.getName() << " names dim " << chunks.getDim() << " of operand "
                           << chunks.getOperand() << ", but the op has " << (type ? "there " : "")
                           << (type ? dims : int64_t(op->getNumOperands())) << (type ? " dims" : " operands");
  if (dims == 0)
    return success();
  int64_t global = globalShapeOf(type)[chunks.getDim()], local = type.getDimSize(chunks.getDim());
  if (global % chunks.getCount() == 0 && local % (global / chunks.getCount()) == 0)
    return success();
  return op->emitError() << attribute.getName() << " cuts dim " << chunks.getDim() << " of operand "
                         << chunks.getOperand() << " into " << chunks.getCount() << " chunks, but " << local
                         << " of its " << global << " elements lie here: no whole number of chunks";
}

// Nodes are of chunks, and parts of samples, so that each is as many samples on every rank.
static LogicalResult verifyNode(Operation *op, NamedAttribute attribute) {
  if (isa<NodeAttr>(attribute.getValue()) && op->hasAttr(chunksAttributeName))
    return success();
  return op->emitError() << attribute.getName() << " is " << attribute.getValue() << ", expected a #tgpt.node beside "
                         << chunksAttributeName;
}

static LogicalResult verifyPart(Operation *op, NamedAttribute attribute) {
  auto part = dyn_cast<PartAttr>(attribute.getValue());
  auto sum = dyn_cast<ChunkedSumOpInterface>(op);
  std::optional<ChunkedDim> cut = sum ? sum.getChunkedDim() : std::nullopt;
  if (!part || !cut || cut->cut != ChunkedDim::Cut::EachElement)
    return op->emitError() << attribute.getName() << " is " << attribute.getValue()
                           << (part ? ", but the op has no sum over samples" : ", expected a #tgpt.part");
  int64_t samples = cast<RankedTensorType>(op->getOperand(cut->operand).getType()).getDimSize(cut->dim);
  if (samples % part.getCount() == 0)
    return success();
  return op->emitError() << attribute.getName() << " has " << part.getCount() << " parts, which do not divide the "
                         << samples << " samples";
}

// A problem with an attribute that any op may carry.
static LogicalResult verifyNamed(Operation *op, NamedAttribute attribute, bool isLegal, StringRef expected) {
  if (isLegal)
    return success();
  return op->emitError() << attribute.getName() << " is " << attribute.getValue() << ", expected " << expected;
}

LogicalResult TgptDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == layerAttributeName) {
    auto layer = dyn_cast<IntegerAttr>(attribute.getValue());
    return verifyNamed(op, attribute, layer && layer.getType().isInteger(64), "an i64");
  }
  if (attribute.getName() == phaseAttributeName) {
    auto phase = dyn_cast<StringAttr>(attribute.getValue());
    bool isLegal = phase && llvm::is_contained({"begin", "micro_batch", "update"}, phase.getValue());
    return verifyNamed(op, attribute, isLegal, "\"begin\", \"micro_batch\" or \"update\"");
  }
  if (attribute.getName() == chunksAttributeName)
    return verifyChunks(op, attribute);
  if (attribute.getName() == nodeAttributeName)
    return verifyNode(op, attribute);
  if (attribute.getName() == partAttributeName)
    return verifyPart(op, attribute);
  if (attribute.getName() == reductionAttributeName) {
    auto reduction = dyn_cast<StringAttr>(attribute.getValue());
    return verifyNamed(op, attribute, reduction && reduction.getValue() == "canonical", "\"canonical\"");
  }
  if (attribute.getName() == recomputeAttributeName)
    return verifyNamed(op, attribute, isa<BoolAttr>(attribute.getValue()), "true or false");
  if (attribute.getName() == modelShareAttributeName) {
    auto share = dyn_cast<FloatAttr>(attribute.getValue());
    bool isLegal = share && share.getType().isF64() && share.getValueAsDouble() > 0 && share.getValueAsDouble() <= 1;
    return verifyNamed(op, attribute, isLegal, "an f64 above 0 and at most 1");
  }
  if (attribute.getName() == recomputedAttributeName)
    return verifyNamed(op, attribute, isa<UnitAttr>(attribute.getValue()), "no value");
  return success();
}

static LogicalResult verifyName(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != "tgpt.name")
    return success();
  auto name = dyn_cast<StringAttr>(attribute.getValue());
  return verifyNamed(op, attribute, name && !name.getValue().empty(), "a string that is not empty");
}

LogicalResult TgptDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned, NamedAttribute attribute) {
  return verifyName(op, attribute);
}

LogicalResult TgptDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned, NamedAttribute attribute) {
  return verifyName(op, attribute);
}

void TgptDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/tgpt/TgptAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/tgpt/TgptOps.cpp.inc"
      >();
}
