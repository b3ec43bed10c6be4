//===- SplitMicroBatch.h - give each stage its forward and its backward ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of dist-split-stages that cuts the micro-batch. Ops are placed by their
// layer, then what crosses a boundary is found, then segments are built. Here a stage is
// a virtual one, a chunk of a pipeline stage:
//
//   MicroBatchSplit split(microBatch, layers);
//   if (failed(split.place()) || failed(split.route()))  // reported
//     return failure();
//   split.build();
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_SPLITMICROBATCH_H
#define TGPT_PASSES_PIPELINE_SPLITMICROBATCH_H

#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/IRMapping.h"
#include "passes/pipeline/StageHomes.h"
#include "passes/pipeline/StageLayers.h"

namespace tgpt {

class MicroBatchSplit {
public:
  MicroBatchSplit(mlir::func::FuncOp function, const StageLayers &layers)
      : function(function), layers(layers), virtualCount(layers.virtualCount()) {}

  /// Gives every op a stage and a direction, or lets it float.
  mlir::LogicalResult place();
  /// Finds what each segment holds, yields and sends.
  mlir::LogicalResult route();
  /// Replaces the body by segments, in which every op has its number in the source (SourceOps.h).
  void build();

  /// After `route`: notes the pipeline stages of every symbol that a segment uses.
  void addUses(StageHomes &homes) const;
  int64_t countSends() const;
  /// Copies of floating ops beyond the first: read or filled again, not saved.
  int64_t countRepeated() const { return repeatedOps; }
  int64_t countSaved() const { return savedValues; }
  /// Bytes that one micro-batch keeps on virtual stage `stage` from its forward to its backward.
  int64_t savedBytes(int64_t stage) const { return savedBytesOfStage[stage]; }

private:
  /// Where an op runs. A floating op (a read, a fill, and what follows from them
  /// alone) runs in every segment that uses it.
  struct Place {
    bool floating = false;
    bool backward = false;
    int64_t stage = 0;
  };
  /// Where a value goes after the segment that makes it.
  struct Travel {
    explicit Travel(int64_t virtualCount) : forward(virtualCount), backward(virtualCount), usedBackward(virtualCount) {}
    StageSet forward;      ///< stages that receive it in their forward
    StageSet backward;     ///< stages that receive it in their backward
    StageSet usedBackward; ///< stages whose backward uses a value of the forward
    bool leaves() const { return forward.any() || backward.any() || usedBackward.any(); }
  };
  /// What one (direction, stage) runs and hands on.
  struct Segment {
    std::vector<mlir::Operation *> ops;
    std::vector<mlir::Value> yields;
    std::vector<std::pair<int64_t, mlir::Value>> sends; ///< (to stage, value), sorted by stage
  };

  mlir::FailureOr<Place> placeOne(mlir::Operation *op, bool backward);
  mlir::FailureOr<Place> placeByLayer(mlir::Operation *op, int64_t layer, bool backward);
  mlir::FailureOr<Place> placeByOperands(mlir::Operation *op, bool backward);
  /// The place of the op that makes `value`; null for arguments and floating ops.
  const Place *placeOf(mlir::Value value) const;
  void splitSums();
  void splitSum(AccumulateOp accumulate);
  mlir::LogicalResult checkSymbols();
  StageSet segmentsOf(mlir::Operation *op) const;
  mlir::LogicalResult routeUse(mlir::Operation *user, mlir::Value value);
  mlir::LogicalResult reportAgainstFlow(mlir::Operation *user, int64_t stage, mlir::Operation *maker,
                                        const Place &made);
  void collectSegments();
  void addTravel(mlir::Value value, const Travel &travel, const Place &place);
  std::string textOf(int64_t stage) const;
  void buildSegment(mlir::OpBuilder &builder, bool backward, int64_t stage, std::vector<mlir::IRMapping> &atStage);

  /// True when nothing runs on `stage`, forward or backward.
  bool isEmpty(int64_t stage) { return segmentOf(false, stage).ops.empty() && segmentOf(true, stage).ops.empty(); }
  Segment &segmentOf(bool backward, int64_t stage) { return segments[backward * virtualCount + stage]; }

  mlir::func::FuncOp function;
  const StageLayers &layers;
  int64_t virtualCount;
  llvm::DenseMap<mlir::Operation *, Place> places;
  llvm::DenseMap<mlir::Operation *, StageSet> segmentsOfFloating; ///< one bit a segment
  llvm::DenseMap<mlir::Value, Travel> travels;
  std::vector<Segment> segments; ///< forward of each stage, then backward of each stage
  int64_t repeatedOps = 0, savedValues = 0;
  std::vector<int64_t> savedBytesOfStage;
};

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_SPLITMICROBATCH_H
