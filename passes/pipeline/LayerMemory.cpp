//===- LayerMemory.cpp - what the parts of a micro-batch hold ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value is kept for the backward, in slots, or scratch.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/LayerMemory.h"
#include "dialects/dist/Dist.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <tuple>

using namespace mlir;
using namespace tgpt;

void LayerMemory::addTo(StageProblem &problem, SharedByParts &shared, ArrayRef<int64_t> gatheredAhead) {
  addActivations(problem, shared);
  addPeaks(problem, gatheredAhead);
  addMessages(problem);
  for (Operation &op : places.ops())
    problem.workspaceBytes = std::max(problem.workspaceBytes, workspaceBytesOf(&op, assumptions.productWorkspaceBytes));
}

// What several parts keep is counted once where they are on one stage, so all of them must count it all the time.
void LayerMemory::addActivations(StageProblem &problem, SharedByParts &shared) const {
  for (Operation &op : places.ops())
    for (OpResult result : op.getResults()) {
      if (!places.isKept(result))
        continue;
      LayerPlaces::Parts parts = places.partsThatKeep(result), waiting;
      int64_t bytes = bytesOf(result.getType());
      if (parts.size() > 1) {
        shared[{parts.begin(), parts.end()}].activationBytes += bytes;
        waiting = parts;
      }
      for (Operation *user : result.getUsers())
        if (places.isKeptFor(result, user) && places.isOfWeights(user))
          waiting.insert(places.of(user).part);
      if (!places.of(&op).isBackward || parts.size() > 1)
        for (int64_t part : parts)
          problem.parts[part].activationBytes += bytes;
      for (int64_t part : waiting)
        problem.parts[part].waitingBytes += bytes;
    }
}

/// `PartPeaks::never` for what the function returns.
int64_t LayerMemory::lastStep(Value value) const {
  int64_t last = stepOf.at(value.getDefiningOp());
  for (Operation *user : value.getUsers()) {
    auto step = stepOf.find(user);
    last = std::max(last, step == stepOf.end() ? PartPeaks::never : step->second);
  }
  return last;
}

// Only what an op computed can be overwritten: not what was read or came from outside.
Value LayerMemory::replacedBy(OpResult result) const {
  Operation *op = result.getOwner();
  Value operand;
  if (isa<dist::AllReduceOp>(op))
    operand = op->getOperand(0);
  else if (auto kernel = dyn_cast<KernelOpInterface>(op))
    if (std::optional<unsigned> index = kernel.getInPlaceOperand(result.getResultNumber()))
      operand = op->getOperand(*index);
  bool isOverwritten = operand && operand.getDefiningOp() && places.of(operand.getDefiningOp()).part >= 0 &&
                       lastStep(operand) == stepOf.at(op) && bytesOf(operand.getType()) == bytesOf(result.getType());
  return isOverwritten ? operand : Value();
}

/// The order in which a stage runs its ops.
PartPeaks LayerMemory::orderSteps(int64_t parts) {
  std::vector<PartStep> steps;
  for (PartPhase phase : {PartPhase::Forward, PartPhase::Backward, PartPhase::WeightGradient})
    for (Operation &op : places.ops()) {
      LayerPlaces::Place place = places.of(&op);
      PartPhase ofOp = places.isOfWeights(&op) ? PartPhase::WeightGradient
                       : place.isBackward      ? PartPhase::Backward
                                               : PartPhase::Forward;
      if (place.part < 0 || ofOp != phase)
        continue;
      stepOf[&op] = static_cast<int64_t>(steps.size());
      steps.push_back({place.part, phase});
    }
  return PartPeaks(std::move(steps), parts);
}

/// When a result has bytes of its own: one that takes over those of an operand when its op is done.
int64_t LayerMemory::beginOf(OpResult value) const {
  int64_t step = stepOf.at(value.getOwner());
  return replacedBy(value) ? endOf(step) : startOf(step);
}

/// A value that is kept is in the slots of the parts that use it, until the last of them has; where no slot of its own
/// part has it, it waits there for the next one.
void LayerMemory::addKept(OpResult value, PartPeaks &peaks) const {
  int64_t bytes = bytesOf(value.getType()), made = beginOf(value), handedOver = PartPeaks::never;
  LayerPlaces::Parts parts = places.partsThatKeep(value);
  LayerPlaces::Place place = places.of(value.getOwner());
  for (int64_t part : parts) {
    int64_t until = made;
    for (Operation *user : value.getUsers())
      if (places.isKeptFor(value, user) && places.of(user).part == part)
        until = std::max(until, endOf(stepOf.at(user)));
    peaks.addKept(part, made, parts.size() > 1 ? PartPeaks::never : until, bytes);
    handedOver =
        std::min(handedOver, peaks.startOfPart(part, place.isBackward ? PartPhase::Backward : PartPhase::Forward));
  }
  if (!parts.count(place.part) && handedOver != PartPeaks::never)
    peaks.addScratch(made, handedOver, bytes);
}

/// Any other value is live from its op to its last use.
void LayerMemory::addUnkept(OpResult value, PartPeaks &peaks) const {
  int64_t last = lastStep(value);
  peaks.addScratch(beginOf(value), last == PartPeaks::never ? last : endOf(last), bytesOf(value.getType()));
}

