//===- LayerCosts.cpp - what the layers of a micro-batch cost ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes are those that the plan will hold, as far as they can be told before buffers are
// placed: what is live at once (PartPeaks.h), in the order in which a stage runs its ops.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/LayerCosts.h"
#include "cost/CollectiveTime.h"
#include "cost/KernelTime.h"
#include "dialects/dist/CollectiveSeconds.h"
#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "passes/pipeline/PartPeaks.h"
#include "passes/pipeline/PartSeconds.h"
#include "passes/pipeline/StageCut.h"
#include "passes/pipeline/StageHomes.h"
#include "passes/pipeline/StageLayers.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <map>
#include <set>
#include <tuple>

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
    gatheredAhead.resize(layerCount + 2);
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
    addPeaks();
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
  PartPeaks orderSteps();
  Parts partsThatKeep(OpResult value) const;
  void addKept(OpResult value, PartPeaks &peaks) const;
  void addUnkept(OpResult value, PartPeaks &peaks) const;
  ParameterOp bucketedParameter(OpResult result);
  void addUnreduced(PartPeaks &peaks);
  void addGathered(PartPeaks &peaks);
  void addPeaks();
  void addMessages();
  LogicalResult checkSize();
  /// The accumulate that takes a result and needs no kernel of its own, or null.
  AccumulateOp fusedAccumulate(OpResult result) const;
  Place placeOf(Operation *op) const { return places.lookup(op); }
  /// Whether a value waits for this user in the activation slot; whether it does for any.
  bool isKeptFor(Value value, Operation *user) const;
  bool isKept(Value value) const;
  int64_t lastStep(Value value) const;
  int64_t beginOf(OpResult value) const;
  /// The operand whose bytes a result takes over, or null.
  Value replacedBy(OpResult result) const;
  int64_t sizeOfDp() {
    auto meshes = module.getOps<dist::MeshOp>();
    return meshes.empty() ? 1 : (*meshes.begin()).sizeOf("dp");
  }
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
  llvm::DenseMap<Operation *, int64_t> stepOf;
  std::vector<int64_t> gatheredAhead; ///< bytes while a part runs, of parameters of those that run next
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
  int64_t dp = sizeOfDp(), zero = dp > 1 ? assumptions.zero : 0;
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
    if (zero >= 3)
      gatheredAhead[user] += whole.parameters * std::min(assumptions.zeroPrefetch, layerCount);
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

/// A value that the backward uses is kept where it is used; one that an earlier stage's backward uses comes back by way
/// of its own stage.
LayerCosts::Parts LayerCosts::partsThatKeep(OpResult value) const {
  Parts parts;
  for (Operation *user : value.getUsers())
    if (isKeptFor(value, user))
      parts.insert(placeOf(user).part);
  Place made = placeOf(value.getOwner());
  if (!parts.empty() && !made.isBackward && *parts.begin() < made.part)
    parts.insert(made.part);
  return parts;
}

// What several parts keep is counted once where they are on one stage, so all of them must count it all the time.
void LayerCosts::addActivations() {
  for (Operation &op : ops())
    for (OpResult result : op.getResults()) {
      if (!isKept(result))
        continue;
      Parts parts = partsThatKeep(result), waiting;
      int64_t bytes = bytesOf(result.getType());
      if (parts.size() > 1) {
        shared[{parts.begin(), parts.end()}].activationBytes += bytes;
        waiting = parts;
      }
      for (Operation *user : result.getUsers())
        if (isKeptFor(result, user) && ofWeights.contains(user))
          waiting.insert(placeOf(user).part);
      if (!placeOf(&op).isBackward || parts.size() > 1)
        for (int64_t part : parts)
          problem.parts[part].activationBytes += bytes;
      for (int64_t part : waiting)
        problem.parts[part].waitingBytes += bytes;
    }
}

/// `PartPeaks::never` for what the function returns.
int64_t LayerCosts::lastStep(Value value) const {
  int64_t last = stepOf.at(value.getDefiningOp());
  for (Operation *user : value.getUsers()) {
    auto step = stepOf.find(user);
    last = std::max(last, step == stepOf.end() ? PartPeaks::never : step->second);
  }
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
                       lastStep(operand) == stepOf.at(op) && bytesOf(operand.getType()) == bytesOf(result.getType());
  return isOverwritten ? operand : Value();
}

/// The order in which a stage runs its ops.
PartPeaks LayerCosts::orderSteps() {
  std::vector<PartStep> steps;
  for (PartPhase phase : {PartPhase::Forward, PartPhase::Backward, PartPhase::WeightGradient})
    for (Operation &op : ops()) {
      Place place = placeOf(&op);
      PartPhase ofOp = ofWeights.contains(&op) ? PartPhase::WeightGradient
                       : place.isBackward      ? PartPhase::Backward
                                               : PartPhase::Forward;
      if (place.part < 0 || ofOp != phase)
        continue;
      stepOf[&op] = static_cast<int64_t>(steps.size());
      steps.push_back({place.part, phase});
    }
  return PartPeaks(std::move(steps), static_cast<int64_t>(problem.parts.size()));
}

