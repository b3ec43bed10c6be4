//===- TensorAxes.h - the mesh axes of tensor parallelism ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tp ranks cut features. Where a dim is a product of factors and the outermost has
// fewer entries than tp (KV heads), the axis is split: "tp" has an index a KV head, and
// "tp_inner" the ranks that share one. What lacks the inner factor (k, v and their
// weights) is then sharded over "tp" alone.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_SHARDING_TENSORAXES_H
#define TGPT_PASSES_SHARDING_TENSORAXES_H

#include "dialects/dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tgpt {

inline constexpr llvm::StringLiteral tensorAxisName = "tp";
inline constexpr llvm::StringLiteral innerTensorAxisName = "tp_inner";

/// Sizes of the two axes; inner is 1 where tp is not split.
struct TensorAxisSizes {
  int64_t outer, inner;
};

/// Splits `tp` as the ops of `model`'s forward need it; an error where no split serves
/// one of them.
llvm::FailureOr<TensorAxisSizes> splitTensorAxis(mlir::func::FuncOp model, int64_t tp);

/// The first of `axes` that every op which reads `value` can take in its last dim, and
/// those that read what an op without heads makes of it.
dist::LayoutAttr::Axes axesOfFeatures(mlir::Value value, llvm::ArrayRef<llvm::StringRef> axes, dist::MeshOp mesh);

/// Where `count` things cannot be shared out among tp ranks: the error, at `op`.
mlir::InFlightDiagnostic failDivision(mlir::Operation *op, const llvm::Twine &what, int64_t count, int64_t tp,
                                      int64_t nearestTp);

/// The number nearest to `wanted` of 1 to `most` that `isLegal`, the smaller of two
/// equally near; 1 is legal.
int64_t nearestLegal(int64_t wanted, int64_t most, llvm::function_ref<bool(int64_t)> isLegal);

} // namespace tgpt

#endif // TGPT_PASSES_SHARDING_TENSORAXES_H
