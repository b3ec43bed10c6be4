//===- AssignMemory.cpp - give every buffer its offset and every stage its arena ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where does each buffer lie?
//
//   %a = plan.buffer "a" in scratch   ->   %a = plan.buffer "a" in scratch at 64
//
// Relies on: plan-lower (any plan.program will do). Leaves true: buffers that are live
// at once share no byte; regions are as small as the packing found, side by side.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/memory/PackBuffers.h"
#include "passes/memory/Passes.h"

namespace tgpt {
#define GEN_PASS_DEF_ASSIGNMEMORY
#include "passes/memory/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;
using planir::MemoryKind;
using planir::SegmentKind;

/// Largest arena: sums of offsets and sizes stay far from overflow.
static constexpr int64_t mostArenaBytes = int64_t(1) << 62;

namespace {

/// Buffers packed together: those of a region, or of one segment's scratch.
struct BufferSet {
  std::vector<planir::BufferOp> buffers;
  std::vector<Lifetime> lifetimes;

  void add(planir::BufferOp buffer, int64_t first, int64_t last) {
    buffers.push_back(buffer);
    lifetimes.push_back({first, last, buffer.getBuffer().getType().getBytes()});
  }
};

/// Bytes of a region's slot.
struct RegionSize {
  int64_t slotBytes = 0;
  int64_t peakLiveBytes = 0;
  bool isTight = true;
};

/// Assigns the memory of one stage.
class StageMemory {
public:
  StageMemory(planir::StageOp stage, int64_t alignment) : stage(stage), alignment(alignment) { orderInstructions(); }

  LogicalResult run();

  int64_t buffersPlaced = 0, regionsTight = 0, regionsLoose = 0, bytesAboveLive = 0;

private:
  void orderInstructions();
  std::vector<BufferSet> setsOf(MemoryKind kind, int64_t chunk);
  void addByUses(planir::BufferOp buffer, std::vector<BufferSet> &bySegment);
  RegionSize place(planir::RegionOp region);
  LogicalResult checkTotal();

