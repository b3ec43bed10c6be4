//===- PlanMemoryVerify.cpp - constraints of regions and buffers ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Labels C1, C2, ... are those of the op descriptions. Which slots share bytes at which times
// is the plan checker's to say (runtime/plan/CheckPlaces.cpp).
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"
#include <map>

using namespace mlir;
using namespace tgpt::planir;

/// A place for each slot, none of which ends beyond every address.
static LogicalResult verifyPlaces(RegionOp region) {
  std::optional<ArrayRef<int64_t>> places = region.getPlaces();
  if (!places)
    return success();
  if (!isOfMicroBatch(region.getKind()) || !region.getOffsetBytes() || !region.getSlotBytes() ||
      places->size() != region.getSlots() || places->empty())
    return region.emitOpError() << "of kind '" << stringifyMemoryKind(region.getKind()) << "' has " << places->size()
                                << " places for " << region.getSlots() << " slots";
  int64_t offset = *region.getOffsetBytes(), bytes = *region.getSlotBytes();
  for (int64_t place : *places) {
    if (place < 0 || place % regionGrainBytes != 0)
      return region.emitOpError() << "has a slot at place " << place << ", expected a multiple of " << regionGrainBytes;
    if (int64_t end; llvm::AddOverflow(offset, bytes, end) || llvm::AddOverflow(end, place, end))
      return region.emitOpError() << "has a slot at place " << place << ", which ends beyond every address";
  }
  return success();
}

LogicalResult RegionOp::verify() {
  int64_t slots = getSlots();
  bool ofMicroBatch = isOfMicroBatch(getKind());
  if (slots < 1 || (slots > 1 && !ofMicroBatch)) // C1
    return emitOpError() << "of kind '" << stringifyMemoryKind(getKind()) << "' has " << slots << " slots, expected "
                         << (ofMicroBatch ? "at least 1" : "1");
  int64_t chunk = getChunk();
  if (chunk < 0 || (chunk > 0 && !ofMicroBatch)) // C1
    return emitOpError() << "of kind '" << stringifyMemoryKind(getKind()) << "' has chunk " << chunk << ", expected "
                         << (ofMicroBatch ? "at least 0" : "none");
  if (getOffsetBytes().has_value() != getSlotBytes().has_value() ||
      getOffsetBytes().has_value() != getPeakLiveBytes().has_value()) // C2
    return emitOpError("has some of offset, slot bytes and live bytes, expected all or none");
  if (failed(verifyPlaces(*this))) // C4
    return failure();
  if (!getOffsetBytes())
    return success();
  int64_t offset = *getOffsetBytes(), bytes = *getSlotBytes(), live = *getPeakLiveBytes();
  if (offset < 0 || live < 0 || live > bytes) // C2
    return emitOpError() << "at " << offset << " holds " << bytes << " bytes, " << live << " of them live";
  if (offset % regionGrainBytes != 0 || bytes % regionGrainBytes != 0) // C3
    return emitOpError() << "at " << offset << " holds " << bytes << " bytes, expected multiples of "
                         << regionGrainBytes;
  return success();
}

// C3
static LogicalResult verifyPart(BufferOp part) {
  if (static_cast<bool>(part.getWhole()) != part.getFromByte().has_value())
    return part.emitOpError() << "'" << part.getName() << "' has one of 'whole' and 'from_byte', expected both or none";
  if (!part.getWhole())
    return success();
  auto whole = part.getWhole().getDefiningOp<BufferOp>();
  if (!whole || whole.getWhole() || whole.getRegion() != part.getRegion() || whole.getChunk() != part.getChunk())
    return part.emitOpError() << "'" << part.getName() << "' is part of what is no whole buffer of its region";
  int64_t from = *part.getFromByte(), end = from + part.getBuffer().getType().getBytes();
  int64_t bytes = whole.getBuffer().getType().getBytes();
  if (from < 0 || end > bytes)
    return part.emitOpError() << "'" << part.getName() << "' ends at byte " << end << " of '" << whole.getName()
                              << "', which has " << bytes;
  bool hasPlace = part.getOffsetBytes().has_value();
  if (hasPlace == whole.getOffsetBytes().has_value() &&
      (!hasPlace || *part.getOffsetBytes() == *whole.getOffsetBytes() + from))
    return success();
  return part.emitOpError() << "'" << part.getName() << "' does not lie " << from << " bytes behind the beginning of '"
                            << whole.getName() << "'";
}

