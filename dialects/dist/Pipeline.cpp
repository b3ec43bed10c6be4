//===- Pipeline.cpp - segments, transfers and schedules ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "dialects/dist/SegmentOrder.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace tgpt::dist;

std::string tgpt::dist::virtualStageText(int64_t stage, int64_t chunk) {
  std::string text = "stage " + std::to_string(stage);
  return chunk == 0 ? text : text + " chunk " + std::to_string(chunk);
}

// Without a mesh nothing is known.
LogicalResult tgpt::dist::verifyStage(Operation *op, StringRef name, int64_t stage) {
  MeshOp mesh = meshOf(op);
  int64_t stages = mesh ? mesh.sizeOf(StringRef("pp")) : stage + 1;
  if (stage >= 0 && stage < stages)
    return success();
  InFlightDiagnostic error = op->emitOpError() << name << " is " << stage << " but ";
  if (stage < 0)
    return error << "0 is the first stage";
  error << "\"pp\" = " << stages << " has stages 0 to " << stages - 1;
  error.attachNote(mesh.getLoc()) << "mesh declared here";
  return error;
}

//===----------------------------------------------------------------------===//
// dist.segment forward stage 0 chunk 1 { ... } : types
//===----------------------------------------------------------------------===//

ParseResult SegmentOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  int64_t stage = 0, chunk = 0;
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<SegmentKind> kind = symbolizeSegmentKind(word);
  if (!kind)
    return parser.emitError(loc) << "'" << word << "' is not begin, forward, backward, weight_gradient or update";
  if (parser.parseKeyword("stage") || parser.parseInteger(stage) ||
      (succeeded(parser.parseOptionalKeyword("chunk")) && parser.parseInteger(chunk)) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.getOrAddProperties<Properties>().kind = SegmentKindAttr::get(parser.getContext(), *kind);
  result.getOrAddProperties<Properties>().stage = parser.getBuilder().getI64IntegerAttr(stage);
  result.getOrAddProperties<Properties>().chunk = parser.getBuilder().getI64IntegerAttr(chunk);
  Region *body = result.addRegion();
  if (parser.parseRegion(*body) || parser.parseOptionalColonTypeList(result.types))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void SegmentOp::print(OpAsmPrinter &printer) {
  printer << " " << stringifySegmentKind(getKind()) << " " << virtualStageText(getStage(), getChunk());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"kind", "stage", "chunk"});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/true, /*printBlockTerminators=*/getNumResults() != 0);
  if (getNumResults() != 0)
    printer << " : " << getResultTypes();
}

// A value of another segment is at hand: of this stage and chunk, and there by now.
static LogicalResult verifyKept(SegmentOp segment, SegmentOp maker, Operation *user) {
  std::string here = virtualStageText(segment.getStage(), segment.getChunk());
  std::string there = virtualStageText(maker.getStage(), maker.getChunk());
  auto report = [&](const Twine &what) {
    InFlightDiagnostic error = user->emitOpError() << what;
    error.attachNote(maker.getLoc()) << "value comes from here";
    return error;
  };
  if (here != there)
    return report("in a segment of " + Twine(here) + " uses a value of " + there + " without a dist.send_recv");
  if (tgpt::placeInMicroBatch(maker.getKind()) >= tgpt::placeInMicroBatch(segment.getKind()))
    return report("in a " + stringifySegmentKind(segment.getKind()) + " segment of " + Twine(here) +
                  " uses a value of its " + stringifySegmentKind(maker.getKind()) + ", which runs no earlier");
  return success();
}

