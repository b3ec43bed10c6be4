//===- PlanFlights.cpp - collectives that run beside other instructions ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From its start to the wait for its event a collective reads one buffer and writes
// another. Labels are those of plan.wait. That buffers may share bytes is seen only
// once they have offsets: runtime/plan/CheckFlights.cpp.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tgpt::planir;

static SmallVector<Value> writtenBy(Operation &op) {
  if (auto kernel = dyn_cast<KernelOp>(op))
    return SmallVector<Value>(kernel.getOutputs());
  if (auto collective = dyn_cast<CollectiveOp>(op))
    return {collective.getOutput()};
  if (auto recv = dyn_cast<RecvOp>(op))
    return {recv.getOutput()};
  if (auto input = dyn_cast<InputOp>(op))
    return {input.getOutput()};
  return {};
}

namespace {

/// Follows the events of one segment.
class FlightCheck {
public:
  LogicalResult step(Operation &op) {
    if (auto wait = dyn_cast<WaitOp>(op))
      return end(wait);
    for (auto &[event, collective] : inFlight)
      if (failed(checkApart(op, collective)))
        return failure();
    auto collective = dyn_cast<CollectiveOp>(op);
    return collective && collective.getEvent() ? begin(collective) : success();
  }

  LogicalResult finish() {
    if (inFlight.empty())
      return success();
    auto &[event, collective] = *inFlight.begin();
    return collective.emitOpError() << "starts event " << event << ", for which nothing waits in the segment"; // C1
  }

private:
  LogicalResult begin(CollectiveOp op) {
    int64_t event = *op.getEvent();
    auto [earlier, isNew] = started.try_emplace(event, op);
    if (isNew) {
      inFlight[event] = op;
      return success();
    }
    InFlightDiagnostic error = op.emitOpError() << "starts event " << event << " again"; // C1
    error.attachNote(earlier->second.getLoc()) << "first started here";
    return error;
  }

  LogicalResult end(WaitOp op) {
    int64_t event = op.getEvent();
    auto found = inFlight.find(event);
    if (found == inFlight.end()) // C1
      return op.emitOpError() << "waits for event " << event << ", which is not in flight";
    CollectiveOp collective = found->second;
    SmallVector<Value> expected = {collective.getOutput()};
    if (collective.getInput() != collective.getOutput())
      expected.push_back(collective.getInput());
    if (SmallVector<Value>(op.getBuffers()) != expected) { // C2
      InFlightDiagnostic error = op.emitOpError()
                                 << "of event " << event
                                 << " names other buffers than its collective's output and, where it differs, input";
      error.attachNote(collective.getLoc()) << "started here";
      return error;
    }
    inFlight.erase(found);
    return success();
  }

  LogicalResult checkApart(Operation &op, CollectiveOp collective) { // C3
    bool usesOutput = llvm::is_contained(op.getOperands(), collective.getOutput());
    if (!usesOutput && !llvm::is_contained(writtenBy(op), collective.getInput()))
      return success();
    InFlightDiagnostic error = op.emitOpError()
                               << (usesOutput ? "uses the output" : "writes the input")
                               << " of a collective whose event " << *collective.getEvent() << " is in flight";
    error.attachNote(collective.getLoc()) << "started here";
    return error;
  }

  llvm::MapVector<int64_t, CollectiveOp> inFlight;
  llvm::DenseMap<int64_t, CollectiveOp> started;
};

} // namespace

LogicalResult tgpt::planir::verifyFlights(SegmentOp segment) {
  FlightCheck check;
  for (Operation &op : segment.getBody().getOps())
    if (failed(check.step(op)))
      return failure();
  return check.finish();
}
