//===- DistDialect.cpp - the dist dialect ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "dialects/interfaces/AssemblyCount.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tgpt::dist;

// An end of a send_recv: `1`, or with a chunk `1 chunk 2`.
static ParseResult parseVirtualStage(OpAsmParser &parser, IntegerAttr &stage, IntegerAttr &chunk) {
  int64_t stageValue = 0, chunkValue = 0;
  if (parser.parseInteger(stageValue) ||
      (succeeded(parser.parseOptionalKeyword("chunk")) && parser.parseInteger(chunkValue)))
    return failure();
  stage = parser.getBuilder().getI64IntegerAttr(stageValue);
  chunk = parser.getBuilder().getI64IntegerAttr(chunkValue);
  return success();
}

static void printVirtualStage(OpAsmPrinter &printer, Operation *, IntegerAttr stage, IntegerAttr chunk) {
  printer << stage.getInt();
  if (chunk && chunk.getInt() != 0)
    printer << " chunk " << chunk.getInt();
}

#include "dialects/dist/DistDialect.cpp.inc"
#include "dialects/dist/DistEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dist/DistAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/dist/DistTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/dist/DistOps.cpp.inc"

void DistDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/dist/DistAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/dist/DistTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/DistOps.cpp.inc"
      >();
}
