//===- SplitMicroBatch.cpp - give each stage its forward and its backward ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/SplitMicroBatch.h"
#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "passes/pipeline/SourceOps.h"
#include "passes/pipeline/SumOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tgpt;

/// True for ops that start from nothing, reads and fills: cheaper to run again than
/// to save or send.
static bool floats(Operation *op) {
  return isa<ReadOp>(op) || (op->getNumOperands() == 0 && op->getNumResults() > 0 && isMemoryEffectFree(op));
}

//===----------------------------------------------------------------------===//
// Placing: a stage and a direction for every op.
//===----------------------------------------------------------------------===//

LogicalResult MicroBatchSplit::place() {
  if (failed(checkStraightLine(function)))
    return failure();
  if (function.getBody().front().getTerminator()->getNumOperands() != 0)
    return function.emitError("the micro-batch returns values; it may only add to states");
  bool backward = false;
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (isa<BeginBackwardOp>(op)) {
      if (backward)
        return op.emitError("the backward begins twice");
      backward = true;
      continue;
    }
    FailureOr<Place> place = placeOne(&op, backward);
    if (failed(place))
      return failure();
    places[&op] = *place;
  }
  if (!backward)
    return function.emitError("the micro-batch has no tgpt.begin_backward; tgpt-differentiate writes it");
  splitSums();
  return checkSymbols();
}

FailureOr<MicroBatchSplit::Place> MicroBatchSplit::placeOne(Operation *op, bool backward) {
  if (floats(op))
    return Place{/*floating=*/true, backward, 0};
  if (auto layer = op->getAttrOfType<IntegerAttr>(layerAttributeName))
    return placeByLayer(op, layer.getInt(), backward);
  return placeByOperands(op, backward);
}

FailureOr<MicroBatchSplit::Place> MicroBatchSplit::placeByLayer(Operation *op, int64_t layer, bool backward) {
  if (layer < -1 || layer > layers.layerCount()) {
    op->emitError() << "'" << layerAttributeName << "' is " << layer << "; legal is -1 to " << layers.layerCount();
    return failure();
  }
  return Place{/*floating=*/false, backward, layers.virtualStageOf(layer)};
}

// An op without layer stays with what it is computed from: in the forward with the
// last stage among its operands, in the backward (which runs the other way) with
// the first.
FailureOr<MicroBatchSplit::Place> MicroBatchSplit::placeByOperands(Operation *op, bool backward) {
  std::optional<int64_t> stage;
  for (Value operand : op->getOperands()) {
    const Place *place = placeOf(operand);
    if (!place)
      continue;
    if (!stage)
      stage = place->stage;
    stage = backward ? std::min(*stage, place->stage) : std::max(*stage, place->stage);
  }
  if (stage)
    return Place{/*floating=*/false, backward, *stage};
  if (op->getNumResults() > 0)
    return Place{/*floating=*/true, backward, 0};
  op->emitError() << "op has no '" << layerAttributeName << "' and no operand that has one, so its stage is not known";
  return failure();
}

const MicroBatchSplit::Place *MicroBatchSplit::placeOf(Value value) const {
  Operation *op = value.getDefiningOp();
  auto found = op ? places.find(op) : places.end();
  return found == places.end() || found->second.floating ? nullptr : &found->second;
}

// A weight used on several stages: the sum of its gradients is added to a state.
// Each stage adds its own gradient to its own copy of the state instead, and the
// update sums the copies once a step; no gradient travels per micro-batch.
void MicroBatchSplit::splitSums() {
  for (auto accumulate : llvm::make_early_inc_range(function.getOps<AccumulateOp>()))
    splitSum(accumulate);
}

void MicroBatchSplit::splitSum(AccumulateOp accumulate) {
  SmallVector<Operation *> sums;
  SmallVector<Value> addends = addendsOf(accumulate.getValue(), sums);
  StageSet stages(virtualCount);
  for (Value addend : addends)
    if (const Place *place = placeOf(addend))
      stages.set(place->stage);
  if (stages.count() < 2)
    return;
  OpBuilder builder(accumulate);
  Place whole = places.lookup(accumulate);
  for (Value addend : addends) {
    const Place *made = placeOf(addend);
    Place place{/*floating=*/false, whole.backward, made ? made->stage : whole.stage};
    Operation *labelled = made ? addend.getDefiningOp() : accumulate.getOperation();
    if (made && made->backward == whole.backward)
      builder.setInsertionPointAfter(labelled); // at once, so that the gradient need not be kept
    else
      builder.setInsertionPoint(accumulate);
    auto part = AccumulateOp::create(builder, accumulate.getLoc(), addend, accumulate.getSymbolAttr());
    if (Attribute layer = labelled->getAttr(layerAttributeName))
      part->setAttr(layerAttributeName, layer);
    places[part] = place;
  }
  sums.insert(sums.begin(), accumulate);
  for (Operation *op : sums) {
    places.erase(op);
    op->erase();
  }
}

