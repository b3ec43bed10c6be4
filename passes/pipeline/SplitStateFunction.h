//===- SplitStateFunction.h - give each stage its part of @begin and @update ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of dist-split-stages that cuts the functions which work on states. Ops
// run where the states live that they change; what they need from other stages are
// scalars, which all stages get by an all_reduce over "pp":
//
//   StateFunctionSplit split(update, dist::SegmentKind::Update, homes);
//   if (failed(split.place()))  // reported
//     return failure();
//   split.build();
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_SPLITSTATEFUNCTION_H
#define TGPT_PASSES_PIPELINE_SPLITSTATEFUNCTION_H

#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/pipeline/StageHomes.h"

namespace tgpt {

class StateFunctionSplit {
public:
  StateFunctionSplit(mlir::func::FuncOp function, dist::SegmentKind kind, const StageHomes &homes)
      : function(function), kind(kind), homes(homes), stageCount(homes.getStageCount()),
        isCanonical(addsCanonically(function)) {}

  /// Finds where each op can run and where it must.
  mlir::LogicalResult place();
  /// Replaces the body by one segment a stage. All stages issue their all_reduces
  /// over "pp" in the order of the original function.
  void build();

  /// all_reduces over "pp" in the result.
  int64_t countAllReduces() const { return allReduces; }

private:
  /// How an op's results come to the stages that need them.
  enum class Means {
    Copy,  ///< each of these stages runs the op
    Share, ///< `from` run it, each adding its part; the others add 0
    SumUp, ///< each stage adds the operands it contributes; the total goes to all
    Tied,  ///< the stages of a tied gradient read their part and add them up
  };
  struct Place {
    StageSet valid;  ///< stages whose own inputs suffice
    StageSet needed; ///< stages that need a result
    StageSet from;   ///< for Share
    Means means = Means::Copy;
    mlir::SmallVector<int64_t> contributors; ///< for SumUp: a stage per operand
  };
  struct Stage {
    mlir::OpBuilder builder;
    mlir::IRMapping values;
  };

  StageSet none() const { return StageSet(stageCount); }
  StageSet all() const { return StageSet(stageCount, true); }
  StageSet validOf(mlir::Value value) const;
  StageSet findValid(mlir::Operation *op) const;
  StageSet validOfTensors(mlir::Operation *op) const;
  mlir::LogicalResult decide(mlir::Operation *op);
  mlir::LogicalResult decideRead(mlir::Operation *op, Place &place);
  mlir::LogicalResult decideCompute(mlir::Operation *op, Place &place);
  bool decideSum(mlir::Operation *op, Place &place);
  mlir::LogicalResult checkShareable(mlir::Operation *op, const Place &place) const;
  void need(mlir::Value value, const StageSet &stages);
  void needOperands(mlir::Operation *op, const StageSet &stages);

  void buildOp(mlir::Operation *op, const Place &place);
  void copyTo(mlir::Operation *op, const StageSet &stages);
  void sumUp(mlir::Operation *op, const Place &place);
  void fillZero(mlir::Value value, const StageSet &stages);
  void allReduce(mlir::Value value, const StageSet &stages);

  mlir::func::FuncOp function;
  dist::SegmentKind kind;
  const StageHomes &homes;
  int64_t stageCount;
  bool isCanonical; ///< sums over the stages are trees
  llvm::DenseMap<mlir::Operation *, Place> places;
  std::vector<Stage> stages;
  int64_t allReduces = 0;
};

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_SPLITSTATEFUNCTION_H
