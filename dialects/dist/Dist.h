//===- Dist.h - the dist dialect ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_DIST_DIST_H
#define TGPT_DIALECTS_DIST_DIST_H

#include "dialects/interfaces/OpKnowledge.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/dist/DistDialect.h.inc"
#include "dialects/dist/DistEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dist/DistAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/dist/DistTypes.h.inc"

namespace tgpt::dist {

/// Checks that a pending result has one use, a dist.wait in its block.
llvm::LogicalResult verifyPending(mlir::Operation *op);

/// A collective: all_reduce, all_gather, reduce_scatter or all_to_all. Its result is a
/// tensor, or pending: then the collective is started there and runs beside what
/// follows, up to the dist.wait.
template <typename ConcreteType> class Communicates : public mlir::OpTrait::TraitBase<ConcreteType, Communicates> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyPending(op); }
};

} // namespace tgpt::dist

#define GET_OP_CLASSES
#include "dialects/dist/DistOps.h.inc"

namespace tgpt::dist {

/// The tensor type, or the one that a pending type is for; null for other types.
mlir::RankedTensorType tensorOf(mlir::Type type);
/// The wait for a collective's pending result; null where the result is a tensor.
WaitOp waitOf(mlir::Operation *collective);

/// An entry of a schedule: a segment, for a micro-batch in an activation slot.
struct ScheduledSegment {
  SegmentKind kind = SegmentKind::Forward; ///< or backward or weight_gradient
  int64_t microBatch = 0, chunk = 0, slot = 0;

  /// Reads "F3@1" or, of chunk 2, "F3.2@1"; B is a backward and W a weight_gradient.
  static std::optional<ScheduledSegment> parse(llvm::StringRef text);
};

/// Checks that `stage`, the `name` of `op`, is one of the mesh's pipeline stages.
llvm::LogicalResult verifyStage(mlir::Operation *op, llvm::StringRef name, int64_t stage);
/// "stage 1", or "stage 1 chunk 2".
std::string virtualStageText(int64_t stage, int64_t chunk);

/// True when a collective stays within groups of tensor-parallel ranks.
bool isWithinTensorGroup(mlir::Operation *collective);

/// The names in a list of axes.
LayoutAttr::Axes axesIn(mlir::ArrayAttr axes);

/// The layout in the encoding of a tensor type (of the tensor, where it is pending), or null.
LayoutAttr layoutOf(mlir::Type type);
inline LayoutAttr layoutOf(mlir::Value value) {
  return layoutOf(value.getType());
}
/// The same shape and element type with another layout.
mlir::RankedTensorType withLayout(mlir::RankedTensorType type, LayoutAttr layout);
/// The type of `rows` addends of `addend`'s type, stacked: what is partial over `axes` is there for each rank.
mlir::RankedTensorType stackedTypeOf(mlir::RankedTensorType addend, int64_t rows, llvm::ArrayRef<llvm::StringRef> axes,
                                     MeshOp mesh);
/// The mesh of the module around `op`, or null.
MeshOp meshOf(mlir::Operation *op);
/// The shape of one rank's shard of `globalShape`; failure with a message where
/// an axis does not divide a dim.
llvm::FailureOr<llvm::SmallVector<int64_t>> localShape(llvm::ArrayRef<int64_t> globalShape, LayoutAttr layout,
                                                       MeshOp mesh,
                                                       llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The axes of one dim, dealt out to its factors (see ShardingRule.h).
struct DealtAxes {
  llvm::SmallVector<LayoutAttr::Axes> ofFactor; ///< in the order of the dim's factors
  size_t dealt = 0;                             ///< fewer than all where the next one does not divide what is left
  size_t next = 0;                              ///< the factor that it would have gone to
};
/// Deals `axes` out to the factors `dim`, a group of `rule`. Without a mesh, or where a
/// factor's size is not known, the factor takes all that follow.
DealtAxes dealAxes(const ShardingRule &rule, llvm::StringRef dim, llvm::ArrayRef<llvm::StringRef> axes, MeshOp mesh);

} // namespace tgpt::dist

#endif // TGPT_DIALECTS_DIST_DIST_H
