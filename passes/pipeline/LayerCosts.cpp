//===- LayerCosts.cpp - what the layers of a micro-batch cost ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes are those that the plan will hold, as far as they can be told before buffers are
// placed; scratch is what is live at once.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/LayerCosts.h"
#include "cost/CollectiveTime.h"
#include "cost/KernelTime.h"
#include "dialects/dist/CollectiveSeconds.h"
#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "passes/pipeline/PartSeconds.h"
#include "passes/pipeline/StageCut.h"
#include "passes/pipeline/StageHomes.h"
#include "passes/pipeline/StageLayers.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <map>
#include <set>

using namespace mlir;
using namespace tgpt;

/// With so many nanoseconds a part (19 hours) sums stay below 2^60.
static constexpr double mostNanoseconds = double(int64_t(1) << 46);
/// Bytes of all parts together: far from overflow when slots multiply them.
static constexpr double mostBytes = double(int64_t(1) << 58);

static int64_t divideUp(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

static cost::Dtype dtypeOf(Operation *op) {
  auto dtype = [](Type type) -> std::optional<cost::Dtype> {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !isa<FloatType>(tensor.getElementType()))
      return std::nullopt;
    Type element = tensor.getElementType();
    return element.isF64()    ? cost::Dtype::F64
           : element.isBF16() ? cost::Dtype::BF16
           : element.isF16()  ? cost::Dtype::F16
                              : cost::Dtype::F32;
  };
  for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (std::optional<cost::Dtype> found = dtype(type))
        return *found;
  return cost::Dtype::F32;
}

namespace {

class LayerCosts {
public:
  LayerCosts(ModuleOp module, func::FuncOp microBatch, int64_t layerCount, const CostAssumptions &assumptions)
      : module(module), microBatch(microBatch), layerCount(layerCount), assumptions(assumptions) {
    problem.parts.resize(layerCount + 2);
    seconds.resize(layerCount + 2);
    wholeStates.resize(layerCount + 2);
  }

  FailureOr<StageProblem> run() {
    if (failed(place()))
      return failure();
    if (assumptions.splitsWeightGradients)
      findWeightGradients();
    addKernels();
    addCollectives();
    addStates();
    addTimes();
    addActivations();
    addScratch();
    addMessages();
    for (auto &[parts, bytes] : shared)
      problem.shared.push_back({parts, bytes.state, bytes.activationBytes});
    if (failed(checkSize()))
      return failure();
    return std::move(problem);
  }

private:
  /// Where an op runs; `part` is -1 for what runs wherever it is used (reads, fills).
  struct Place {
    int64_t part = -1;
    bool isBackward = false;
  };
  using Parts = std::set<int64_t>;

  LogicalResult place();
  int64_t partByOperands(Operation *op, bool isBackward) const;
  void findWeightGradients();
  bool onlyServesWeights(Operation *op) const;
  void addKernels();
  void addCollectives();
  void addShards(PartSeconds &part, const StateBytes &whole);
  void addTimes();
  void addStates();
  void addState(const Parts &users, const StateBytes &bytes);
  void addActivations();
  void addScratch();
  void addMessages();
  LogicalResult checkSize();
  /// The accumulate that takes a result and needs no kernel of its own, or null.
  AccumulateOp fusedAccumulate(OpResult result) const;
  Place placeOf(Operation *op) const { return places.lookup(op); }
  /// Whether a value waits for this user in the activation slot; whether it does for any.
  bool isKeptFor(Value value, Operation *user) const;
  bool isKept(Value value) const;
  /// The operand whose bytes a result takes over, or null.
  Value replacedBy(OpResult result) const;
  auto ops() { return microBatch.getBody().front().without_terminator(); }

  ModuleOp module;
  func::FuncOp microBatch;
  int64_t layerCount;
  const CostAssumptions &assumptions;
  StageProblem problem;
  llvm::DenseMap<Operation *, Place> places;
  llvm::DenseSet<Operation *> ofWeights; ///< what will run apart from the backward
  std::vector<PartSeconds> seconds;      ///< of each part
  std::vector<StateBytes> wholeStates;   ///< of each part, as if nothing was shared out
  std::map<std::vector<int64_t>, SharedBytes> shared;
};

} // namespace

//===----------------------------------------------------------------------===//
// Placing
//===----------------------------------------------------------------------===//