// A value from outside is at hand on this segment's stage and chunk.
static LogicalResult verifyAvailable(SegmentOp segment, OpOperand &use) {
  Operation *producer = use.get().getDefiningOp();
  if (auto other = dyn_cast_or_null<SegmentOp>(producer))
    return verifyKept(segment, other, use.getOwner());
  auto transfer = dyn_cast_or_null<SendRecvOp>(producer);
  if (!transfer || (transfer.getTo() == segment.getStage() && transfer.getToChunk() == segment.getChunk()))
    return success();
  InFlightDiagnostic error = use.getOwner()->emitOpError()
                             << "in a segment of " << virtualStageText(segment.getStage(), segment.getChunk())
                             << " uses a value sent to " << virtualStageText(transfer.getTo(), transfer.getToChunk());
  error.attachNote(transfer.getLoc()) << "sent here";
  return error;
}

/// Passes keep tables by chunk: a larger number is a mistake.
static constexpr int64_t mostChunks = 4096;

static LogicalResult verifyChunk(Operation *op, StringRef name, int64_t chunk) {
  if (chunk >= 0 && chunk < mostChunks)
    return success();
  return op->emitOpError() << name << " is " << chunk << " but chunks are 0 to " << mostChunks - 1;
}

LogicalResult SegmentOp::verify() {
  if (failed(verifyStage(*this, "stage", getStage())) || failed(verifyChunk(*this, "chunk", getChunk()))) // C1
    return failure();
  if (getChunk() != 0 && (getKind() == SegmentKind::Begin || getKind() == SegmentKind::Update)) // C1
    return emitOpError() << "of kind '" << stringifySegmentKind(getKind()) << "' is of chunk " << getChunk()
                         << " but a stage has one for all its chunks";
  bool available = true; // C2
  visitUsedValuesDefinedAbove(
      getBody(), getBody(), [&](OpOperand *use) { available = available && succeeded(verifyAvailable(*this, *use)); });
  if (!available)
    return failure();
  if (getBody().getNumArguments() != 0)
    return emitOpError() << "body takes no arguments";
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  if (yield.getValues().getTypes() == getResultTypes()) // C3
    return success();
  if (yield.getNumOperands() != getNumResults())
    return yield.emitOpError() << "yields " << yield.getNumOperands() << " values but the segment has "
                               << getNumResults() << " results";
  for (auto [index, yielded, result] : llvm::enumerate(yield.getValues().getTypes(), getResultTypes()))
    if (yielded != result)
      return yield.emitOpError() << "value " << index << " has type " << yielded << " but the segment's result has "
                                 << result;
  return success();
}

//===----------------------------------------------------------------------===//
// dist.send_recv
//===----------------------------------------------------------------------===//

LogicalResult SendRecvOp::verify() {
  std::string from = virtualStageText(getFrom(), getFromChunk());
  if (getFrom() == getTo() && getFromChunk() == getToChunk()) // C1
    return emitOpError() << "sends from " << from << " to itself";
  if (failed(verifyStage(*this, "from", getFrom())) || failed(verifyStage(*this, "to", getTo())) ||
      failed(verifyChunk(*this, "chunk that sends", getFromChunk())) ||
      failed(verifyChunk(*this, "chunk that receives", getToChunk())))
    return failure();
  if (getDepth() && static_cast<int64_t>(*getDepth()) < 1) // C3
    return emitOpError() << "depth is " << static_cast<int64_t>(*getDepth())
                         << " but a channel holds at least 1 message";
  auto segment = getInput().getDefiningOp<SegmentOp>(); // C2
  bool isSender = segment && segment.getStage() == getFrom() && segment.getChunk() == getFromChunk();
  if (isSender && (segment.getKind() == SegmentKind::Forward || segment.getKind() == SegmentKind::Backward))
    return success();
  InFlightDiagnostic error = emitOpError() << "operand must come from a "
                                           << (isSender ? "forward or backward segment" : "segment") << " of " << from;
  if (segment)
    error.attachNote(segment.getLoc()) << "comes from "
                                       << (isSender ? "a " + stringifySegmentKind(segment.getKind()).str()
                                                    : virtualStageText(segment.getStage(), segment.getChunk()));
  return error;
}

int64_t SendRecvOp::getFlops() {
  return 0;
}
