//===- StageFlow.h - what a stage executes, in order ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ops of a stage's segments in one line, begin to update, with sends, receives,
// host inputs and outputs in their places. Positions along this line answer when a
// value is last used and when a variable is next read or written.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_LOWERING_STAGEFLOW_H
#define TGPT_PASSES_LOWERING_STAGEFLOW_H

#include "passes/lowering/ProgramParts.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include <vector>

namespace tgpt {

/// The kind of segment in a plan.
planir::SegmentKind planKindOf(dist::SegmentKind kind);

/// One thing a stage does.
struct FlowItem {
  enum class Kind { Compute, Send, Receive, Input, Output };
  Kind kind;
  mlir::Location location;
  mlir::Operation *op;   ///< Compute
  mlir::Value value;     ///< the rest: what is sent, received, taken or reported
  mlir::StringAttr name; ///< channel, or name for the host
};

struct FlowSegment {
  planir::SegmentKind kind;
  int64_t chunk;
  dist::SegmentOp op;
  std::vector<FlowItem> items;
  int64_t firstPosition = 0;
};

/// A use of a variable by name.
struct VariableEvent {
  enum class Kind { Read, Write, Accumulate };
  int64_t position;
  Kind kind;
};

/// Where a value is defined and used along the line.
struct ValueFacts {
  int64_t lastUse = -1;
  unsigned uses = 0;
  llvm::SmallBitVector segments; ///< bit i: defined or used in segment i
  mlir::Operation *onlyUser = nullptr;
};

class StageFlow {
public:
  static mlir::FailureOr<StageFlow> of(const ProgramParts &parts, int64_t stage);

  const std::vector<FlowSegment> &getSegments() const { return segments; }
  const ValueFacts &factsOf(mlir::Value root) const;
  int64_t positionOf(mlir::Operation *op) const { return positions.lookup(op); }
  /// True when nothing uses the operand of a started collective between its start and
  /// its wait, up to which the operand counts as used.
  bool hasOperandToItself(mlir::Operation *collective) const { return alone.contains(collective); }
  /// True when the stage reads or writes the variable.
  /// Members of a bucket are used when any of them is.
  bool uses(llvm::StringRef variable) const { return events.contains(parts->storageOf(variable)); }
  /// An event of the variable's bytes strictly between two positions, reads only or writes
  /// (accumulation included) only where asked.
  enum class Events { Any, Reads, Writes };
  bool hasEvent(llvm::StringRef variable, int64_t after, int64_t before, Events which) const;

private:
  mlir::LogicalResult addSegment(const ProgramParts &parts, dist::SegmentOp segment, int64_t stage);
  mlir::LogicalResult checkOrder(dist::SegmentOp segment, planir::SegmentKind kind, int64_t stage) const;
  llvm::SmallVector<mlir::Value> addDepartures(const ProgramParts &parts, dist::SegmentOp segment);
  mlir::LogicalResult addOp(mlir::Operation &op, FlowSegment &segment, int64_t stage);
  mlir::LogicalResult addEvent(mlir::Operation *op, llvm::StringRef symbol, VariableEvent::Kind kind);
  mlir::LogicalResult addUse(mlir::Value value, mlir::Operation *user, FlowSegment &segment, int64_t stage);
  void addAfter(mlir::Value root, FlowSegment &segment);
  void endFlight(dist::WaitOp wait);
  void receive(mlir::Value value, FlowSegment &segment);
  void receiveLate(FlowSegment &segment, dist::SegmentKind kind);
  /// Notes that the segment at hand makes or uses the value.
  void noteSegment(ValueFacts &found);
  void append(FlowItem item, FlowSegment &segment);

  const ProgramParts *parts = nullptr;
  std::vector<FlowSegment> segments;
  llvm::DenseMap<mlir::Value, ValueFacts> facts;
  llvm::DenseMap<mlir::Operation *, int64_t> positions;
  llvm::StringMap<llvm::SmallVector<VariableEvent>> events;
  llvm::DenseSet<mlir::Operation *> alone; ///< see hasOperandToItself
  /// Messages to this stage that no item has received yet, with their channel and the
  /// kind and chunk of the segment they arrive in.
  struct Arrival {
    mlir::StringAttr channel;
    dist::SegmentKind kind;
    int64_t chunk;
  };
  llvm::MapVector<mlir::Value, Arrival> arrivals;
  /// What leaves the segment at hand, by root.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<FlowItem>> departures;
  int64_t nextPosition = 0;
};

} // namespace tgpt

#endif // TGPT_PASSES_LOWERING_STAGEFLOW_H
