//===- FlatTensor.h - many local tensors side by side in one ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A flat tensor holds the local elements of its parts, row-major, in its last dim.
// Where the parts are sharded (each by the same axes, along whichever dim) it has a
// first dim with one entry a shard:
//
//   tensor<32x64xf32, #dist.layout<[tp, -], of = [64, 64]>>
//   tensor<64x32xf32, #dist.layout<[-, tp], of = [64, 64]>>    parts at 0 and 2048 of
//   tensor<1x4096xf32, #dist.layout<[tp, -], of = [2, 4096]>>
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_DIST_FLATTENSOR_H
#define TGPT_DIALECTS_DIST_FLATTENSOR_H

#include "dialects/dist/Dist.h"

namespace tgpt::dist {

/// The axes that shard any dim of a layout, in the order of the dims.
LayoutAttr::Axes shardingAxesOf(LayoutAttr layout);

/// The flat type for parts like `part`, of `elements` elements in the last dim, that
/// is partial over `partial` and whose last dim is cut over `pieces`.
mlir::RankedTensorType flatTypeOf(mlir::RankedTensorType part, int64_t elements,
                                  llvm::ArrayRef<llvm::StringRef> partial, llvm::ArrayRef<llvm::StringRef> pieces,
                                  MeshOp mesh);

/// Elements of the last dim, all pieces together.
int64_t flatElementsOf(mlir::RankedTensorType flat);
/// The axes over which the last dim is cut into pieces.
LayoutAttr::Axes pieceAxesOf(mlir::RankedTensorType flat);

/// One part of a flat tensor, under the name it has in messages.
struct FlatPart {
  std::string name;
  mlir::RankedTensorType type;
  int64_t offset;
};

/// Checks that the parts lie side by side in the flat tensor and are sharded as its
/// first dims say. Partial axes are the caller's to check.
llvm::LogicalResult verifyFlat(mlir::RankedTensorType flat, llvm::ArrayRef<FlatPart> parts,
                               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace tgpt::dist

#endif // TGPT_DIALECTS_DIST_FLATTENSOR_H
