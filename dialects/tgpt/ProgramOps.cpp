//===- ProgramOps.cpp - parameters, state and program structure ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cost/SumNodes.h"
#include "dialects/dist/FlatTensor.h"
#include "dialects/interfaces/AssemblyCount.h"
#include "dialects/tgpt/Constraint.h"
#include "dialects/tgpt/OpCost.h"
#include "dialects/tgpt/Tgpt.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace tgpt;

//===----------------------------------------------------------------------===//
// parameter and state
//===----------------------------------------------------------------------===//

LogicalResult ParameterOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  Type element = type.getElementType();
  if (!Constraint(*this, "C1").holds(type.hasStaticShape(), "the type has a dynamic dim") ||
      !Constraint(*this, "C1")
           .holds(element.isF64() || element.isF32() || element.isBF16() || element.isF16(),
                  "the element type is not f64, f32, bf16 or f16"))
    return failure();
  if (std::optional<dist::WindowAttr> window = getWindow()) {
    int64_t rank = window->getShape().size();
    if (!Constraint(*this, "C3")
             .holds(rank == type.getRank(),
                    "the window has " + Twine(rank) + " dims, the type " + Twine(type.getRank())) ||
        !Constraint(*this, "C3").holds(!getPerLayer(), "a window is of one tensor, not of one a layer"))
      return failure();
  }
  size_t stars = getSymName().count('*');
  Constraint c2(*this, "C2");
  if (!getPerLayer())
    return success(c2.holds(stars == 0, "the name has " + Twine(stars) + " '*', expected none without per_layer"));
  int64_t layers = *getPerLayer();
  return success(c2.holds(layers >= 1, "per_layer is " + Twine(layers) + ", expected at least 1") &&
                 c2.holds(stars == 1, "the name has " + Twine(stars) + " '*', expected one with per_layer"));
}

LogicalResult StateOp::verify() {
  Type element = cast<RankedTensorType>(getType()).getElementType();
  bool isScaling = getRole() == StateRole::Scaling, isOfNone = isScaling || getRole() == StateRole::Metric;
  int64_t rank = cast<RankedTensorType>(getType()).getRank();
  Constraint c4(*this, "C4");
  return success(
      Constraint(*this, "C1")
          .holds(isOfNone != getParameter().has_value(),
                 isOfNone ? "a " + stringifyStateRole(getRole()) + " is of no parameter"
                          : Twine("expected 'of' and the parameter it belongs to")) &&
      Constraint(*this, "C2").holds(element.isF64() || element.isF32(), "the element type is not f64 or f32") &&
      Constraint(*this, "C3").holds(cast<RankedTensorType>(getType()).hasStaticShape(), "the type has a dynamic dim") &&
      c4.holds(!isScaling || rank == 0, "a scaling has rank " + Twine(rank) + ", expected a scalar") &&
      c4.holds(!isScaling || !getTransient(), "a scaling is transient") &&
      c4.holds(!getInitial() || getInitial()->isFinite(), "initial is not finite") &&
      c4.holds(isScaling || !getInitial(),
               "a " + stringifyStateRole(getRole()) + " has an initial value, which only a scaling has"));
}

LogicalResult StateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getParameter())
    return success();
  auto parameter = symbols.lookupNearestSymbolFrom<ParameterOp>(*this, getParameterAttr());
  if (!parameter)
    return emitOpError() << "C1: " << getParameterAttr() << " is not a parameter";
  auto type = cast<RankedTensorType>(getType()), parameterType = cast<RankedTensorType>(parameter.getType());
  if (globalShapeOf(type) == globalShapeOf(parameterType))
    return success();
  InFlightDiagnostic diagnostic = emitOpError() << "C1: type " << type << " is not of the shape of its parameter";
  diagnostic.attachNote(parameter.getLoc()) << "parameter declared here with type " << parameterType;
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// bucket
//===----------------------------------------------------------------------===//