LogicalResult LayerCosts::place() {
  bool isBackward = false;
  for (Operation &op : ops()) {
    if (isa<BeginBackwardOp>(op)) {
      isBackward = true;
      continue;
    }
    Place place{-1, isBackward};
    bool startsFromNothing = isa<ReadOp>(op) || (op.getNumOperands() == 0 && isMemoryEffectFree(&op));
    if (auto layer = op.getAttrOfType<IntegerAttr>(layerAttributeName); layer && !startsFromNothing) {
      if (layer.getInt() < -1 || layer.getInt() > layerCount)
        return op.emitError() << "'" << layerAttributeName << "' is " << layer.getInt() << "; legal is -1 to "
                              << layerCount;
      place.part = layer.getInt() + 1;
    } else if (!startsFromNothing) {
      place.part = partByOperands(&op, isBackward);
    }
    places[&op] = place;
  }
  return success();
}

int64_t LayerCosts::partByOperands(Operation *op, bool isBackward) const {
  int64_t part = -1;
  for (Value operand : op->getOperands())
    if (int64_t other = operand.getDefiningOp() ? placeOf(operand.getDefiningOp()).part : -1; other >= 0)
      part = part < 0 ? other : isBackward ? std::min(part, other) : std::max(part, other);
  return part;
}

// As dist-split-weight-gradients will: ops that say so, what follows from them, and the collectives and recomputed ops
// that alone serve them without more to keep.
void LayerCosts::findWeightGradients() {
  for (Operation &op : ops()) {
    auto isOfWeights = [&](Value operand) { return ofWeights.contains(operand.getDefiningOp()); };
    if (placeOf(&op).isBackward && placeOf(&op).part >= 0 &&
        (op.hasTrait<ParameterGradient>() || llvm::any_of(op.getOperands(), isOfWeights)))
      ofWeights.insert(&op);
  }
  for (Operation &op : llvm::reverse(ops()))
    if (onlyServesWeights(&op))
      ofWeights.insert(&op);
}

