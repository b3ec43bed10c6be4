//===- LayerPlaces.h - where the ops of a micro-batch run ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before the model is cut, in parts that a cut never divides: the embedding, each layer, the
// head. From that follows which values wait for the backward, and where.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_PIPELINE_LAYERPLACES_H
#define TGPT_PASSES_PIPELINE_LAYERPLACES_H

#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <set>

namespace tgpt {

class LayerPlaces {
public:
  /// Where an op runs; `part` is -1 for what runs wherever it is used (reads, fills).
  struct Place {
    int64_t part = -1;
    bool isBackward = false;
  };
  using Parts = std::set<int64_t>;

  LayerPlaces(mlir::func::FuncOp microBatch, int64_t layerCount) : microBatch(microBatch), layerCount(layerCount) {}

  /// Reports an op of no layer that there is.
  mlir::LogicalResult place();
  /// What will run apart from the backward, as dist-split-weight-gradients decides: ops that say so, what follows from
  /// them, and the collectives and recomputed ops that alone serve them without more to keep.
  void findWeightGradients();

  mlir::func::FuncOp function() const { return microBatch; }
  auto ops() const { return function().getBody().front().without_terminator(); }
  Place of(mlir::Operation *op) const { return places.lookup(op); }
  bool isOfWeights(mlir::Operation *op) const { return ofWeights.contains(op); }

  /// Whether a value waits for this user in the activation slot; whether it does for any.
  bool isKeptFor(mlir::Value value, mlir::Operation *user) const;
  bool isKept(mlir::Value value) const;
  /// A value that the backward uses is kept where it is used; one that an earlier stage's backward uses comes back by
  /// way of its own stage.
  Parts partsThatKeep(mlir::OpResult value) const;

private:
  int64_t partByOperands(mlir::Operation *op, bool isBackward) const;
  bool onlyServesWeights(mlir::Operation *op) const;

  mlir::func::FuncOp microBatch;
  int64_t layerCount;
  llvm::DenseMap<mlir::Operation *, Place> places;
  llvm::DenseSet<mlir::Operation *> ofWeights;
};

/// The accumulate that takes a result and needs no kernel of its own, or null.
AccumulateOp fusedAccumulate(mlir::OpResult result);

} // namespace tgpt

#endif // TGPT_PASSES_PIPELINE_LAYERPLACES_H