/// When a result has bytes of its own: one that takes over those of an operand when its op is done.
int64_t LayerCosts::beginOf(OpResult value) const {
  int64_t step = stepOf.at(value.getOwner());
  return replacedBy(value) ? endOf(step) : startOf(step);
}

/// A value that is kept is in the slots of the parts that use it, until the last of them has; where no slot of its own
/// part has it, it waits there for the next one.
void LayerCosts::addKept(OpResult value, PartPeaks &peaks) const {
  int64_t bytes = bytesOf(value.getType()), made = beginOf(value), handedOver = PartPeaks::never;
  Parts parts = partsThatKeep(value);
  Place place = placeOf(value.getOwner());
  for (int64_t part : parts) {
    int64_t until = made;
    for (Operation *user : value.getUsers())
      if (isKeptFor(value, user) && placeOf(user).part == part)
        until = std::max(until, endOf(stepOf.at(user)));
    peaks.addKept(part, made, parts.size() > 1 ? PartPeaks::never : until, bytes);
    handedOver =
        std::min(handedOver, peaks.startOfPart(part, place.isBackward ? PartPhase::Backward : PartPhase::Forward));
  }
  if (!parts.count(place.part) && handedOver != PartPeaks::never)
    peaks.addScratch(made, handedOver, bytes);
}

/// Any other value is live from its op to its last use.
void LayerCosts::addUnkept(OpResult value, PartPeaks &peaks) const {
  int64_t last = lastStep(value);
  peaks.addScratch(beginOf(value), last == PartPeaks::never ? last : endOf(last), bytesOf(value.getType()));
}

/// The parameter to whose gradient alone a result is added, where ZeRO 2 and 3 make it in a bucket; or null.
ParameterOp LayerCosts::bucketedParameter(OpResult result) {
  if (assumptions.zero < 2 || sizeOfDp() == 1 || !result.hasOneUse())
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
void LayerCosts::addUnreduced(PartPeaks &peaks) {
  struct Bucket {
    int64_t first = PartPeaks::never, last = 0, bytes = 0;
  };
  std::map<std::pair<int64_t, bool>, Bucket> buckets;
  for (Operation &op : ops())
    for (OpResult result : op.getResults())
      if (ParameterOp parameter = bucketedParameter(result)) {
        int64_t added = stepOf.at(*result.user_begin());
        Bucket &bucket = buckets[{placeOf(*result.user_begin()).part, parameter.getNoDecay()}];
        bucket.first = std::min(bucket.first, stepOf.at(&op));
        bucket.last = std::max(bucket.last, added);
        bucket.bytes += bytesOf(result.getType());
      }
  for (const auto &[key, bucket] : buckets) {
    peaks.addScratch(startOf(bucket.first), endOf(bucket.last), bucket.bytes);
    peaks.addScratch(startOf(bucket.last), endOf(bucket.last), divideUp(bucket.bytes, sizeOfDp()));
  }
}

// Under ZeRO 3 the parameters of a bucket are whole from the first use of one of them in a phase to the last.
void LayerCosts::addGathered(PartPeaks &peaks) {
  struct Bucket {
    int64_t first = PartPeaks::never, last = 0, bytes = 0;
    llvm::SmallDenseSet<StringAttr> parameters;
  };
  std::map<std::tuple<int64_t, bool, bool>, Bucket> buckets; // part, in the backward, without decay
  for (auto read : microBatch.getOps<ReadOp>())
    for (Operation *user : read->getUsers()) {
      auto step = stepOf.find(user);
      auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(read, read.getSymbolAttr());
      if (!parameter || step == stepOf.end())
        continue;
      Bucket &bucket = buckets[{placeOf(user).part, placeOf(user).isBackward, parameter.getNoDecay()}];
      bucket.first = std::min(bucket.first, step->second);
      bucket.last = std::max(bucket.last, step->second);
      if (bucket.parameters.insert(parameter.getSymNameAttr()).second)
        bucket.bytes += bytesOf(parameter.getType());
    }
  for (const auto &[key, bucket] : buckets)
    peaks.addScratch(startOf(bucket.first), endOf(bucket.last), bucket.bytes);
}

void LayerCosts::addPeaks() {
  PartPeaks peaks = orderSteps();
  for (Operation &op : ops())
    for (OpResult result : op.getResults()) {
      if (placeOf(&op).part < 0 || fusedAccumulate(result) || bucketedParameter(result))
        continue;
      if (isKept(result))
        addKept(result, peaks);
      else
        addUnkept(result, peaks);
    }
  if (sizeOfDp() > 1 && assumptions.zero >= 2)
    addUnreduced(peaks);
  if (sizeOfDp() > 1 && assumptions.zero >= 3)
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
