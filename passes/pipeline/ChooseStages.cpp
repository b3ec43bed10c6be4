//===- ChooseStages.cpp - decide which layers a pipeline stage has ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where is the model cut? Writes the answer on the module, as even as it can be:
//
//   module {...}   ->   module attributes {dist.stages = array<i64: 3, 4, 3>} {...}
//
// Layers that are left over go one each to the inner stages, first to last, then
// to the first stage; never to the last, which already has the head and the loss.
//
// Relies on: a mesh, and tgpt.layer on the ops of the micro-batch. A decision that
// is already there is checked and kept. Leaves true: the attribute names a legal cut.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "dialects/tgpt/Tgpt.h"
#include "passes/pipeline/Passes.h"
#include "passes/pipeline/StageLayers.h"

namespace tgpt {
#define GEN_PASS_DEF_CHOOSESTAGES
#include "passes/pipeline/Passes.h.inc"
} // namespace tgpt

using namespace mlir;
using namespace tgpt;

/// As even a cut as there is, into `stageCount` virtual stages. Needs stageCount >= 1.
static SmallVector<int64_t> cutEvenly(int64_t stageCount, int64_t layerCount) {
  SmallVector<int64_t> stages(stageCount, layerCount / stageCount);
  int64_t left = layerCount % stageCount;
  for (int64_t stage = 1; stage < stageCount - 1 && left > 0; ++stage, --left)
    ++stages[stage];
  stages.front() += left;
  return stages;
}

namespace {
struct ChooseStages : tgpt::impl::ChooseStagesBase<ChooseStages> {
  using ChooseStagesBase::ChooseStagesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp microBatch = findPhase(module, "micro_batch");
    if (!microBatch) {
      module.emitError("module has no function with tgpt.phase \"micro_batch\"");
      return signalPassFailure();
    }
    FailureOr<int64_t> stageCount = countStages(module);
    if (failed(stageCount))
      return signalPassFailure();
    if (chunks < 1 || *stageCount > mostVirtualStages || chunks > mostVirtualStages / *stageCount) {
      module.emitError() << "mesh axis 'pp' is " << *stageCount << " with " << chunks.getValue()
                         << " chunks a stage; legal are 1 chunk or more, and at most " << mostVirtualStages
                         << " virtual stages";
      return signalPassFailure();
    }
    int64_t layerCount = countLayers(microBatch);
    if (stages.empty() && module->hasAttr(stagesAttributeName)) {
      ++decisionsKept;
      FailureOr<StageLayers> kept = readStages(module, *stageCount, layerCount);
      if (failed(kept) || failed(checkChunks(kept->layersOf, *stageCount)))
        signalPassFailure();
      return;
    }
    if (failed(write(module, *stageCount, layerCount)))
      signalPassFailure();
  }

private:
  /// A cut that is given fits the number of chunks where that is given too.
  LogicalResult checkChunks(ArrayRef<int64_t> cut, int64_t stageCount) {
    int64_t given = cut.size();
    if (chunks == 1 || given == stageCount * chunks)
      return success();
    return getOperation().emitError() << "layers are given for " << given << " virtual stages but " << chunks.getValue()
                                      << " chunks of " << stageCount << " stages are " << stageCount * chunks;
  }

  LogicalResult write(ModuleOp module, int64_t stageCount, int64_t layerCount) {
    auto emitError = [&] { return module.emitError(); };
    SmallVector<int64_t> chosen(stages.begin(), stages.end());
    if (chosen.empty())
      chosen = cutEvenly(stageCount * chunks, layerCount);
    if (failed(checkStages(chosen, stageCount, layerCount, emitError)) || failed(checkChunks(chosen, stageCount)))
      return failure();
    module->setAttr(stagesAttributeName, DenseI64ArrayAttr::get(&getContext(), chosen));
    ++decisionsMade;
    return success();
  }
};
} // namespace