  planir::StageOp stage;
  int64_t alignment;
  /// Position and segment of every instruction: forward, backward and weight_gradient of a
  /// chunk are neighbours, so that a saved activation lives from one into the next.
  struct Place {
    int64_t position;
    unsigned segment;
  };
  llvm::DenseMap<Operation *, Place> places;
  unsigned segmentCount = 0;
};

} // namespace

/// What runs after what in a micro-batch of a chunk.
static int rankOf(SegmentKind kind) {
  switch (kind) {
  case SegmentKind::Begin: return 0;
  case SegmentKind::Forward: return 1;
  case SegmentKind::Backward: return 2;
  case SegmentKind::WeightGradient: return 3;
  case SegmentKind::Update: return 4;
  }
  llvm_unreachable("a kind of the enum");
}

void StageMemory::orderInstructions() {
  SmallVector<planir::SegmentOp> segments(stage.getBody().getOps<planir::SegmentOp>());
  llvm::stable_sort(segments, [](planir::SegmentOp a, planir::SegmentOp b) {
    return std::pair(a.getChunk(), rankOf(a.getKind())) < std::pair(b.getChunk(), rankOf(b.getKind()));
  });
  int64_t position = 0;
  for (planir::SegmentOp segment : segments) {
    for (Operation &op : segment.getBody().getOps())
      places[&op] = {position++, segmentCount};
    ++segmentCount;
  }
}

/// Adds a buffer with the lifetime its instructions give it. Scratch belongs to its
/// segment; with uses in several it is kept in all of them.
void StageMemory::addByUses(planir::BufferOp buffer, std::vector<BufferSet> &bySegment) {
  int64_t first = std::numeric_limits<int64_t>::max(), last = -1;
  unsigned segment = 0;
  SmallVector<Operation *> users(buffer.getBuffer().getUsers());
  for (Operation *user : buffer.getBuffer().getUsers())
    if (auto part = dyn_cast<planir::BufferOp>(user))
      llvm::append_range(users, part.getBuffer().getUsers());
  for (Operation *user : users)
    if (auto place = places.find(user); place != places.end()) {
      first = std::min(first, place->second.position);
      last = std::max(last, place->second.position);
      segment = place->second.segment;
    }
  if (last < 0) // named but never touched
    first = last = 0;
  bySegment[bySegment.size() == 1 ? 0 : segment].add(buffer, first, last);
}

std::vector<BufferSet> StageMemory::setsOf(MemoryKind kind, int64_t chunk) {
  std::vector<BufferSet> sets(kind == MemoryKind::Scratch ? std::max(segmentCount, 1u) : 1);
  for (auto buffer : stage.getBody().getOps<planir::BufferOp>()) {
    if (buffer.getRegion() != kind || static_cast<int64_t>(buffer.getChunk()) != chunk || buffer.getWhole())
      continue;
    if (kind == MemoryKind::Scratch || kind == MemoryKind::Activations)
      addByUses(buffer, sets);
    else
      sets.front().add(buffer, 0, 0); // all of them always live
  }
  return sets;
}

RegionSize StageMemory::place(planir::RegionOp region) {
  RegionSize size;
  Builder builder(stage.getContext());
  int64_t tight = 0;
  for (BufferSet &set : setsOf(region.getKind(), region.getChunk())) {
    Packing packing = packBuffers(set.lifetimes, alignment);
    for (auto [buffer, offset] : llvm::zip(set.buffers, packing.offsets))
      buffer.setOffsetBytesAttr(builder.getI64IntegerAttr(offset));
    size.slotBytes = std::max(size.slotBytes, packing.endBytes);
    size.peakLiveBytes = std::max(size.peakLiveBytes, packing.peakLiveBytes);
    tight = std::max(tight, peakLiveBytes(set.lifetimes, alignment));
    buffersPlaced += set.buffers.size();
  }
  for (auto part : stage.getBody().getOps<planir::BufferOp>())
    if (auto whole = part.getWhole() ? part.getWhole().getDefiningOp<planir::BufferOp>() : planir::BufferOp();
        whole && part.getRegion() == region.getKind() && part.getChunk() == region.getChunk())
      part.setOffsetBytesAttr(builder.getI64IntegerAttr(*whole.getOffsetBytes() + *part.getFromByte()));
  size.slotBytes = roundUp(size.slotBytes, std::max(alignment, planir::regionGrainBytes));
  size.isTight = size.slotBytes <= roundUp(tight, std::max(alignment, planir::regionGrainBytes));
  return size;
}

/// Refuses sizes whose sums could overflow: every buffer at once, in every slot.
LogicalResult StageMemory::checkTotal() {
  int64_t total = 0, slots = 1;
  for (auto region : stage.getBody().getOps<planir::RegionOp>())
    slots = std::max<int64_t>(slots, region.getSlots());
  for (auto buffer : stage.getBody().getOps<planir::BufferOp>()) {
    if (buffer.getWhole())
      continue;
    int64_t bytes;
    if (llvm::AddOverflow(buffer.getBuffer().getType().getBytes(), alignment, bytes) ||
        llvm::MulOverflow(bytes, slots, bytes) || llvm::AddOverflow(total, bytes, total) || total > mostArenaBytes)
      return buffer.emitOpError() << "'" << buffer.getName() << "' takes the arena beyond " << mostArenaBytes
                                  << " bytes";
  }
  return success();
}

LogicalResult StageMemory::run() {
  if (failed(checkTotal()))
    return failure();
  Builder builder(stage.getContext());
  int64_t offset = 0;
  for (auto region : stage.getBody().getOps<planir::RegionOp>()) {
    RegionSize size = place(region);
    region.setOffsetBytesAttr(builder.getI64IntegerAttr(offset));
    region.setSlotBytesAttr(builder.getI64IntegerAttr(size.slotBytes));
    region.setPeakLiveBytesAttr(builder.getI64IntegerAttr(size.peakLiveBytes));
    int64_t slots = region.getSlots();
    offset += slots * size.slotBytes;
    bytesAboveLive += slots * (size.slotBytes - size.peakLiveBytes);
    ++(size.isTight ? regionsTight : regionsLoose);
  }
  stage.setArenaBytesAttr(builder.getI64IntegerAttr(offset));
  return success();
}

namespace {

struct AssignMemory : tgpt::impl::AssignMemoryBase<AssignMemory> {
  using AssignMemoryBase::AssignMemoryBase;

  void runOnOperation() override {
    if (alignment < 8 || !llvm::isPowerOf2_64(alignment)) {
      getOperation().emitError() << "option 'alignment' is " << alignment.getValue()
                                 << ", expected a power of two of at least 8";
      return signalPassFailure();
    }
    for (auto program : getOperation().getOps<planir::ProgramOp>())
      for (auto stage : program.getBody().getOps<planir::StageOp>())
        if (failed(assign(stage)))
          return signalPassFailure();
  }

  LogicalResult assign(planir::StageOp stage) {
    StageMemory memory(stage, alignment);
    if (failed(memory.run()))
      return failure();
    buffersPlaced += memory.buffersPlaced;
    regionsTight += memory.regionsTight;
    regionsLoose += memory.regionsLoose;
    bytesAboveLive += memory.bytesAboveLive;
    return checkLimit(stage);
  }

  LogicalResult checkLimit(planir::StageOp stage) {
    int64_t arena = *stage.getArenaBytes();
    if (limitBytes <= 0 || arena <= limitBytes)
      return success();
    return stage.emitError() << "stage " << stage.getStage() << " needs an arena of " << arena << " bytes, "
                             << arena - limitBytes << " more than the limit of " << limitBytes.getValue()
                             << "; another cut (--stages), more stages, --zero or --recompute make it smaller";
  }
};

} // namespace
