//===- Decisions.h - where a layout decision is written ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A decision is data: a `dist.layout` attribute on a parameter, a function
// argument or an op whose result must have that layout. tgpt-shard or a person
// writes it, dist-propagate carries it out.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_SHARDING_DECISIONS_H
#define TGPT_PASSES_SHARDING_DECISIONS_H

#include "dialects/dist/Dist.h"

namespace tgpt {

inline constexpr llvm::StringLiteral decisionAttributeName = "dist.layout";

/// The layout decided for the result of `op` (or for the parameter it declares), or null.
inline dist::LayoutAttr decisionOf(mlir::Operation *op) {
  return op->getAttrOfType<dist::LayoutAttr>(decisionAttributeName);
}

} // namespace tgpt

#endif // TGPT_PASSES_SHARDING_DECISIONS_H
