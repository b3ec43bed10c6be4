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

// Channels of a run, where it has any: `sends [@a, @b]`.
static ParseResult parseChannels(OpAsmParser &parser, StringRef verb, ArrayAttr &channels) {
  channels = parser.getBuilder().getArrayAttr({});
  return succeeded(parser.parseOptionalKeyword(verb)) ? parser.parseAttribute(channels) : success();
}

// A run of a schedule: `steady "backward" 0 in 0 page 1 leaf 2 receives [@a] sends [@b]`.
static ParseResult parseRun(OpAsmParser &parser, RunAttr &run) {
  StringRef word;
  SMLoc location = parser.getCurrentLocation();
  SchedulePhase phase = SchedulePhase::None;
  if (succeeded(parser.parseOptionalKeyword(&word))) {
    std::optional<SchedulePhase> named = symbolizeSchedulePhase(word);
    if (!named || *named == SchedulePhase::None)
      return parser.emitError(location) << "'" << word << "' is not warm_up, steady or cool_down";
    phase = *named;
  }
  StringAttr segment;
  int64_t microBatch = -1, slot = 0, page = 0, leaf = 0;
  ArrayAttr receives, sends;
  if (parser.parseAttribute(segment))
    return failure();
  OptionalParseResult numbered = parser.parseOptionalInteger(microBatch);
  if (numbered.has_value() && (failed(*numbered) || parser.parseKeyword("in") || parser.parseInteger(slot)))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("page")) && parser.parseInteger(page))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("leaf")) && parser.parseInteger(leaf))
    return failure();
  if (parseChannels(parser, "receives", receives) || parseChannels(parser, "sends", sends))
    return failure();
  run = RunAttr::get(parser.getContext(), segment, microBatch, slot, phase, receives, sends, page, leaf);
  return success();
}

// Runs of a schedule, one a line.
static ParseResult parseRuns(OpAsmParser &parser, ArrayAttr &runs) {
  SmallVector<Attribute> entries;
  auto parseEntry = [&]() -> ParseResult {
    RunAttr run;
    if (parseRun(parser, run))
      return failure();
    entries.push_back(run);
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseEntry))
    return failure();
  runs = parser.getBuilder().getArrayAttr(entries);
  return success();
}

static void printRuns(OpAsmPrinter &printer, Operation *, ArrayAttr runs) {
  printer << "[";
  printer.increaseIndent();
  auto printRun = [&](RunAttr run) {
    printer.printNewline();
    if (run.getPhase() != SchedulePhase::None)
      printer << stringifySchedulePhase(run.getPhase()) << " ";
    printer << run.getSegment();
    if (run.getMicroBatch() >= 0)
      printer << " " << run.getMicroBatch() << " in " << run.getSlot();
    if (run.getPage() != 0)
      printer << " page " << run.getPage();
    if (run.getLeaf() != 0)
      printer << " leaf " << run.getLeaf();
    if (!run.getReceives().empty())
      printer << " receives " << run.getReceives();
    if (!run.getSends().empty())
      printer << " sends " << run.getSends();
  };
  llvm::interleave(runs.getAsRange<RunAttr>(), printRun, [&] { printer << ","; });
  printer.decreaseIndent();
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

RegionOp StageOp::getRegionOf(MemoryKind kind, int64_t chunk) {
  for (RegionOp region : getBody().getOps<RegionOp>())
    if (region.getKind() == kind && static_cast<int64_t>(region.getChunk()) == chunk)
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

std::string tgpt::planir::segmentNameOf(SegmentKind kind, int64_t chunk) {
  std::string name = stringifySegmentKind(kind).str();
  return chunk == 0 ? name : name + "." + std::to_string(chunk);
}

SegmentChannels SegmentChannels::of(SegmentOp segment) {
  SmallVector<Attribute> receives, sends;
  for (Operation &op : segment.getBody().getOps())
    if (auto recv = dyn_cast<RecvOp>(op))
      receives.push_back(recv.getChannelAttr());
    else if (auto send = dyn_cast<SendOp>(op))
      sends.push_back(send.getChannelAttr());
  return {ArrayAttr::get(segment.getContext(), receives), ArrayAttr::get(segment.getContext(), sends)};
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
