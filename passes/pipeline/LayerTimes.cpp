//===- LayerTimes.cpp - how long the parts of a micro-batch take ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An accumulate that a kernel takes in costs a read; what runs wherever it is used costs nothing;
// ops that share out one sum cost what their calls in the plan do.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/LayerTimes.h"
#include "cost/CollectiveTime.h"
#include "cost/KernelTime.h"
#include "dialects/dist/CollectiveSeconds.h"
#include "dialects/dist/Dist.h"
#include "dialects/tgpt/SumCalls.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tgpt;

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

class LayerTimes {
public:
  LayerTimes(ModuleOp module, const LayerPlaces &places, const CostAssumptions &assumptions, size_t parts)
      : module(module), places(places), assumptions(assumptions), seconds(parts) {}

  std::vector<PartSeconds> run(ArrayRef<StateBytes> wholeStates) {
    addKernels();
    addCollectives();
    for (auto [part, whole] : llvm::zip_equal(seconds, wholeStates))
      addShards(part, whole);
    return std::move(seconds);
  }

private:
  void addKernels();
  void addCollectives();
  void addShards(PartSeconds &part, const StateBytes &whole);

  ModuleOp module;
  const LayerPlaces &places;
  const CostAssumptions &assumptions;
  std::vector<PartSeconds> seconds;
};

} // namespace

void LayerTimes::addKernels() {
  auto meshes = module.getOps<dist::MeshOp>();
  dist::MeshOp mesh = meshes.empty() ? dist::MeshOp() : *meshes.begin();
  llvm::DenseSet<Operation *> fused;
  for (Operation &op : places.ops())
    for (OpResult result : op.getResults())
      if (AccumulateOp accumulate = fusedAccumulate(result))
        fused.insert(accumulate);
  for (Operation &op : places.ops()) {
    auto cost = dyn_cast<CostOpInterface>(op);
    LayerPlaces::Place place = places.of(&op);
    bool isKernel = isa<KernelOpInterface>(op) || (isa<AccumulateOp>(op) && !fused.contains(&op));
    if (!cost || place.part < 0 || !isKernel || op.hasTrait<dist::Communicates>())
      continue;
    int64_t calls = callsInsteadOfOne(&op, mesh);
    cost::KernelFacts facts = {double(cost.getFlops() / calls), double(cost.getBytesRead() / calls),
                               double(cost.getBytesWritten()), dtypeOf(&op), cost.getKernelKind()};
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

void LayerTimes::addCollectives() {
  if (!assumptions.links)
    return;
  for (Operation &op : places.ops())
    if (LayerPlaces::Place place = places.of(&op); place.part >= 0 && op.hasTrait<dist::Communicates>()) {
      PartSeconds &part = seconds[place.part];
      (place.isBackward ? part.backwardCollectives : part.forwardCollectives) +=
          dist::collectiveSeconds(&op, *assumptions.links);
    }
}

// Under ZeRO 2 and 3 every micro-batch sums its gradients over dp to where their pieces are; under 3 parameters are
// gathered for its forward and again for its backward.
void LayerTimes::addShards(PartSeconds &part, const StateBytes &whole) {
  auto meshes = module.getOps<dist::MeshOp>();
  if (!assumptions.links || meshes.empty() || assumptions.zero < 2)
    return;
  cost::Group group = dist::groupOver(*meshes.begin(), {"dp"});
  part.scatter += cost::reduceScatterSeconds(*assumptions.links, group, double(whole.gradients));
  if (assumptions.zero >= 3)
    part.gather += cost::allGatherSeconds(*assumptions.links, group, double(whole.parameters));
}

std::vector<PartSeconds> tgpt::secondsOfParts(ModuleOp module, const LayerPlaces &places,
                                              const CostAssumptions &assumptions, ArrayRef<StateBytes> wholeStates) {
  return LayerTimes(module, places, assumptions, wholeStates.size()).run(wholeStates);
}
