//===- LayerMemory.h - what the parts of a micro-batch hold ---*- C++ -*-===//
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
#ifndef TGPT_PASSES_PIPELINE_LAYERMEMORY_H
#define TGPT_PASSES_PIPELINE_LAYERMEMORY_H

#include "passes/pipeline/LayerCosts.h"
#include "passes/pipeline/LayerPlaces.h"
#include "passes/pipeline/PartPeaks.h"
#include <map>
#include <vector>

namespace tgpt {

/// What several parts hold once where they are on one stage, by those parts.
using SharedByParts = std::map<std::vector<int64_t>, SharedBytes>;

/// Of a micro-batch: activations, scratch and messages of each part.
class LayerMemory {
public:
  /// `dp`: ranks that share out states, as `assumptions` says.
  LayerMemory(const LayerPlaces &places, const CostAssumptions &assumptions, int64_t dp)
      : places(places), assumptions(assumptions), dp(dp) {}

  /// `gatheredAhead`: bytes while a part runs, of parameters of those that run next.
  void addTo(StageProblem &problem, SharedByParts &shared, llvm::ArrayRef<int64_t> gatheredAhead);

private:
  void addActivations(StageProblem &problem, SharedByParts &shared) const;
  PartPeaks orderSteps(int64_t parts);
  int64_t lastStep(mlir::Value value) const;
  int64_t beginOf(mlir::OpResult value) const;
  /// The operand whose bytes a result takes over, or null.
  mlir::Value replacedBy(mlir::OpResult result) const;
  void addKept(mlir::OpResult value, PartPeaks &peaks) const;
  void addUnkept(mlir::OpResult value, PartPeaks &peaks) const;
  ParameterOp bucketedParameter(mlir::OpResult result) const;
  void addUnreduced(PartPeaks &peaks) const;
  void addGathered(PartPeaks &peaks) const;
  void addPeaks(StageProblem &problem, llvm::ArrayRef<int64_t> gatheredAhead);
  void addMessages(StageProblem &problem) const;

  const LayerPlaces &places;
  const CostAssumptions &assumptions;
  int64_t dp;
  llvm::DenseMap<mlir::Operation *, int64_t> stepOf;
};

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_LAYERMEMORY_H