/// The parameter to whose gradient alone a result is added, where ZeRO 2 and 3 make it in a bucket; or null.
ParameterOp LayerMemory::bucketedParameter(OpResult result) const {
  if (assumptions.zero < 2 || dp == 1 || !result.hasOneUse())
    return {};
  auto accumulate = dyn_cast<AccumulateOp>(*result.user_begin());
  if (!accumulate || !stepOf.contains(accumulate))
    return {};
  auto state = SymbolTable::lookupNearestSymbolFrom<StateOp>(accumulate, accumulate.getSymbolAttr());
  if (!state || !state.getParameterAttr())
    return {};
  return SymbolTable::lookupNearestSymbolFrom<ParameterOp>(accumulate, state.getParameterAttr());
}

// A bucket has the gradients of parameters of one part that are all decayed or none. It is live from the first of them
// until the last, when ranks reduce it, each to a piece.
void LayerMemory::addUnreduced(PartPeaks &peaks) const {
  struct Bucket {
    int64_t first = PartPeaks::never, last = 0, bytes = 0;
  };
  std::map<std::pair<int64_t, bool>, Bucket> buckets;
  for (Operation &op : places.ops())
    for (OpResult result : op.getResults())
      if (ParameterOp parameter = bucketedParameter(result)) {
        int64_t added = stepOf.at(*result.user_begin());
        Bucket &bucket = buckets[{places.of(*result.user_begin()).part, parameter.getNoDecay()}];
        bucket.first = std::min(bucket.first, stepOf.at(&op));
        bucket.last = std::max(bucket.last, added);
        bucket.bytes += bytesOf(result.getType());
      }
  for (const auto &[key, bucket] : buckets) {
    peaks.addScratch(startOf(bucket.first), endOf(bucket.last), bucket.bytes);
    peaks.addScratch(startOf(bucket.last), endOf(bucket.last), llvm::divideCeilSigned(bucket.bytes, dp));
  }
}

// Under ZeRO 3 the parameters of a bucket are whole from the first use of one of them in a phase to the last.
void LayerMemory::addGathered(PartPeaks &peaks) const {
  struct Bucket {
    int64_t first = PartPeaks::never, last = 0, bytes = 0;
    llvm::SmallDenseSet<StringAttr> parameters;
  };
  std::map<std::tuple<int64_t, bool, bool>, Bucket> buckets; // part, in the backward, without decay
  for (auto read : places.function().getOps<ReadOp>())
    for (Operation *user : read->getUsers()) {
      auto step = stepOf.find(user);
      auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(read, read.getSymbolAttr());
      if (!parameter || step == stepOf.end())
        continue;
      Bucket &bucket = buckets[{places.of(user).part, places.of(user).isBackward, parameter.getNoDecay()}];
      bucket.first = std::min(bucket.first, step->second);
      bucket.last = std::max(bucket.last, step->second);
      if (bucket.parameters.insert(parameter.getSymNameAttr()).second)
        bucket.bytes += bytesOf(parameter.getType());
    }
  for (const auto &[key, bucket] : buckets)
    peaks.addScratch(startOf(bucket.first), endOf(bucket.last), bucket.bytes);
}

void LayerMemory::addPeaks(StageProblem &problem, ArrayRef<int64_t> gatheredAhead) {
  PartPeaks peaks = orderSteps(static_cast<int64_t>(problem.parts.size()));
  for (Operation &op : places.ops())
    for (OpResult result : op.getResults()) {
      if (places.of(&op).part < 0 || fusedAccumulate(result) || bucketedParameter(result))
        continue;
      if (places.isKept(result))
        addKept(result, peaks);
      else
        addUnkept(result, peaks);
    }
  if (dp > 1 && assumptions.zero >= 2)
    addUnreduced(peaks);
  if (dp > 1 && assumptions.zero >= 3)
    addGathered(peaks);
  std::vector<std::vector<PartPeaks::Peak>> found = peaks.peaks();
  for (size_t i = 0; i < problem.parts.size(); ++i) {
    PartCost &part = problem.parts[i];
    auto at = [&](PartPhase phase) { return found[i][static_cast<size_t>(phase)]; };
    PartPeaks::Peak forward = at(PartPhase::Forward), backward = at(PartPhase::Backward),
                    weights = at(PartPhase::WeightGradient);
    forward.liveBytes += gatheredAhead[i];
    backward.liveBytes += gatheredAhead[i];
    part.growthBytes = std::max(backward.keptBytes, part.waitingBytes) - part.activationBytes;
    part.scratchBytes =
        std::max({forward.liveBytes - part.activationBytes, weights.liveBytes - part.waitingBytes, int64_t(0)});
    part.backwardBytes = std::max(backward.liveBytes - part.activationBytes, part.growthBytes);
  }
}

// Each side of a boundary has room for a message of the forward and one of the backward.
void LayerMemory::addMessages(StageProblem &problem) const {
  std::vector<int64_t> crossing(problem.parts.size() + 1); // differences; [i]: between parts i and i + 1
  for (Operation &op : places.ops()) {
    LayerPlaces::Place made = places.of(&op);
    if (made.part < 0)
      continue;
    for (OpResult result : op.getResults()) {
      int64_t low = made.part, high = made.part;
      for (Operation *user : result.getUsers())
        if (LayerPlaces::Place used = places.of(user); used.part >= 0 && used.isBackward == made.isBackward) {
          low = std::min(low, used.part);
          high = std::max(high, used.part);
        }
      crossing[low] += bytesOf(result.getType());
      crossing[high] -= bytesOf(result.getType());
    }
  }
  int64_t bytes = 0;
  for (int64_t difference : crossing) {
    bytes += difference;
    problem.messageBytes = std::max(problem.messageBytes, bytes);
  }
}