int64_t BucketOp::getElements() {
  return dist::flatElementsOf(cast<RankedTensorType>(getType()));
}

SmallVector<StringRef, 2> BucketOp::getPieceAxes() {
  return dist::pieceAxesOf(cast<RankedTensorType>(getType()));
}

LogicalResult BucketOp::verify() {
  size_t members = getMembers().size(), offsets = getOffsets().size();
  return success(Constraint(*this, "C1").holds(members > 0, "the bucket has no member") &&
                 Constraint(*this, "C3")
                     .holds(members == offsets, Twine(members) + " members but " + Twine(offsets) + " offsets"));
}

// The axes over which a bucket is partial whose members are partial over `axes`.
static bool isPartialLike(dist::LayoutAttr bucket, dist::LayoutAttr member, ArrayRef<StringRef> pieceAxes) {
  SmallVector<StringRef> expected;
  for (StringRef axis : member.partialAxes())
    if (!llvm::is_contained(pieceAxes, axis))
      expected.push_back(axis);
  return llvm::equal(bucket.partialAxes(), expected);
}

LogicalResult BucketOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto flat = cast<RankedTensorType>(getType());
  SmallVector<dist::FlatPart> parts;
  Operation *first = nullptr;
  for (auto [symbol, offset] : llvm::zip_equal(getMembers().getAsRange<FlatSymbolRefAttr>(), getOffsets())) {
    Operation *member = symbols.lookupNearestSymbolFrom(*this, symbol);
    auto state = dyn_cast_or_null<StateOp>(member);
    if (!state && !isa_and_nonnull<ParameterOp>(member))
      return emitOpError() << "C1: " << symbol << " is not a parameter or state";
    if (first && first->getAttr("role") != member->getAttr("role"))
      return emitOpError() << "C1: " << symbol << " is not of the kind of the members before it";
    first = member;
    Type type = state ? state.getType() : cast<ParameterOp>(member).getType();
    parts.push_back({("member '@" + symbol.getValue() + "'").str(), cast<RankedTensorType>(type), offset});
  }
  if (failed(dist::verifyFlat(flat, parts, [&] { return emitOpError() << "C2-C4: "; })))
    return failure();
  for (const dist::FlatPart &part : parts)
    if (!isPartialLike(dist::layoutOf(flat), dist::layoutOf(part.type), getPieceAxes()))
      return emitOpError() << "C5: type " << flat << " is not partial as " << part.name << " of type " << part.type
                           << " says";
  return success();
}

//===----------------------------------------------------------------------===//
// read, write and accumulate
//===----------------------------------------------------------------------===//

// A parameter or state that `op` uses at `type`; reports why it cannot be.
static Operation *findStored(Operation *op, FlatSymbolRefAttr symbol, Type type, SymbolTableCollection &symbols) {
  Operation *stored = symbols.lookupNearestSymbolFrom(op, symbol);
  if (!isa_and_nonnull<ParameterOp, StateOp, BucketOp>(stored)) {
    op->emitOpError() << "C1: " << symbol << " is not a parameter or state";
    return nullptr;
  }
  Type declared = llvm::TypeSwitch<Operation *, Type>(stored).Case<ParameterOp, StateOp, BucketOp>(
      [](auto declaration) { return declaration.getType(); });
  if (declared == type)
    return stored;
  InFlightDiagnostic diagnostic = op->emitOpError() << "C1: type " << type << " is not the declared " << declared;
  diagnostic.attachNote(stored->getLoc()) << symbol << " declared here";
  if (Operation *producer = op->getNumOperands() == 0 ? nullptr : op->getOperand(0).getDefiningOp())
    diagnostic.attachNote(producer->getLoc()) << "value comes from here";
  return nullptr;
}

