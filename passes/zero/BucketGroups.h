//===- BucketGroups.h - which parameters share a bucket ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_ZERO_BUCKETGROUPS_H
#define TGPT_PASSES_ZERO_BUCKETGROUPS_H

#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace tgpt {

/// A parameter that is trained, and where the micro-batch uses it.
struct TrainedParameter {
  ParameterOp parameter;
  StateOp gradient;
  llvm::SmallVector<StateOp> moreGradients; ///< of further uses, where each is added up by itself (canonical reduction)
  llvm::SmallVector<int64_t> layers;        ///< ascending, each once; -1 where no use says its layer
  /// Of `gradient` and of each of `moreGradients`: the states that hold the further nodes of a rank's sum.
  std::vector<llvm::SmallVector<StateOp>> nodes = {{}};
};

/// The states beside an accumulator that hold nodes of a rank's sum when the micro-batches
/// are over (`nodes_of` of tgpt.accumulate), in their order; those that only wait are left out.
llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<mlir::StringAttr>> findNodes(mlir::ModuleOp module);

/// Parameters that share a bucket, in the order of the module.
struct BucketGroup {
  std::string name; ///< "layers.0.decayed", unique
  llvm::SmallVector<TrainedParameter> members;
};

/// The parameters of `module` that have a gradient.
llvm::SmallVector<TrainedParameter> findTrainedParameters(mlir::ModuleOp module);

/// Groups them: see zero-form-buckets. `stageOf` gives the virtual stage of a layer.
llvm::SmallVector<BucketGroup> groupIntoBuckets(llvm::ArrayRef<TrainedParameter> parameters, int64_t bytesLimit,
                                                llvm::function_ref<int64_t(int64_t layer)> stageOf);

} // namespace tgpt

#endif // TGPT_PASSES_ZERO_BUCKETGROUPS_H
