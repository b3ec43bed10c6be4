//===- CollectiveCosts.cpp - work of the collectives, and the kernel of a slice ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"

using namespace mlir;
using namespace tgpt;
using namespace tgpt::dist;

// Ranks that take part in one group.
static int64_t groupSize(Operation *op, ArrayAttr axes) {
  MeshOp mesh = meshOf(op);
  return mesh ? mesh.sizeOf(axesIn(axes)) : 1;
}

static int64_t elementsOf(Value value) {
  return tensorOf(value.getType()).getNumElements();
}

// Each rank adds up its 1/n of the elements, n - 1 additions an element.
int64_t AllReduceOp::getFlops() {
  int64_t ranks = groupSize(*this, getAxes());
  if (std::optional<ArrayRef<int64_t>> stages = getStages())
    ranks = ranks / meshOf(*this).sizeOf(StringRef("pp")) * static_cast<int64_t>(stages->size());
  return elementsOf(getInput()) * (ranks - 1) / std::max<int64_t>(ranks, 1);
}

int64_t ReduceScatterOp::getFlops() {
  return elementsOf(getOutput()) * (groupSize(*this, getAxes()) - 1);
}

// These move elements, and add none.
int64_t AllGatherOp::getFlops() {
  return 0;
}

int64_t AllToAllOp::getFlops() {
  return 0;
}

int64_t SliceOp::getFlops() {
  return 0;
}

int64_t StackNodesOp::getFlops() {
  return 0;
}

NamedAttrList SliceOp::getKernelAttributes() {
  NamedAttrList attributes;
  attributes.append("dim", getDimAttr());
  return attributes;
}

SmallVector<ShardOffset> SliceOp::getShardOffsets() {
  ShardOffset offset{"offset", 0, static_cast<unsigned>(getDim()), /*isResult=*/true};
  for (StringRef axis : axesIn(getAxes()))
    offset.axes.push_back(axis.str());
  return {offset};
}

// A pending result is written all the same.
int64_t AllReduceOp::getBytesWritten() {
  return bytesOf(tensorOf(getOutput().getType()));
}

int64_t AllGatherOp::getBytesWritten() {
  return bytesOf(tensorOf(getOutput().getType()));
}

int64_t ReduceScatterOp::getBytesWritten() {
  return bytesOf(tensorOf(getOutput().getType()));
}

int64_t AllToAllOp::getBytesWritten() {
  return bytesOf(tensorOf(getOutput().getType()));
}