// The layer that a per_layer parameter is of must be known.
static LogicalResult verifyLayerIsKnown(ReadOp op, ParameterOp parameter) {
  int64_t layers = *parameter.getPerLayer();
  auto repeat = op->getParentOfType<RepeatOp>();
  if (!repeat)
    return op.emitOpError() << "C2: " << op.getSymbolAttr() << " stands for " << layers
                            << " parameters, one a layer: expected to be inside a tgpt.repeat of " << layers;
  if (int64_t(repeat.getCount()) == layers)
    return success();
  InFlightDiagnostic diagnostic = op.emitOpError()
                                  << "C2: " << op.getSymbolAttr() << " stands for " << layers
                                  << " parameters but the block is repeated " << int64_t(repeat.getCount()) << " times";
  diagnostic.attachNote(repeat.getLoc()) << "repeated here";
  return diagnostic;
}

void ReadOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getValue(), getSymbol());
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *stored = findStored(*this, getSymbolAttr(), getValue().getType(), symbols);
  if (!stored)
    return failure();
  auto parameter = dyn_cast<ParameterOp>(stored);
  return parameter && parameter.getPerLayer() ? verifyLayerIsKnown(*this, parameter) : success();
}

LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *stored = findStored(*this, getSymbolAttr(), getValue().getType(), symbols);
  if (!stored)
    return failure();
  auto parameter = dyn_cast<ParameterOp>(stored);
  if (parameter && parameter.getPerLayer())
    return emitOpError() << "C2: " << getSymbolAttr() << " stands for " << *parameter.getPerLayer()
                         << " parameters, one a layer, and cannot be written";
  return success();
}

LogicalResult AccumulateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *stored = findStored(*this, getSymbolAttr(), getValue().getType(), symbols);
  if (!stored)
    return failure();
  if (!isa<StateOp, BucketOp>(stored))
    return emitOpError() << "C1: " << getSymbolAttr() << " is a parameter, expected a state";
  ArrayRef<Attribute> carries = getCarries() ? getCarries()->getValue() : ArrayRef<Attribute>();
  for (Attribute attribute : carries) { // C2
    auto symbol = cast<FlatSymbolRefAttr>(attribute);
    Operation *carry = findStored(*this, symbol, getValue().getType(), symbols);
    if (!carry)
      return failure();
    if (!isa<StateOp>(carry))
      return emitOpError() << "C2: " << symbol << " is a " << (isa<BucketOp>(carry) ? "bucket" : "parameter")
                           << ", expected a state";
  }
  return success();
}

SmallVector<FlatSymbolRefAttr> AccumulateOp::getLevels() {
  SmallVector<FlatSymbolRefAttr> levels;
  if (std::optional<ArrayAttr> carries = getCarries())
    llvm::append_range(levels, carries->getAsRange<FlatSymbolRefAttr>());
  levels.push_back(getSymbolAttr());
  return levels;
}

static LogicalResult verifyNodes(AccumulateOp op) {
  Constraint c2(op, "C2"), c3(op, "C3");
  int64_t ranks = *op.getNodesOf(), parts = op.getParts(), part = op.getPart(), microBatches = *op.getMicroBatches();
  constexpr int64_t most = 65536;
  auto samples = cast<RankedTensorType>(op.getMicroBatch().getType());
  if (!c3.holds(samples.getRank() == 1, "tells micro-batches of nodes by the numbers of their samples") ||
      !c3.holds(part >= 0 && part < parts && samples.getDimSize(0) % parts == 0,
                "is part " + Twine(part) + " of " + Twine(parts) + " of " + Twine(samples.getDimSize(0)) +
                    " samples, expected one of parts that divide them") ||
      !c2.holds(ranks >= 1 && ranks <= most && microBatches >= 1 && microBatches <= most / parts,
                "has " + Twine(microBatches) + " micro-batches of " + Twine(parts) + " parts on " + Twine(ranks) +
                    " ranks, expected 1 to " + Twine(most) + " parts and ranks"))
    return failure();
  SmallVector<FlatSymbolRefAttr> levels = op.getLevels();
  llvm::SmallDenseSet<Attribute> distinct(levels.begin(), levels.end());
  size_t expected = mostSumNodesAtHand(microBatches * parts, ranks);
  return success(c2.holds(levels.size() == expected, "has " + Twine(levels.size() - 1) + " carries, expected " +
                                                         Twine(expected - 1) + " for " + Twine(microBatches * parts) +
                                                         " addends on each of " + Twine(ranks) + " ranks") &&
                 c2.holds(distinct.size() == levels.size(), "names a state twice"));
}

