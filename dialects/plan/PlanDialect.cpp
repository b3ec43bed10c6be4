//===- PlanDialect.cpp - the plan dialect ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Syntax of the plan dialect and accessors of its ops.
//
//===----------------------------------------------------------------------===//

#include "dialects/interfaces/AssemblyCount.h"
#include "dialects/plan/Plan.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tgpt::planir;

// A mesh: `(dp = 2, tp = 2)`.
static ParseResult parseMesh(OpAsmParser &parser, ArrayAttr &axes, DenseI64ArrayAttr &sizes) {
  SmallVector<Attribute> names;
  SmallVector<int64_t> values;
  auto parseAxis = [&]() -> ParseResult {
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual() || parser.parseInteger(values.emplace_back()))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseAxis))
    return failure();
  axes = parser.getBuilder().getArrayAttr(names);
  sizes = parser.getBuilder().getDenseI64ArrayAttr(values);
  return success();
}

static void printMesh(OpAsmPrinter &printer, Operation *, ArrayAttr axes, DenseI64ArrayAttr sizes) {
  printer << "(";
  llvm::interleaveComma(llvm::zip(axes.getAsValueRange<StringAttr>(), sizes.asArrayRef()), printer,
                        [&](auto axis) { printer << std::get<0>(axis) << " = " << std::get<1>(axis); });
  printer << ")";
}

// Runs of a schedule: `["begin", "forward" 0 in 0]`.
static ParseResult parseRuns(OpAsmParser &parser, ArrayAttr &runs) {
  SmallVector<Attribute> entries;
  auto parseRun = [&]() -> ParseResult {
    StringAttr segment;
    int64_t microBatch = -1, slot = 0;
    if (parser.parseAttribute(segment))
      return failure();
    OptionalParseResult numbered = parser.parseOptionalInteger(microBatch);
    if (numbered.has_value() && (failed(*numbered) || parser.parseKeyword("in") || parser.parseInteger(slot)))
      return failure();
    entries.push_back(RunAttr::get(parser.getContext(), segment, microBatch, slot));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseRun))
    return failure();
  runs = parser.getBuilder().getArrayAttr(entries);
  return success();
}

static void printRuns(OpAsmPrinter &printer, Operation *, ArrayAttr runs) {
  printer << "[";
  llvm::interleaveComma(runs.getAsRange<RunAttr>(), printer, [&](RunAttr run) {
    printer << run.getSegment();
    if (run.getMicroBatch() >= 0)
      printer << " " << run.getMicroBatch() << " in " << run.getSlot();
  });
  printer << "]";
}

#include "dialects/plan/PlanDialect.cpp.inc"
#include "dialects/plan/PlanEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/plan/PlanAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/plan/PlanTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/plan/PlanOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type BufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(elementType) ||
      parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(location); }, parser.getContext(), shape, elementType);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<";
  for (int64_t size : getShape())
    printer << size << "x";
  printer << getElementType() << ">";
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
                                 Type elementType) {
  if (!elementType.isF64() && !elementType.isF32() && !elementType.isBF16() && !elementType.isF16() &&
      !elementType.isInteger(32))
    return emitError() << "element type is " << elementType << ", expected f64, f32, bf16, f16 or i32";
  int64_t bytes = elementType.getIntOrFloatBitWidth() / 8;
  for (int64_t size : shape)
    if (size < 1 || llvm::MulOverflow(bytes, size, bytes))
      return emitError() << "buffer has a dim of " << size << ", expected sizes of at least 1 whose bytes fit 63 bits";
  return success();
}

BufferType BufferType::of(RankedTensorType type) {
  return get(type.getContext(), type.getShape(), type.getElementType());
}

int64_t BufferType::getBytes() const {
  int64_t bytes = getElementBytes();
  for (int64_t size : getShape())
    bytes *= size;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

int64_t ProgramOp::sizeOf(StringRef axis) {
  for (auto [name, size] : llvm::zip(getAxes().getAsValueRange<StringAttr>(), getSizes()))
    if (name == axis)
      return size;
  return 1;
}

bool ProgramOp::hasAxis(StringRef axis) {
  return llvm::is_contained(getAxes().getAsValueRange<StringAttr>(), axis);
}

int64_t GroupOp::memberCount() {
  auto program = cast<ProgramOp>((*this)->getParentOp());
  int64_t count = 1;
  for (StringRef axis : getAxes().getAsValueRange<StringAttr>())
    count *= axis == "pp" && getStages() ? static_cast<int64_t>(getStages()->size()) : program.sizeOf(axis);
  return count;
}

bool GroupOp::hasStage(int64_t stage) {
  std::optional<ArrayRef<int64_t>> stages = getStages();
  return !stages || llvm::is_contained(*stages, stage);
}

RegionOp StageOp::getRegionOf(MemoryKind kind) {
  for (RegionOp region : getBody().getOps<RegionOp>())
    if (region.getKind() == kind)
      return region;
  return {};
}

ScheduleOp StageOp::getSchedule() {
  auto schedules = getBody().getOps<ScheduleOp>();
  return schedules.empty() ? ScheduleOp() : *schedules.begin();
}

void BufferOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getBuffer(), getName());
}

StageOp tgpt::planir::stageOf(Operation *op) {
  return op->getParentOfType<StageOp>();
}

MemoryKind tgpt::planir::regionOf(VariableRole role) {
  switch (role) {
  case VariableRole::Parameter: return MemoryKind::Parameters;
  case VariableRole::Gradient:
  case VariableRole::Metric: return MemoryKind::Gradients;
  case VariableRole::Master:
  case VariableRole::Moment1:
  case VariableRole::Moment2:
  case VariableRole::Scaling: return MemoryKind::Optimizer;
  }
  llvm_unreachable("a role of the enum");
}

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/plan/PlanAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/plan/PlanTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/plan/PlanOps.cpp.inc"
      >();
}
