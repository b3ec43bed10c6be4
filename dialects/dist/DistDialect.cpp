//===- DistDialect.cpp - the dist dialect ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tgpt::dist;

// A count in an assembly format: a plain integer without type.
static ParseResult parseCount(OpAsmParser &parser, IntegerAttr &count) {
  int64_t value = 0;
  if (parser.parseInteger(value))
    return failure();
  count = parser.getBuilder().getI64IntegerAttr(value);
  return success();
}

static void printCount(OpAsmPrinter &printer, Operation *, IntegerAttr count) { printer << count.getInt(); }

#include "dialects/dist/DistDialect.cpp.inc"
#include "dialects/dist/DistEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dist/DistAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/dist/DistOps.cpp.inc"

void DistDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/dist/DistAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/DistOps.cpp.inc"
      >();
}
