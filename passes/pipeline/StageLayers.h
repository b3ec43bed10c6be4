//===- StageLayers.h - which layers a pipeline stage has ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The decision where a model is cut, as an attribute of the module:
//
//   module attributes {dist.stages = array<i64: 2, 2>}
//
// Written by dist-choose-stages or by hand, carried out by dist-split-stages.
//
// With interleaving a stage has several chunks. Chunk c of stage s is virtual stage
// c * pp + s; the model's layers are cut into virtual stages in that order, and the
// attribute has a number for each: with pp = 2, [2, 1, 1, 2] gives stage 0 layers 0, 1
// and 3. A virtual stage may have no layers; the first still has what comes before
// them, the last what comes after.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_STAGELAYERS_H
#define TGPT_PASSES_PIPELINE_STAGELAYERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tgpt {

/// Layers per virtual stage, on the module.
inline constexpr llvm::StringLiteral stagesAttributeName = "dist.stages";

/// Most virtual stages: far more than there are layers, and each takes time to compile.
inline constexpr int64_t mostVirtualStages = 4096;

/// A checked cut of the model into virtual stages.
struct StageLayers {
  int64_t stageCount = 1;              ///< size of mesh axis "pp"
  llvm::SmallVector<int64_t> layersOf; ///< by virtual stage

  int64_t virtualCount() const { return layersOf.size(); }
  int64_t chunkCount() const { return virtualCount() / stageCount; }
  int64_t stageOf(int64_t virtualStage) const { return virtualStage % stageCount; }
  int64_t chunkOf(int64_t virtualStage) const { return virtualStage / stageCount; }
  int64_t layerCount() const;
  /// The virtual stage of layer `layer`; what comes before the first layer (-1) is on
  /// the first one, what comes after the last on the last.
  int64_t virtualStageOf(int64_t layer) const;
};

/// Size of mesh axis "pp"; failure, reported, without a mesh.
mlir::FailureOr<int64_t> countStages(mlir::ModuleOp module);
/// The function of a phase ("begin", "micro_batch", "update"), or null.
mlir::func::FuncOp findPhase(mlir::ModuleOp module, llvm::StringRef phase);
/// Number of layers: the highest tgpt.layer, which is that of the ops after the
/// last layer.
int64_t countLayers(mlir::func::FuncOp microBatch);

/// Checks that `function` is a list of simple ops: one block, no op with regions, no
/// segments yet; reports otherwise.
mlir::LogicalResult checkStraightLine(mlir::func::FuncOp function);

/// Checks that `stages` cuts `layerCount` layers into virtual stages, equally many chunks
/// for each of `stageCount` stages; reports through `emitError`.
mlir::LogicalResult checkStages(llvm::ArrayRef<int64_t> stages, int64_t stageCount, int64_t layerCount,
                                llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
/// The checked cut in the module's attribute; with one stage it may be absent.
mlir::FailureOr<StageLayers> readStages(mlir::ModuleOp module, int64_t stageCount, int64_t layerCount);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_STAGELAYERS_H
