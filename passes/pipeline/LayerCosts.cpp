//===- LayerCosts.cpp - what the layers of a micro-batch cost ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// States, and what LayerTimes and LayerMemory find.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/LayerCosts.h"
#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "passes/pipeline/LayerMemory.h"
#include "passes/pipeline/LayerTimes.h"
#include "passes/pipeline/StageCut.h"
#include "passes/pipeline/StageHomes.h"
#include "passes/pipeline/StageLayers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace tgpt;

/// With so many nanoseconds a part (19 hours) sums stay below 2^60.
static constexpr double mostNanoseconds = double(int64_t(1) << 46);
/// Bytes of all parts together: far from overflow when slots multiply them.
static constexpr double mostBytes = double(int64_t(1) << 58);

static int64_t sizeOfDp(ModuleOp module) {
  auto meshes = module.getOps<dist::MeshOp>();
  return meshes.empty() ? 1 : (*meshes.begin()).sizeOf("dp");
}

namespace {

class LayerCosts {
public:
  LayerCosts(ModuleOp module, func::FuncOp microBatch, int64_t layerCount, const CostAssumptions &assumptions)
      : module(module), layerCount(layerCount), assumptions(assumptions), places(microBatch, layerCount),
        dp(sizeOfDp(module)), wholeStates(layerCount + 2), gatheredAhead(layerCount + 2) {
    problem.parts.resize(layerCount + 2);
  }

  FailureOr<StageProblem> run() {
    if (failed(places.place()))
      return failure();
    if (assumptions.splitsWeightGradients)
      places.findWeightGradients();
    addStates();
    addTimes();
    LayerMemory(places, assumptions, dp).addTo(problem, shared, gatheredAhead);
    for (auto &[parts, bytes] : shared)
      problem.shared.push_back({parts, bytes.state, bytes.activationBytes});
    if (failed(checkSize()))
      return failure();
    return std::move(problem);
  }

private:
  void addStates();
  void addState(const LayerPlaces::Parts &users, const StateBytes &whole);
  void addTimes();
  LogicalResult checkSize();

  ModuleOp module;
  int64_t layerCount;
  const CostAssumptions &assumptions;
  LayerPlaces places;
  int64_t dp;
  StageProblem problem;
  std::vector<StateBytes> wholeStates; ///< of each part, as if nothing was shared out
  std::vector<int64_t> gatheredAhead;  ///< bytes while a part runs, of parameters of those that run next
  SharedByParts shared;
};

} // namespace

void LayerCosts::addStates() {
  llvm::DenseMap<StringAttr, StringAttr> parameterOf;
  llvm::DenseMap<StringAttr, LayerPlaces::Parts> users;
  for (auto state : module.getOps<StateOp>())
    if (FlatSymbolRefAttr parameter = state.getParameterAttr())
      parameterOf[state.getSymNameAttr()] = parameter.getAttr();
  for (Operation &op : places.ops()) {
    StringAttr symbol = usedSymbol(&op);
    if (!symbol)
      continue;
    LayerPlaces::Parts &parts = users[parameterOf.lookup_or(symbol, symbol)];
    if (int64_t part = places.of(&op).part; part >= 0)
      parts.insert(part);
    for (Operation *user : op.getUsers())
      if (int64_t part = places.of(user).part; part >= 0)
        parts.insert(part);
  }
  llvm::DenseMap<StringAttr, StateBytes> bytes;
  for (auto state : module.getOps<StateOp>())
    if (FlatSymbolRefAttr parameter = state.getParameterAttr()) {
      StateBytes &all = bytes[parameter.getAttr()];
      (state.getRole() == StateRole::Gradient ? all.gradients : all.optimizer) += bytesOf(state.getType());
    }
  for (auto parameter : module.getOps<ParameterOp>()) {
    StateBytes all = bytes.lookup(parameter.getSymNameAttr());
    all.parameters = bytesOf(parameter.getType());
    LayerPlaces::Parts parts = users.lookup(parameter.getSymNameAttr());
    addState(parts.empty() ? LayerPlaces::Parts{0} : parts, all); // what is not used lives on the first stage
  }
}

// ZeRO cuts what a rank holds, and needs the whole of it, or the reduced piece, for a while.
void LayerCosts::addState(const LayerPlaces::Parts &users, const StateBytes &whole) {
  int64_t zero = dp > 1 ? assumptions.zero : 0;
  StateBytes held = whole;
  if (zero >= 1)
    held.optimizer = llvm::divideCeilSigned(whole.optimizer, dp);
  if (zero >= 2)
    held.gradients = llvm::divideCeilSigned(whole.gradients, dp);
  if (zero >= 3)
    held.parameters = llvm::divideCeilSigned(whole.parameters, dp);
  for (int64_t user : users) {
    PartCost &part = problem.parts[user];
    part.state += held;
    wholeStates[user] += whole;
    if (zero == 1)
      part.updateBytes += llvm::divideCeilSigned(whole.gradients, dp);
    if (zero >= 3)
      gatheredAhead[user] += whole.parameters * std::min(assumptions.zeroPrefetch, layerCount);
  }
  if (users.size() > 1)
    shared[{users.begin(), users.end()}].state += held;
}

void LayerCosts::addTimes() {
  std::vector<PartSeconds> seconds = secondsOfParts(module, places, assumptions, wholeStates);
  auto nanoseconds = [](double time) { return std::llround(std::min(time * 1e9, mostNanoseconds / 2)); };
  for (auto [part, time] : llvm::zip_equal(problem.parts, seconds)) {
    double forward = time.exposedForward(assumptions.overlaps), backward = time.exposedBackward(assumptions.overlaps);
    part.forwardNanoseconds = nanoseconds(time.forward + forward);
    part.backwardNanoseconds = nanoseconds(time.backward + backward);
    part.collectiveNanoseconds = nanoseconds(forward + backward);
  }
}

LogicalResult LayerCosts::checkSize() {
  double bytes = double(problem.messageBytes);
  for (const PartCost &part : problem.parts)
    bytes += double(part.state.parameters) + double(part.state.gradients) + double(part.state.optimizer) +
             double(part.activationBytes) + double(part.waitingBytes) + double(part.scratchBytes) +
             std::abs(double(part.backwardBytes)) + double(part.updateBytes);
  if (bytes <= mostBytes)
    return success();
  return module.emitError() << "parameters, states and activations of a micro-batch take more than 2^58 bytes, for "
                               "which no cut can be chosen";
}

FailureOr<StageProblem> tgpt::costsOfLayers(ModuleOp module, func::FuncOp microBatch, int64_t layerCount,
                                            const CostAssumptions &assumptions) {
  if (failed(checkStraightLine(microBatch)))
    return failure();
  for (auto bucket : module.getOps<BucketOp>())
    return bucket.emitError("a cut is chosen before parameters are put into buckets");
  if (layerCount > mostLayersToCut)
    return module.emitError() << "the model has " << layerCount << " layers; a cut is chosen for at most "
                              << mostLayersToCut;
  return LayerCosts(module, microBatch, layerCount, assumptions).run();
}
