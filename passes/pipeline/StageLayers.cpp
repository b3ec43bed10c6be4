//===- StageLayers.cpp - which layers a pipeline stage has ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageLayers.h"
#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace tgpt;

int64_t StageLayers::layerCount() const {
  return std::accumulate(layersOfStage.begin(), layersOfStage.end(), int64_t(0));
}

int64_t StageLayers::stageOf(int64_t layer) const {
  int64_t firstOfNext = 0;
  for (int64_t stage = 0; stage < stageCount(); ++stage) {
    firstOfNext += layersOfStage[stage];
    if (layer < firstOfNext)
      return stage;
  }
  return stageCount() - 1;
}

FailureOr<int64_t> tgpt::countStages(ModuleOp module) {
  auto meshes = module.getOps<dist::MeshOp>();
  if (meshes.begin() == meshes.end()) {
    module.emitError("module has no dist.mesh, so the number of stages is not known");
    return failure();
  }
  return (*meshes.begin()).sizeOf("pp");
}

func::FuncOp tgpt::findPhase(ModuleOp module, StringRef phase) {
  for (auto function : module.getOps<func::FuncOp>())
    if (auto attribute = function->getAttrOfType<StringAttr>(phaseAttributeName); attribute && attribute == phase)
      return function;
  return {};
}

int64_t tgpt::countLayers(func::FuncOp microBatch) {
  int64_t highest = 0;
  microBatch.walk([&](Operation *op) {
    if (auto layer = op->getAttrOfType<IntegerAttr>(layerAttributeName))
      highest = std::max(highest, layer.getInt());
  });
  return highest;
}

LogicalResult tgpt::checkStraightLine(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("function has more than one block");
  for (Operation &op : function.getBody().front()) {
    if (isa<dist::SegmentOp>(op))
      return op.emitError("function is already split into stages");
    if (op.getNumRegions() > 0)
      return op.emitError("op has a region, which cannot be cut; tgpt-unroll-layers writes out repeats");
  }
  return success();
}

LogicalResult tgpt::checkStageCount(int64_t stageCount, int64_t layerCount,
                                    function_ref<InFlightDiagnostic()> emitError) {
  if (stageCount == 1 || stageCount <= layerCount)
    return success();
  return emitError() << "mesh axis 'pp' is " << stageCount << " but the model has " << layerCount
                     << " layers and each stage needs one; the largest legal 'pp' is "
                     << std::max<int64_t>(layerCount, 1);
}

LogicalResult tgpt::checkStages(ArrayRef<int64_t> stages, int64_t stageCount, int64_t layerCount,
                                function_ref<InFlightDiagnostic()> emitError) {
  if (static_cast<int64_t>(stages.size()) != stageCount)
    return emitError() << "layers are given for " << stages.size() << " stages but mesh axis 'pp' is " << stageCount;
  if (failed(checkStageCount(stageCount, layerCount, emitError)))
    return failure();
  int64_t least = stageCount == 1 ? 0 : 1;
  for (auto [stage, layers] : llvm::enumerate(stages))
    if (layers < least || layers > layerCount)
      return emitError() << "stage " << stage << " is given " << layers << " layers; legal is " << least << " to "
                         << layerCount;
  int64_t sum = std::accumulate(stages.begin(), stages.end(), int64_t(0));
  if (sum != layerCount)
    return emitError() << "stages are given " << sum << " layers but the model has " << layerCount;
  return success();
}

FailureOr<StageLayers> tgpt::readStages(ModuleOp module, int64_t stageCount, int64_t layerCount) {
  Attribute attribute = module->getAttr(stagesAttributeName);
  if (!attribute && stageCount == 1)
    return StageLayers{{layerCount}};
  auto stages = dyn_cast_or_null<DenseI64ArrayAttr>(attribute);
  if (!stages) {
    module.emitError() << "module has no '" << stagesAttributeName
                       << "' (array of i64: layers per stage) but mesh axis 'pp' is " << stageCount
                       << "; dist-choose-stages writes it";
    return failure();
  }
  auto emitError = [&] { return module.emitError() << "'" << stagesAttributeName << "': "; };
  if (failed(checkStages(stages.asArrayRef(), stageCount, layerCount, emitError)))
    return failure();
  return StageLayers{llvm::to_vector(stages.asArrayRef())};
}
