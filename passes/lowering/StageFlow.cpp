//===- StageFlow.cpp - what a stage executes, in order ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the line of StageFlow.h. A message is received before its first use in the
// segment it arrives in, or at that segment's end when only a later one uses it; a
// value is sent and reported as soon as it is there.
//
//===----------------------------------------------------------------------===//

#include "passes/lowering/StageFlow.h"
#include "dialects/dist/SegmentOrder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tgpt;

planir::SegmentKind tgpt::planKindOf(dist::SegmentKind kind) {
  switch (kind) {
  case dist::SegmentKind::Begin: return planir::SegmentKind::Begin;
  case dist::SegmentKind::Forward: return planir::SegmentKind::Forward;
  case dist::SegmentKind::Backward: return planir::SegmentKind::Backward;
  case dist::SegmentKind::WeightGradient: return planir::SegmentKind::WeightGradient;
  case dist::SegmentKind::Update: return planir::SegmentKind::Update;
  }
  llvm_unreachable("a kind of the enum");
}

FailureOr<StageFlow> StageFlow::of(const ProgramParts &parts, int64_t stage) {
  StageFlow flow;
  flow.parts = &parts;
  for (Message message : parts.messages)
    if (static_cast<int64_t>(message.op.getTo()) == stage)
      flow.arrivals[message.op.getOutput()] = {message.channel, message.sender.getKind(),
                                               static_cast<int64_t>(message.op.getToChunk())};
  for (dist::SegmentOp segment : parts.segments)
    if (static_cast<int64_t>(segment.getStage()) == stage)
      if (failed(flow.addSegment(parts, segment, stage)))
        return failure();
  for (const auto &[value, arrival] : flow.arrivals)
    return value.getDefiningOp()->emitOpError()
           << "is a message for " << dist::virtualStageText(stage, arrival.chunk) << ", which has no segment of kind '"
           << dist::stringifySegmentKind(arrival.kind) << "'";
  return flow;
}

const ValueFacts &StageFlow::factsOf(Value root) const {
  static const ValueFacts none;
  auto found = facts.find(root);
  return found == facts.end() ? none : found->second;
}

bool StageFlow::hasEvent(StringRef variable, int64_t after, int64_t before, Events which) const {
  auto found = events.find(parts->storageOf(variable));
  if (found == events.end())
    return false;
  ArrayRef<VariableEvent> all = found->second;
  auto next = llvm::upper_bound(all, after,
                                [](int64_t position, const VariableEvent &event) { return position < event.position; });
  for (; next != all.end() && next->position < before; ++next) {
    bool isRead = next->kind == VariableEvent::Kind::Read;
    if (which == Events::Any || (which == Events::Reads) == isRead)
      return true;
  }
  return false;
}

void StageFlow::append(FlowItem item, FlowSegment &segment) {
  ++nextPosition;
  segment.items.push_back(std::move(item));
}

void StageFlow::noteSegment(ValueFacts &found) {
  found.segments.resize(std::max<unsigned>(found.segments.size(), segments.size()));
  found.segments.set(segments.size() - 1);
}

void StageFlow::receive(Value value, FlowSegment &segment) {
  auto arrival = arrivals.find(value);
  noteSegment(facts[value]);
  append({FlowItem::Kind::Receive, value.getLoc(), nullptr, value, arrival->second.channel}, segment);
  arrivals.erase(arrival);
}

/// Records that the item about to be appended uses `value`; messages and host inputs
/// are taken first.
LogicalResult StageFlow::addUse(Value value, Operation *user, FlowSegment &segment, int64_t stage) {
  Value root = rootOf(value);
  auto argument = dyn_cast<BlockArgument>(root);
  if (arrivals.contains(root)) {
    receive(root, segment);
  } else if (argument && !facts.contains(root)) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "tgpt.name");
    if (!name)
      return function.emitOpError() << "argument " << argument.getArgNumber() << " has no 'tgpt.name'";
    append({FlowItem::Kind::Input, argument.getLoc(), nullptr, root, name}, segment);
  } else if (!facts.contains(root)) {
    return segment.op.emitOpError() << "of stage " << stage << " uses a value that is not on that stage";
  }
  ValueFacts &found = facts[root];
  found.lastUse = nextPosition;
  found.onlyUser = ++found.uses == 1 ? user : nullptr;
  noteSegment(found);
  return success();
}

/// Sends and reports what was waiting for `root`.
void StageFlow::addAfter(Value root, FlowSegment &segment) {
  auto waiting = departures.find(root);
  if (waiting == departures.end())
    return;
  for (FlowItem &item : waiting->second) {
    ValueFacts &found = facts[root];
    found.lastUse = nextPosition;
    found.onlyUser = nullptr;
    ++found.uses;
    append(std::move(item), segment);
  }
  departures.erase(waiting);
}

/// Notes that `op` uses a variable; a member of a bucket in pieces has no bytes to use.
LogicalResult StageFlow::addEvent(Operation *op, StringRef symbol, VariableEvent::Kind kind) {
  auto member = parts->variableIndex.find(symbol);
  if (member != parts->variableIndex.end()) {
    const DeclaredBucket *bucket = parts->variables[member->second].bucket;
    if (bucket && !bucket->pieceAxes.empty())
      return op->emitOpError() << "uses '@" << symbol << "', of which a rank holds a piece of bucket '@"
                               << bucket->name.getValue() << "' only";
  }
  events[parts->storageOf(symbol)].push_back({nextPosition, kind});
  return success();
}