LogicalResult AccumulateOp::verify() {
  Constraint c2(*this, "C2");
  bool isTree = getCarries().has_value();
  if (!c2.holds(isTree == bool(getMicroBatch()) && isTree == getMicroBatches().has_value(),
                "carries, the number of the micro-batch and their count come together"))
    return failure();
  if (!isTree)
    return success();
  int64_t count = *getMicroBatches();
  if (getNodesOf())
    return verifyNodes(*this);
  size_t expected = llvm::bit_width(uint64_t(std::max<int64_t>(count, 1) - 1));
  SmallVector<FlatSymbolRefAttr> levels = getLevels();
  llvm::SmallDenseSet<Attribute> distinct(levels.begin(), levels.end());
  return success(
      c2.holds(count >= 3, "is one of " + Twine(count) + " micro-batches, expected at least 3 with carries") &&
      c2.holds(levels.size() == expected, "has " + Twine(levels.size() - 1) + " carries, expected " +
                                              Twine(expected - 1) + " for " + Twine(count) + " micro-batches") &&
      c2.holds(distinct.size() == levels.size(), "names a state twice"));
}

int64_t AccumulateOp::getFlops() {
  return elementsOf(getValue());
}

// With carries, every second value meets one sum, every fourth one more: one on average.
int64_t AccumulateOp::getBytesRead() {
  return 2 * bytesOf(getValue().getType());
}

int64_t AccumulateOp::getBytesWritten() {
  return bytesOf(getValue().getType());
}

//===----------------------------------------------------------------------===//
// repeat
//===----------------------------------------------------------------------===//

// %y:2 = tgpt.repeat 4 (%h = %x, %k = %z) : type, type attributes {...} { ... }
ParseResult RepeatOp::parse(OpAsmParser &parser, OperationState &result) {
  int64_t count = 0;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> inits;
  SmallVector<Type> types;
  if (parser.parseInteger(count) || parser.parseAssignmentList(arguments, inits))
    return failure();
  SMLoc typesLoc = parser.getCurrentLocation();
  if (!inits.empty() && parser.parseColonTypeList(types))
    return failure();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.resolveOperands(inits, types, typesLoc, result.operands))
    return failure();
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  result.getOrAddProperties<Properties>().count = parser.getBuilder().getI64IntegerAttr(count);
  result.addTypes(types);
  return parser.parseRegion(*result.addRegion(), arguments);
}

void RepeatOp::print(OpAsmPrinter &printer) {
  printer << ' ' << int64_t(getCount()) << " (";
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getInits()), printer,
                        [&](auto pair) { printer << std::get<0>(pair) << " = " << std::get<1>(pair); });
  printer << ')';
  if (!getInits().empty())
    printer << " : " << getInits().getTypes();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {getCountAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult RepeatOp::verify() {
  int64_t count = getCount();
  if (!Constraint(*this, "C1").holds(count >= 1, "count is " + Twine(count) + ", expected at least 1"))
    return failure();
  Block &block = getBody().front();
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return emitOpError() << "C2: the block does not end in tgpt.yield";
  TypeRange carried = getInits().getTypes();
  auto same = [&](TypeRange types, StringRef name) {
    if (carried == types)
      return true;
    emitOpError() << "C2: operands have types (" << carried << ") but " << name << " (" << types << ")";
    return false;
  };
  return success(same(block.getArgumentTypes(), "block arguments") &&
                 same(yield.getValues().getTypes(), "yielded values") && same(getResultTypes(), "results"));
}
