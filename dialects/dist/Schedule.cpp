//===- Schedule.cpp - the order of a stage's segments ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// dist.schedule: follows its entries, with what each activation slot of each chunk
// holds. Labels C1, C2, ... are those of the op's description. Sizes come from the
// text, so nothing is allocated by them but only by the entries there are.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include <map>
#include <set>

using namespace mlir;
using namespace tgpt::dist;

static std::optional<SegmentKind> kindOf(StringRef text) {
  if (text.starts_with("F"))
    return SegmentKind::Forward;
  if (text.starts_with("B"))
    return SegmentKind::Backward;
  return text.starts_with("W") ? std::optional(SegmentKind::WeightGradient) : std::nullopt;
}

std::optional<ScheduledSegment> ScheduledSegment::parse(StringRef text) {
  std::optional<SegmentKind> kind = kindOf(text);
  if (!kind)
    return std::nullopt;
  ScheduledSegment entry{*kind};
  auto [place, slot] = text.drop_front().split('@');
  auto [microBatch, chunk] = place.split('.');
  if (microBatch.getAsInteger(10, entry.microBatch) || slot.getAsInteger(10, entry.slot) ||
      (place.contains('.') && chunk.getAsInteger(10, entry.chunk)))
    return std::nullopt;
  return entry;
}

namespace {

/// Follows a schedule entry by entry: which micro-batch each slot holds.
class ScheduleCheck {
public:
  explicit ScheduleCheck(ScheduleOp op) : op(op), microBatches(op.getMicroBatches()), chunks(op.countChunks()) {
    for (ArrayAttr list : op.getLists())
      for (StringRef text : list.getAsValueRange<StringAttr>())
        if (std::optional<ScheduledSegment> entry = ScheduledSegment::parse(text);
            entry && entry->chunk >= 0 && entry->chunk < op.countChunks()) {
          chunks[entry->chunk].hasEntries = true;
          chunks[entry->chunk].hasWeightGradients |= entry->kind == SegmentKind::WeightGradient;
        }
  }

  LogicalResult run() {
    for (ArrayAttr list : op.getLists())
      for (StringRef text : list.getAsValueRange<StringAttr>())
        if (failed(step(text)))
          return failure();
    for (size_t chunk = 0; chunk < chunks.size(); ++chunk)
      if (failed(finish(chunk)))
        return failure();
    return success();
  }

private:
  struct Chunk {
    bool hasEntries = false, hasWeightGradients = false;
    std::map<int64_t, int64_t> held;               ///< by slot in use: the micro-batch in flight in it
    std::map<SegmentKind, std::set<int64_t>> done; ///< micro-batches
  };

  LogicalResult step(StringRef text) {
    std::optional<ScheduledSegment> entry = ScheduledSegment::parse(text);
    if (!entry)
      return op.emitOpError() << "entry \"" << text
                              << "\" is not of the form F3@1, B3@1 or W3@1, or with a chunk F3.2@1";
    if (entry->microBatch < 0 || entry->microBatch >= microBatches)
      return op.emitOpError() << "entry \"" << text << "\" names micro-batch " << entry->microBatch << " of "
                              << microBatches;
    if (entry->chunk < 0 || entry->chunk >= op.countChunks())
      return op.emitOpError() << "entry \"" << text << "\" names chunk " << entry->chunk << " of " << op.countChunks();
    int64_t slots = op.getSlots()[entry->chunk];
    if (entry->slot < 0 || entry->slot >= slots) // C2
      return op.emitOpError() << "entry \"" << text << "\" names slot " << entry->slot << " of " << slots;
    Chunk &chunk = chunks[entry->chunk];
    if (chunk.done[entry->kind].count(entry->microBatch)) // C1
      return op.emitOpError() << "entry \"" << text << "\" repeats the " << what(entry->kind, *entry);
    if (failed(entry->kind == SegmentKind::Forward ? take(chunk, *entry, text) : use(chunk, *entry, text)))
      return failure();
    chunk.done[entry->kind].insert(entry->microBatch);
    return success();
  }

  LogicalResult take(Chunk &chunk, const ScheduledSegment &entry, StringRef text) {
    auto [held, isFree] = chunk.held.try_emplace(entry.slot, entry.microBatch);
    if (isFree)
      return success();
    return op.emitOpError() << "entry \"" << text << "\" takes slot " << entry.slot << " while micro-batch " // C2
                            << held->second << " is in flight in it";
  }

  /// The last to use a slot frees it.
  LogicalResult use(Chunk &chunk, const ScheduledSegment &entry, StringRef text) {
    auto held = chunk.held.find(entry.slot);
    if (held == chunk.held.end() || held->second != entry.microBatch) // C1
      return op.emitOpError() << "entry \"" << text << "\" has no " << what(SegmentKind::Forward, entry)
                              << " in flight in slot " << entry.slot;
    bool isLater = entry.kind == SegmentKind::WeightGradient;
    if (isLater && !chunk.done[SegmentKind::Backward].count(entry.microBatch)) // C1
      return op.emitOpError() << "entry \"" << text << "\" comes before the " << what(SegmentKind::Backward, entry);
    if (isLater || !chunk.hasWeightGradients)
      chunk.held.erase(held);
    return success();
  }

  LogicalResult finish(size_t index) {
    Chunk &chunk = chunks[index];
    int64_t slots = op.getSlots()[index];
    if (!chunk.hasEntries && slots != 0) // C3
      return op.emitOpError() << "has " << slots << " slots for chunk " << index << " but no entry of it";
    if (!chunk.hasEntries)
      return success();
    SmallVector<SegmentKind> needed = {SegmentKind::Forward, SegmentKind::Backward};
    if (chunk.hasWeightGradients)
      needed.push_back(SegmentKind::WeightGradient);
    for (int64_t microBatch = 0; microBatch < microBatches; ++microBatch)
      for (SegmentKind kind : needed)
        if (!chunk.done[kind].count(microBatch)) // C1
          return op.emitOpError() << "has no " << what(kind, {kind, microBatch, static_cast<int64_t>(index), 0});
    return success();
  }

  static std::string what(SegmentKind kind, const ScheduledSegment &entry) {
    std::string text = stringifySegmentKind(kind).str() + " of micro-batch " + std::to_string(entry.microBatch);
    return entry.chunk == 0 ? text : text + " of chunk " + std::to_string(entry.chunk);
  }

  ScheduleOp op;
  int64_t microBatches;
  std::vector<Chunk> chunks;
};

} // namespace

LogicalResult ScheduleOp::verify() {
  if (failed(verifyStage(*this, "stage", getStage())))
    return failure();
  int64_t microBatches = getMicroBatches();
  if (microBatches < 1 || getSlots().empty()) // C3
    return emitOpError() << "has " << microBatches << " micro-batches and " << getSlots().size()
                         << " chunks but needs at least 1 of each";
  for (auto [chunk, slots] : llvm::enumerate(getSlots()))
    if (slots < 0 || slots > microBatches) // C3
      return emitOpError() << "has " << slots << " slots for chunk " << chunk << "; legal is 0 to " << microBatches
                           << ", the number of micro-batches";
  return ScheduleCheck(*this).run();
}