LogicalResult BufferOp::verify() {
  if (failed(verifyPart(*this)))
    return failure();
  RegionOp region = stageOf(*this).getRegionOf(getRegion(), getChunk());
  if (!region) // C1
    return emitOpError() << "'" << getName() << "' lies in a region of kind '" << stringifyMemoryKind(getRegion())
                         << "'" << (getChunk() == 0 ? "" : " of chunk " + std::to_string(getChunk()))
                         << ", which the stage does not have";
  if (!getOffsetBytes())
    return success();
  int64_t offset = *getOffsetBytes(), bytes = getBuffer().getType().getBytes();
  if (offset < 0 || offset % getBuffer().getType().getElementBytes() != 0) // C2
    return emitOpError() << "'" << getName() << "' is at " << offset << ", expected a multiple of its element's "
                         << getBuffer().getType().getElementBytes() << " bytes";
  if (region.getSlotBytes() && offset + bytes > static_cast<int64_t>(*region.getSlotBytes())) { // C2
    InFlightDiagnostic error = emitOpError() << "'" << getName() << "' ends at " << offset + bytes
                                             << ", but its region holds " << *region.getSlotBytes() << " bytes";
    error.attachNote(region.getLoc()) << "region declared here";
    return error;
  }
  return success();
}

static int64_t beginOf(RegionOp region) {
  return static_cast<int64_t>(*region.getOffsetBytes());
}

static int64_t endOf(RegionOp region) {
  if (std::optional<ArrayRef<int64_t>> places = region.getPlaces())
    return beginOf(region) + *llvm::max_element(*places) + static_cast<int64_t>(*region.getSlotBytes());
  return beginOf(region) + static_cast<int64_t>(*region.getSlotBytes() * region.getSlots());
}

/// Step lies over what holds nothing between the micro-batches of two steps.
static LogicalResult verifyStep(RegionOp step, ArrayRef<RegionOp> regions) {
  for (RegionOp region : regions)
    if (!isEmptyBetweenSteps(region.getKind()) && beginOf(region) < endOf(region) && beginOf(step) < endOf(step) &&
        beginOf(region) < endOf(step) && beginOf(step) < endOf(region))
      return step.emitOpError() << "at " << beginOf(step) << " lies over the region of kind '"
                                << stringifyMemoryKind(region.getKind()) << "' at " << beginOf(region);
  return success();
}

/// The pages of all chunks are the same bytes.
static LogicalResult verifySamePages(RegionOp first, RegionOp other) {
  if (first.getOffsetBytes() == other.getOffsetBytes() && first.getSlotBytes() == other.getSlotBytes() &&
      first.getSlots() == other.getSlots())
    return success();
  InFlightDiagnostic error = other.emitOpError()
                             << "has " << other.getSlots() << " pages of " << *other.getSlotBytes() << " bytes at "
                             << *other.getOffsetBytes() << ", expected those of the other chunks";
  error.attachNote(first.getLoc()) << first.getSlots() << " of " << *first.getSlotBytes() << " at "
                                   << *first.getOffsetBytes() << " here";
  return error;
}

LogicalResult tgpt::planir::verifyArena(StageOp stage, int64_t arenaBytes) {
  SmallVector<RegionOp> regions(stage.getBody().getOps<RegionOp>());
  for (RegionOp region : regions)
    if (!region.getOffsetBytes())
      return region.emitOpError("has no offset, but its stage has an arena");
    else if (failed(verifyPlaces(region))) // their ends are asked for below
      return failure();
  for (BufferOp buffer : stage.getBody().getOps<BufferOp>())
    if (!buffer.getOffsetBytes())
      return buffer.emitOpError() << "'" << buffer.getName() << "' has no offset, but its stage has an arena";
  llvm::stable_sort(regions, [](RegionOp a, RegionOp b) { return *a.getOffsetBytes() < *b.getOffsetBytes(); });
  int64_t end = 0, lotEnd = 0, stepEnd = 0;
  std::map<MemoryKind, RegionOp> pages; // the first of the kind
  RegionOp lot;                         // one of the regions with places
  auto overlaps = [&](RegionOp region, int64_t end) {
    return region.emitOpError() << "at " << beginOf(region) << " overlaps the region before it, which ends at " << end;
  };
  for (RegionOp region : regions) {
    if (region.getPlaces()) {
      if (lot && beginOf(lot) != beginOf(region))
        return region.emitOpError() << "with places begins at " << beginOf(region) << ", another one at "
                                    << beginOf(lot);
      if (beginOf(region) < end)
        return overlaps(region, end);
      lot = region;
      lotEnd = std::max(lotEnd, endOf(region));
      continue;
    }
    if (isPaged(region.getKind()))
      if (auto [first, isFirst] = pages.try_emplace(region.getKind(), region); !isFirst) {
        if (failed(verifySamePages(first->second, region)))
          return failure();
        continue;
      }
    if (region.getKind() == MemoryKind::Step) {
      if (failed(verifyStep(region, regions)))
        return failure();
      stepEnd = endOf(region);
      continue;
    }
    if (endOf(region) == beginOf(region))
      continue;
    if (beginOf(region) < std::max(end, lotEnd))
      return overlaps(region, std::max(end, lotEnd));
    end = endOf(region);
  }
  end = std::max({end, lotEnd, stepEnd});
  if (end != arenaBytes)
    return stage.emitOpError() << "has an arena of " << arenaBytes << " bytes, but its regions end at " << end;
  return success();
}
