//===- AssemblyCount.h - custom<Count> of assembly formats ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_DIALECTS_INTERFACES_ASSEMBLYCOUNT_H
#define TGPT_DIALECTS_INTERFACES_ASSEMBLYCOUNT_H

#include "mlir/IR/OpImplementation.h"

namespace tgpt {

/// Reads a count: a plain integer without type.
inline mlir::ParseResult parseCount(mlir::OpAsmParser &parser, mlir::IntegerAttr &count) {
  int64_t value = 0;
  if (parser.parseInteger(value))
    return mlir::failure();
  count = parser.getBuilder().getI64IntegerAttr(value);
  return mlir::success();
}

inline void printCount(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::IntegerAttr count) {
  printer << count.getInt();
}

} // namespace tgpt

#endif // TGPT_DIALECTS_INTERFACES_ASSEMBLYCOUNT_H