// Reads float, so a symbol that the micro-batch changes must not be read in it.
LogicalResult MicroBatchSplit::checkSymbols() {
  llvm::DenseMap<StringAttr, Operation *> changes;
  for (Operation &op : function.getBody().front())
    if (StringAttr symbol = changedSymbol(&op))
      changes.try_emplace(symbol, &op);
  for (auto read : function.getOps<ReadOp>())
    if (Operation *change = changes.lookup(read.getSymbolAttr().getAttr())) {
      InFlightDiagnostic error = read.emitError()
                                 << "the micro-batch reads " << read.getSymbolAttr() << ", which it changes";
      error.attachNote(change->getLoc()) << "changed here";
      return error;
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Routing: what each segment holds, yields and sends.
//===----------------------------------------------------------------------===//

LogicalResult MicroBatchSplit::route() {
  segments.resize(2 * virtualCount);
  savedBytesOfStage.assign(virtualCount, 0);
  // Users come after what they use, so this order knows all segments of a floating op.
  for (Operation &op : llvm::reverse(function.getBody().front().without_terminator())) {
    if (isa<BeginBackwardOp>(op))
      continue;
    for (Value operand : op.getOperands())
      if (failed(routeUse(&op, operand)))
        return failure();
  }
  collectSegments();
  return success();
}

StageSet MicroBatchSplit::segmentsOf(Operation *op) const {
  Place place = places.lookup(op);
  if (!place.floating) {
    StageSet one(2 * virtualCount);
    one.set(place.backward * virtualCount + place.stage);
    return one;
  }
  auto found = segmentsOfFloating.find(op);
  return found == segmentsOfFloating.end() ? StageSet(2 * virtualCount) : found->second;
}

LogicalResult MicroBatchSplit::routeUse(Operation *user, Value value) {
  Operation *maker = value.getDefiningOp();
  if (!maker)
    return success();
  StageSet users = segmentsOf(user);
  Place made = places.lookup(maker);
  if (made.floating) {
    segmentsOfFloating.try_emplace(maker, 2 * virtualCount).first->second |= users;
    return success();
  }
  Travel &travel = travels.try_emplace(value, virtualCount).first->second;
  for (unsigned segment : users.set_bits()) {
    bool backward = segment >= virtualCount;
    int64_t stage = segment % virtualCount;
    if (!made.backward && backward)
      travel.usedBackward.set(stage);
    if (stage == made.stage)
      continue;
    bool down = stage < made.stage;
    if (made.backward != down && (made.backward || !backward))
      return reportAgainstFlow(user, stage, maker, made);
    (down ? travel.backward : travel.forward).set(stage);
  }
  return success();
}

std::string MicroBatchSplit::textOf(int64_t stage) const {
  return dist::virtualStageText(layers.stageOf(stage), layers.chunkOf(stage));
}

LogicalResult MicroBatchSplit::reportAgainstFlow(Operation *user, int64_t stage, Operation *maker, const Place &made) {
  InFlightDiagnostic error = user->emitError()
                             << "in the " << (made.backward ? "backward" : "forward") << ", " << textOf(stage)
                             << " uses a value of " << textOf(made.stage) << ", against the direction of the pipeline";
  error.attachNote(maker->getLoc()) << "computed here";
  return error;
}

void MicroBatchSplit::collectSegments() {
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (isa<BeginBackwardOp>(op))
      continue;
    StageSet runsIn = segmentsOf(&op);
    for (unsigned segment : runsIn.set_bits())
      segments[segment].ops.push_back(&op);
    Place place = places.lookup(&op);
    if (place.floating) {
      repeatedOps += std::max<int64_t>(runsIn.count(), 1) - 1;
      continue;
    }
    for (Value result : op.getResults())
      if (auto travel = travels.find(result); travel != travels.end())
        addTravel(result, travel->second, place);
  }
  for (Segment &segment : segments)
    llvm::stable_sort(segment.sends, llvm::less_first());
}

// A value of the forward that an earlier stage's backward uses goes by way of its
// own stage's backward, so that all that arrives there comes from backwards.
void MicroBatchSplit::addTravel(Value value, const Travel &travel, const Place &place) {
  Segment &made = segmentOf(place.backward, place.stage);
  if (travel.leaves())
    made.yields.push_back(value);
  for (unsigned stage : travel.forward.set_bits())
    made.sends.push_back({stage, value});
  Segment &returned = segmentOf(/*backward=*/true, place.stage);
  if (travel.backward.any() && !place.backward)
    returned.yields.push_back(value);
  for (unsigned stage : travel.backward.set_bits())
    returned.sends.push_back({stage, value});
  StageSet kept = travel.usedBackward;
  for (unsigned stage : travel.backward.set_bits())
    kept.reset(stage);
  if (!place.backward && travel.backward.any())
    kept.set(place.stage);
  savedValues += kept.count();
  for (unsigned stage : kept.set_bits())
    savedBytesOfStage[stage] += bytesOf(value.getType());
}

//===----------------------------------------------------------------------===//
// Building.
//===----------------------------------------------------------------------===//

void MicroBatchSplit::build() {
  Block &body = function.getBody().front();
  numberSourceOps(function, [&](Operation *op) { return places.lookup(op).floating; });
  SmallVector<Operation *> old;
  for (Operation &op : body.without_terminator())
    old.push_back(&op);
  OpBuilder builder(body.getTerminator());
  std::vector<IRMapping> atStage(virtualCount);
  for (int64_t stage = 0; stage < virtualCount; ++stage)
    if (!isEmpty(stage))
      buildSegment(builder, /*backward=*/false, stage, atStage);
  for (int64_t stage = virtualCount - 1; stage >= 0; --stage)
    if (!isEmpty(stage))
      buildSegment(builder, /*backward=*/true, stage, atStage);
  for (Operation *op : llvm::reverse(old))
    op->erase();
}

void MicroBatchSplit::buildSegment(OpBuilder &builder, bool backward, int64_t stage, std::vector<IRMapping> &atStage) {
  const Segment &segment = segmentOf(backward, stage);
  auto kind = backward ? dist::SegmentKind::Backward : dist::SegmentKind::Forward;
  auto types = llvm::to_vector(ValueRange(segment.yields).getTypes());
  auto op =
      dist::SegmentOp::create(builder, function.getLoc(), types, kind, layers.stageOf(stage), layers.chunkOf(stage));
  OpBuilder inside = OpBuilder::atBlockBegin(&op.getBody().emplaceBlock());
  IRMapping here = atStage[stage];
  for (Operation *old : segment.ops)
    inside.clone(*old, here);
  SmallVector<Value> yields;
  for (Value value : segment.yields)
    yields.push_back(here.lookup(value));
  dist::YieldOp::create(inside, function.getLoc(), yields);
  IRMapping made;
  for (auto [value, result] : llvm::zip_equal(segment.yields, op.getResults()))
    made.map(value, result);
  for (Value value : segment.yields)
    atStage[stage].map(value, made.lookup(value));
  for (auto [to, value] : segment.sends) {
    auto sent = dist::SendRecvOp::create(builder, value.getLoc(), value.getType(), made.lookup(value),
                                         layers.stageOf(stage), layers.stageOf(to), layers.chunkOf(stage),
                                         layers.chunkOf(to), /*depth=*/IntegerAttr());
    atStage[to].map(value, sent.getOutput());
  }
}

//===----------------------------------------------------------------------===//
// What the split says about itself.
//===----------------------------------------------------------------------===//

void MicroBatchSplit::addUses(StageHomes &homes) const {
  for (auto [index, segment] : llvm::enumerate(segments))
    for (Operation *op : segment.ops)
      if (StringAttr symbol = usedSymbol(op))
        homes.addUse(symbol, layers.stageOf(index % virtualCount));
}

int64_t MicroBatchSplit::countSends() const {
  int64_t sends = 0;
  for (const Segment &segment : segments)
    sends += segment.sends.size();
  return sends;
}