/// A started collective uses its operand until the wait.
void StageFlow::endFlight(dist::WaitOp wait) {
  Operation *collective = wait.getPending().getDefiningOp();
  ValueFacts &operand = facts[rootOf(collective->getOperand(0))];
  if (operand.lastUse == positions.lookup(collective))
    alone.insert(collective);
  operand.lastUse = nextPosition;
}

LogicalResult StageFlow::addOp(Operation &op, FlowSegment &segment, int64_t stage) {
  // Inputs and receives come before the op, so its uses are counted at its own position.
  for (Value operand : op.getOperands())
    if (failed(addUse(operand, &op, segment, stage)))
      return failure();
  for (Value operand : op.getOperands())
    facts[rootOf(operand)].lastUse = nextPosition;
  if (auto wait = dyn_cast<dist::WaitOp>(op))
    endFlight(wait);
  LogicalResult isKnown =
      llvm::TypeSwitch<Operation *, LogicalResult>(&op)
          .Case([&](ReadOp read) { return addEvent(read, read.getSymbol(), VariableEvent::Kind::Read); })
          .Case([&](WriteOp write) { return addEvent(write, write.getSymbol(), VariableEvent::Kind::Write); })
          .Case([&](AccumulateOp add) {
            for (FlatSymbolRefAttr level : add.getLevels())
              if (failed(addEvent(add, level.getValue(), VariableEvent::Kind::Accumulate)))
                return failure();
            return success();
          })
          .Default([](Operation *) { return success(); });
  if (failed(isKnown))
    return failure();
  positions[&op] = nextPosition;
  for (Value result : op.getResults())
    noteSegment(facts[result]);
  append({FlowItem::Kind::Compute, op.getLoc(), &op, Value(), StringAttr()}, segment);
  return success();
}

/// No second segment of a kind, and the schedule runs them in the order of their kinds.
LogicalResult StageFlow::checkOrder(dist::SegmentOp op, planir::SegmentKind kind, int64_t stage) const {
  int64_t chunk = op.getChunk();
  for (const FlowSegment &earlier : segments)
    if (earlier.kind == kind && earlier.chunk == chunk)
      return op.emitOpError() << "is a second segment of kind '" << dist::stringifySegmentKind(op.getKind()) << "' of "
                              << dist::virtualStageText(stage, chunk);
  bool isOnce = kind == planir::SegmentKind::Begin || kind == planir::SegmentKind::Update;
  for (const FlowSegment &earlier : segments)
    if (!isOnce && earlier.chunk == chunk && placeInMicroBatch(earlier.kind) > placeInMicroBatch(kind))
      return op.emitOpError() << "of kind '" << dist::stringifySegmentKind(op.getKind()) << "' of "
                              << dist::virtualStageText(stage, chunk) << " comes behind its "
                              << planir::stringifySegmentKind(earlier.kind) << ", which runs later";
  return success();
}

/// What the segment sends and reports; the roots in the order of their messages and reports.
SmallVector<Value> StageFlow::addDepartures(const ProgramParts &parts, dist::SegmentOp op) {
  SmallVector<Value> leaving;
  auto leave = [&](Value value, FlowItem item) {
    leaving.push_back(rootOf(value));
    departures[leaving.back()].push_back(std::move(item));
  };
  for (Message message : parts.messages)
    if (message.sender == op)
      leave(message.op.getInput(),
            {FlowItem::Kind::Send, message.op.getLoc(), nullptr, rootOf(message.op.getInput()), message.channel});
  for (const ReportedValue &report : parts.reports)
    if (report.reporter == op)
      leave(report.value, {FlowItem::Kind::Output, op.getLoc(), nullptr, rootOf(report.value), report.name});
  return leaving;
}

/// What arrives here and none of the segment's ops has taken.
void StageFlow::receiveLate(FlowSegment &segment, dist::SegmentKind kind) {
  SmallVector<Value> late;
  for (const auto &[value, arrival] : arrivals)
    if (arrival.kind == kind && arrival.chunk == segment.chunk)
      late.push_back(value);
  for (Value value : late)
    receive(value, segment);
}

LogicalResult StageFlow::addSegment(const ProgramParts &parts, dist::SegmentOp op, int64_t stage) {
  planir::SegmentKind kind = planKindOf(op.getKind());
  if (failed(checkOrder(op, kind, stage)))
    return failure();
  int64_t chunk = op.getChunk();
  FlowSegment &segment = segments.emplace_back(FlowSegment{kind, chunk, op, {}, nextPosition});
  for (Value root : addDepartures(parts, op)) { // made before this segment
    Operation *definition = root.getDefiningOp();
    if (definition && definition->getBlock() == &op.getBody().front())
      continue;
    if (departures.contains(root) && failed(addUse(root, nullptr, segment, stage)))
      return failure();
    addAfter(root, segment);
  }
  for (Operation &inner : op.getBody().front().without_terminator()) {
    if (failed(addOp(inner, segment, stage)))
      return failure();
    for (Value result : inner.getResults())
      addAfter(result, segment);
  }
  receiveLate(segment, op.getKind());
  return success();
}
