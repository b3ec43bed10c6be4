//===- Tgpt.h - the tgpt dialect ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_TGPT_TGPT_H
#define TGPT_DIALECTS_TGPT_TGPT_H

#include "dialects/dist/Dist.h"
#include "dialects/interfaces/OpKnowledge.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/tgpt/TgptDialect.h.inc"
#include "dialects/tgpt/TgptEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/tgpt/TgptAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/tgpt/TgptOps.h.inc"

namespace tgpt {

/// Discardable attribute with the number of the layer an op belongs to: 0 to
/// layers - 1, or -1 before the first layer and `layers` after the last one.
inline constexpr llvm::StringLiteral layerAttributeName = "tgpt.layer";
/// Discardable attribute on functions: "begin", "micro_batch" or "update".
inline constexpr llvm::StringLiteral phaseAttributeName = "tgpt.phase";
/// Discardable attribute on a forward op, true or false: the decision whether the
/// backward computes its results again instead of keeping them.
inline constexpr llvm::StringLiteral recomputeAttributeName = "tgpt.recompute";
/// Discardable unit attribute on an op of the backward that computes again what the
/// forward has computed.
inline constexpr llvm::StringLiteral recomputedAttributeName = "tgpt.recomputed";

/// Discardable attribute on an op with a sum: a ChunksAttr.
inline constexpr llvm::StringLiteral chunksAttributeName = "tgpt.chunks";

/// Discardable attribute beside it: a NodeAttr.
inline constexpr llvm::StringLiteral nodeAttributeName = "tgpt.node";
/// Discardable attribute on an op that sums over samples: a PartAttr.
inline constexpr llvm::StringLiteral partAttributeName = "tgpt.part";

/// The chunks of the op's sum that lie in the local operand; 0 where the op has no
/// `tgpt.chunks`.
int64_t localChunksOf(mlir::Operation *op);

/// What a kernel call of the op is given beside its operands: what the kernel needs, for a product that may be a
/// library's at least `productBytes`; 0 for an op without a kernel.
int64_t workspaceBytesOf(mlir::Operation *op, int64_t productBytes);

/// The share of an op's operations that are the model's: what is left works on padding.
inline constexpr llvm::StringLiteral modelShareAttributeName = "tgpt.model_share";

} // namespace tgpt

#endif // TGPT_DIALECTS_TGPT_TGPT_H