bool LayerCosts::onlyServesWeights(Operation *op) const {
  bool isMovable = op->hasTrait<dist::Communicates>() || op->hasAttr(recomputedAttributeName);
  auto isOfWeights = [&](Operation *user) { return ofWeights.contains(user); };
  if (!isMovable || !placeOf(op).isBackward || placeOf(op).part < 0 || op->use_empty() ||
      !llvm::all_of(op->getUsers(), isOfWeights))
    return false;
  int64_t bytesToKeep = 0;
  for (Value operand : llvm::SmallDenseSet<Value>(op->operand_begin(), op->operand_end()))
    if (operand.getDefiningOp() && placeOf(operand.getDefiningOp()).isBackward &&
        placeOf(operand.getDefiningOp()).part >= 0 && llvm::none_of(operand.getUsers(), isOfWeights))
      bytesToKeep += bytesOf(operand.getType());
  return bytesToKeep <= sumBytes(op->getResultTypes());
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

AccumulateOp LayerCosts::fusedAccumulate(OpResult result) const {
  auto kernel = dyn_cast<KernelOpInterface>(result.getOwner());
  if (!kernel || !kernel.canAccumulate(result.getResultNumber()) || !result.hasOneUse())
    return {};
  auto accumulate = dyn_cast<AccumulateOp>(*result.user_begin());
  return accumulate && !accumulate.getCarries() ? accumulate : AccumulateOp();
}

void LayerCosts::addKernels() {
  llvm::DenseSet<Operation *> fused;
  for (auto [op, place] : places)
    for (OpResult result : op->getResults())
      if (AccumulateOp accumulate = fusedAccumulate(result))
        fused.insert(accumulate);
  for (Operation &op : ops()) {
    auto cost = dyn_cast<CostOpInterface>(op);
    Place place = placeOf(&op);
    bool isKernel = isa<KernelOpInterface>(op) || (isa<AccumulateOp>(op) && !fused.contains(&op));
    if (!cost || place.part < 0 || !isKernel || op.hasTrait<dist::Communicates>())
      continue;
    cost::KernelFacts facts = {double(cost.getFlops()), double(cost.getBytesRead()), double(cost.getBytesWritten()),
                               dtypeOf(&op), cost.getKernelKind()};
    for (OpResult result : op.getResults())
      if (fusedAccumulate(result)) // the sum so far is read too
        facts.bytesRead += double(bytesOf(result.getType()));
    double time = cost::kernelSeconds(assumptions.device, facts);
    PartSeconds &part = seconds[place.part];
    (place.isBackward ? part.backward : part.forward) += time;
    if (op.hasTrait<ParameterGradient>())
      part.weightGradients += time;
  }
}

void LayerCosts::addCollectives() {
  if (!assumptions.links)
    return;
  for (Operation &op : ops())
    if (Place place = placeOf(&op); place.part >= 0 && op.hasTrait<dist::Communicates>()) {
      PartSeconds &part = seconds[place.part];
      (place.isBackward ? part.backwardCollectives : part.forwardCollectives) +=
          dist::collectiveSeconds(&op, *assumptions.links);
    }
}

// Under ZeRO 2 and 3 every micro-batch sums its gradients over dp to where their pieces are; under 3 parameters are
// gathered for its forward and again for its backward.
void LayerCosts::addShards(PartSeconds &part, const StateBytes &whole) {
  auto meshes = module.getOps<dist::MeshOp>();
  if (!assumptions.links || meshes.empty() || assumptions.zero < 2)
    return;
  cost::Group group = dist::groupOver(*meshes.begin(), {"dp"});
  part.scatter += cost::reduceScatterSeconds(*assumptions.links, group, double(whole.gradients));
  if (assumptions.zero >= 3)
    part.gather += cost::allGatherSeconds(*assumptions.links, group, double(whole.parameters));
}

void LayerCosts::addTimes() {
  auto nanoseconds = [](double time) { return std::llround(std::min(time * 1e9, mostNanoseconds / 2)); };
  for (auto [part, time] : llvm::zip_equal(problem.parts, seconds)) {
    double forward = time.exposedForward(assumptions.overlaps), backward = time.exposedBackward(assumptions.overlaps);
    part.forwardNanoseconds = nanoseconds(time.forward + forward);
    part.backwardNanoseconds = nanoseconds(time.backward + backward);
    part.collectiveNanoseconds = nanoseconds(forward + backward);
  }
}

//===----------------------------------------------------------------------===//
// What a rank holds for good
//===----------------------------------------------------------------------===//

void LayerCosts::addStates() {
  llvm::DenseMap<StringAttr, StringAttr> parameterOf;
  llvm::DenseMap<StringAttr, Parts> users;
  for (auto state : module.getOps<StateOp>())
    if (FlatSymbolRefAttr parameter = state.getParameterAttr())
      parameterOf[state.getSymNameAttr()] = parameter.getAttr();
  for (Operation &op : ops()) {
    StringAttr symbol = usedSymbol(&op);
    if (!symbol)
      continue;
    Parts &parts = users[parameterOf.lookup_or(symbol, symbol)];
    if (int64_t part = placeOf(&op).part; part >= 0)
      parts.insert(part);
    for (Operation *user : op.getUsers())
      if (int64_t part = placeOf(user).part; part >= 0)
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
    Parts parts = users.lookup(parameter.getSymNameAttr());
    addState(parts.empty() ? Parts{0} : parts, all); // what is not used lives on the first stage
  }
  for (auto [part, whole] : llvm::zip_equal(seconds, wholeStates))
    addShards(part, whole);
}

// ZeRO cuts what a rank holds, and needs the whole of it, or the reduced piece, for a while.
void LayerCosts::addState(const Parts &users, const StateBytes &whole) {
  auto meshes = module.getOps<dist::MeshOp>();
  int64_t dp = meshes.empty() ? 1 : (*meshes.begin()).sizeOf("dp"), zero = dp > 1 ? assumptions.zero : 0;
  StateBytes held = whole;
  if (zero >= 1)
    held.optimizer = divideUp(whole.optimizer, dp);
  if (zero >= 2)
    held.gradients = divideUp(whole.gradients, dp);
  if (zero >= 3)
    held.parameters = divideUp(whole.parameters, dp);
  for (int64_t user : users) {
    PartCost &part = problem.parts[user];
    part.state += held;
    wholeStates[user] += whole;
    if (zero == 1)
      part.updateBytes += divideUp(whole.gradients, dp);
    if (zero >= 2)
      part.scratchBytes += whole.gradients;
    if (zero >= 3)
      part.scratchBytes += whole.parameters * (1 + std::min(assumptions.zeroPrefetch, layerCount));
  }
  if (users.size() > 1)
    shared[{users.begin(), users.end()}].state += held;
}

//===----------------------------------------------------------------------===//
// What a micro-batch holds
//===----------------------------------------------------------------------===//

bool LayerCosts::isKeptFor(Value value, Operation *user) const {
  Operation *maker = value.getDefiningOp();
  if (!placeOf(user).isBackward || placeOf(user).part < 0)
    return false;
  return placeOf(maker).isBackward ? ofWeights.contains(user) && !ofWeights.contains(maker) : true;
}

bool LayerCosts::isKept(Value value) const {
  Operation *maker = value.getDefiningOp();
  if (!maker || placeOf(maker).part < 0)
    return false;
  return llvm::any_of(value.getUsers(), [&](Operation *user) { return isKeptFor(value, user); });
}

// A value that the backward uses is kept where it is used; one that an earlier stage's
// backward uses comes back by way of its own stage. Where gradients of weights run apart, a
// part holds what they use once its backward is done, and before that what the backward
// uses: it needs room for the larger.
void LayerCosts::addActivations() {
  std::vector<int64_t> forWeights(problem.parts.size());
  for (Operation &op : ops())
    for (OpResult result : op.getResults()) {
      if (!isKept(result))
        continue;
      bool isForward = !placeOf(&op).isBackward;
      Parts parts, partsOfWeights;
      for (Operation *user : result.getUsers())
        if (isKeptFor(result, user)) {
          parts.insert(placeOf(user).part);
          if (ofWeights.contains(user))
            partsOfWeights.insert(placeOf(user).part);
        }
      if (!parts.empty() && isForward && *parts.begin() < placeOf(&op).part)
        parts.insert(placeOf(&op).part);
      int64_t bytes = bytesOf(result.getType());
      if (parts.size() > 1) { // what is counted once must be in either
        shared[{parts.begin(), parts.end()}].activationBytes += bytes;
        partsOfWeights = parts;
      }
      if (isForward || parts.size() > 1)
        for (int64_t part : parts)
          problem.parts[part].activationBytes += bytes;
      for (int64_t part : partsOfWeights)
        forWeights[part] += bytes;
    }
  for (auto [part, bytes] : llvm::zip_equal(problem.parts, forWeights))
    part.activationBytes = std::max(part.activationBytes, bytes);
}

static Operation *lastUse(Value value) {
  Operation *last = value.getDefiningOp();
  for (Operation *user : value.getUsers())
    if (!last || last->isBeforeInBlock(user))
      last = user;
  return last;
}

// Only what an op computed can be overwritten: not what was read or came from outside.
Value LayerCosts::replacedBy(OpResult result) const {
  Operation *op = result.getOwner();
  Value operand;
  if (isa<dist::AllReduceOp>(op))
    operand = op->getOperand(0);
  else if (auto kernel = dyn_cast<KernelOpInterface>(op))
    if (std::optional<unsigned> index = kernel.getInPlaceOperand(result.getResultNumber()))
      operand = op->getOperand(*index);
  bool isOverwritten = operand && operand.getDefiningOp() && placeOf(operand.getDefiningOp()).part >= 0 &&
                       lastUse(operand) == op && bytesOf(operand.getType()) == bytesOf(result.getType());
  return isOverwritten ? operand : Value();
}

// Values that are neither kept nor added where they are made, from their op to their last
// use in the same direction.
void LayerCosts::addScratch() {
  llvm::DenseMap<Operation *, int64_t> bytesFreedAfter;
  std::vector<int64_t> most(problem.parts.size());
  int64_t live = 0;
  for (Operation &op : ops()) {
    Place place = placeOf(&op);
    if (place.part < 0)
      continue;
    for (OpResult result : op.getResults()) {
      if (isKept(result) || fusedAccumulate(result))
        continue;
      int64_t bytes = bytesOf(result.getType());
      Value replaced = replacedBy(result);
      if (!replaced)
        live += bytes;
      else if (isKept(replaced))
        continue; // in the activations' own bytes
      else
        bytesFreedAfter[&op] -= bytes;
      bytesFreedAfter[lastUse(result)] += bytes;
    }
    most[place.part] = std::max(most[place.part], live);
    live -= bytesFreedAfter.lookup(&op);
  }
  for (auto [part, bytes] : llvm::zip_equal(problem.parts, most))
    part.scratchBytes += bytes;
}

// Each side of a boundary has room for a message of the forward and one of the backward.
void LayerCosts::addMessages() {
  std::vector<int64_t> crossing(problem.parts.size() + 1); // differences; [i]: between parts i and i + 1
  for (Operation &op : ops()) {
    Place made = placeOf(&op);
    if (made.part < 0)
      continue;
    for (OpResult result : op.getResults()) {
      int64_t low = made.part, high = made.part;
      for (Operation *user : result.getUsers())
        if (Place used = placeOf(user); used.part >= 0 && used.isBackward == made.isBackward) {
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

LogicalResult LayerCosts::checkSize() {
  double bytes = double(problem.messageBytes);
  for (const PartCost &part : problem.parts)
    bytes += double(part.state.parameters) + double(part.state.gradients) + double(part.state.optimizer) +
             double(part.activationBytes) + double(part.scratchBytes) + double(part.updateBytes);
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
