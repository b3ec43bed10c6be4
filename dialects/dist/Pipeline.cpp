//===- Pipeline.cpp - segments, transfers and schedules ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace tgpt::dist;

// `stage` is one of the mesh's pipeline stages; without a mesh nothing is known.
static LogicalResult verifyStage(Operation *op, StringRef name, int64_t stage) {
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
// dist.segment forward stage 0 { ... } : types
//===----------------------------------------------------------------------===//

ParseResult SegmentOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  int64_t stage = 0;
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<SegmentKind> kind = symbolizeSegmentKind(word);
  if (!kind)
    return parser.emitError(loc) << "'" << word << "' is not begin, forward, backward or update";
  if (parser.parseKeyword("stage") || parser.parseInteger(stage) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.getOrAddProperties<Properties>().kind = SegmentKindAttr::get(parser.getContext(), *kind);
  result.getOrAddProperties<Properties>().stage = parser.getBuilder().getI64IntegerAttr(stage);
  Region *body = result.addRegion();
  if (parser.parseRegion(*body) || parser.parseOptionalColonTypeList(result.types))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void SegmentOp::print(OpAsmPrinter &printer) {
  printer << " " << stringifySegmentKind(getKind()) << " stage " << getStage();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"kind", "stage"});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/true, /*printBlockTerminators=*/getNumResults() != 0);
  if (getNumResults() != 0)
    printer << " : " << getResultTypes();
}

// A value from outside is at hand on this segment's stage.
static LogicalResult verifyAvailable(SegmentOp segment, OpOperand &use) {
  Operation *producer = use.get().getDefiningOp();
  int64_t stage = segment.getStage();
  if (auto other = dyn_cast_or_null<SegmentOp>(producer); other && static_cast<int64_t>(other.getStage()) != stage) {
    InFlightDiagnostic error = use.getOwner()->emitOpError()
                               << "in a segment of stage " << stage << " uses a value of stage " << other.getStage()
                               << " without a dist.send_recv";
    error.attachNote(other.getLoc()) << "value comes from here";
    return error;
  }
  if (auto transfer = dyn_cast_or_null<SendRecvOp>(producer);
      transfer && static_cast<int64_t>(transfer.getTo()) != stage) {
    InFlightDiagnostic error = use.getOwner()->emitOpError() << "in a segment of stage " << stage
                                                             << " uses a value sent to stage " << transfer.getTo();
    error.attachNote(transfer.getLoc()) << "sent here";
    return error;
  }
  return success();
}

LogicalResult SegmentOp::verify() {
  if (failed(verifyStage(*this, "stage", getStage()))) // C1
    return failure();
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
  if (getFrom() == getTo()) // C1
    return emitOpError() << "sends from stage " << getFrom() << " to itself";
  if (failed(verifyStage(*this, "from", getFrom())) || failed(verifyStage(*this, "to", getTo())))
    return failure();
  auto segment = getInput().getDefiningOp<SegmentOp>(); // C2
  if (segment && segment.getStage() == getFrom())
    return success();
  InFlightDiagnostic error = emitOpError() << "operand must come from a segment of stage " << getFrom();
  if (segment)
    error.attachNote(segment.getLoc()) << "comes from stage " << segment.getStage();
  return error;
}

int64_t SendRecvOp::getFlops() {
  return 0;
}

//===----------------------------------------------------------------------===//
// dist.schedule
//===----------------------------------------------------------------------===//

namespace {
struct ScheduleEntry {
  bool isForward;
  int64_t microBatch;
  int64_t slot;
};
} // namespace

// F3@1: the forward of micro-batch 3 in slot 1.
static std::optional<ScheduleEntry> parseEntry(StringRef text) {
  ScheduleEntry entry{text.starts_with("F"), 0, 0};
  if (!entry.isForward && !text.starts_with("B"))
    return std::nullopt;
  auto [microBatch, slot] = text.drop_front().split('@');
  if (microBatch.getAsInteger(10, entry.microBatch) || slot.getAsInteger(10, entry.slot))
    return std::nullopt;
  return entry;
}

namespace {
/// Follows a schedule entry by entry: which micro-batch each slot holds.
class ScheduleCheck {
public:
  explicit ScheduleCheck(ScheduleOp op)
      : op(op), slots(op.getSlots(), none), isForwardDone(op.getMicroBatches()), isBackwardDone(op.getMicroBatches()) {}

  LogicalResult step(StringRef text) {
    std::optional<ScheduleEntry> entry = parseEntry(text);
    if (!entry)
      return op.emitOpError() << "entry \"" << text << "\" is not of the form F3@1 or B3@1";
    if (entry->microBatch < 0 || entry->microBatch >= size(isForwardDone))
      return op.emitOpError() << "entry \"" << text << "\" names micro-batch " << entry->microBatch << " of "
                              << size(isForwardDone);
    if (entry->slot < 0 || entry->slot >= size(slots)) // C2
      return op.emitOpError() << "entry \"" << text << "\" names slot " << entry->slot << " of " << size(slots);
    return entry->isForward ? forward(*entry, text) : backward(*entry, text);
  }

  LogicalResult finish() {
    for (int64_t i = 0; i < size(isBackwardDone); ++i)
      if (!isBackwardDone[i]) // C1
        return op.emitOpError() << "has no " << (isForwardDone[i] ? "backward" : "forward") << " of micro-batch " << i;
    return success();
  }

private:
  static constexpr int64_t none = -1;

  template <typename T> static int64_t size(const std::vector<T> &vector) {
    return static_cast<int64_t>(vector.size());
  }

  LogicalResult forward(ScheduleEntry entry, StringRef text) {
    if (isForwardDone[entry.microBatch]) // C1
      return op.emitOpError() << "entry \"" << text << "\" repeats the forward of micro-batch " << entry.microBatch;
    if (slots[entry.slot] != none) // C2
      return op.emitOpError() << "entry \"" << text << "\" takes slot " << entry.slot << " while micro-batch "
                              << slots[entry.slot] << " is in flight in it";
    slots[entry.slot] = entry.microBatch;
    isForwardDone[entry.microBatch] = true;
    return success();
  }

  LogicalResult backward(ScheduleEntry entry, StringRef text) {
    if (slots[entry.slot] != entry.microBatch) // C1
      return op.emitOpError() << "entry \"" << text << "\" has no forward of micro-batch " << entry.microBatch
                              << " in flight in slot " << entry.slot;
    slots[entry.slot] = none;
    isBackwardDone[entry.microBatch] = true;
    return success();
  }

  ScheduleOp op;
  std::vector<int64_t> slots; ///< the micro-batch in flight in each
  std::vector<bool> isForwardDone, isBackwardDone;
};
} // namespace

LogicalResult ScheduleOp::verify() {
  if (failed(verifyStage(*this, "stage", getStage())))
    return failure();
  int64_t microBatches = getMicroBatches(), slotCount = getSlots();
  if (microBatches < 1 || slotCount < 1 || slotCount > microBatches)
    return emitOpError() << "has " << microBatches << " micro-batches in " << slotCount
                         << " slots but needs at least 1 of each, and no more slots than micro-batches";
  int64_t entryCount = getEntries().size();
  if (entryCount % 2 != 0 || entryCount / 2 != microBatches) // C1
    return emitOpError() << "has " << entryCount << " entries but " << microBatches
                         << " micro-batches need a forward and a backward each";
  ScheduleCheck check(*this);
  for (StringRef entry : getEntries().getAsValueRange<StringAttr>())
    if (failed(check.step(entry)))
      return failure();
  return check.finish();
}
