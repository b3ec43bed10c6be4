//===- SumCalls.cpp - ops that share out one sum ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/tgpt/SumCalls.h"
#include "cost/SumNodes.h"
#include "dialects/tgpt/Tgpt.h"

using namespace mlir;
using namespace tgpt;

int64_t tgpt::callsInsteadOfOne(Operation *op, dist::MeshOp mesh) {
  if (op->getNumResults() != 1)
    return 1;
  if (auto part = op->getAttrOfType<PartAttr>(partAttributeName))
    return part.getCount();
  auto node = op->getAttrOfType<NodeAttr>(nodeAttributeName);
  return node ? mostSumNodes(localChunksOf(op), mesh.sizeOf(dist::axesIn(node.getAxes()))) : 1;
}
