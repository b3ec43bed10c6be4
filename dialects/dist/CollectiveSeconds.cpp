//===- CollectiveSeconds.cpp - how long a collective takes on a cluster's links ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/CollectiveSeconds.h"
#include "cost/CollectiveTime.h"
#include "cost/MeshGroup.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tgpt;
using namespace tgpt::dist;

cost::Group tgpt::dist::groupOver(MeshOp mesh, ArrayRef<StringRef> axes) {
  SmallVector<cost::MeshAxis> all;
  for (auto [axis, size] : llvm::zip_equal(mesh.getAxes().getAsValueRange<StringAttr>(), mesh.getSizes()))
    all.push_back({double(size), llvm::is_contained(axes, axis)});
  return cost::groupOver(all);
}

double tgpt::dist::collectiveSeconds(Operation *collective, const cost::Topology &links) {
  auto groupOf = [&](auto op) {
    auto range = op.getAxes().template getAsValueRange<StringAttr>();
    return groupOver(meshOf(op), SmallVector<StringRef>(range.begin(), range.end()));
  };
  // The whole tensor: what an all_gather gives and the others take.
  double bytes = double(
      std::max(bytesOf(collective->getOperand(0).getType()), bytesOf(tensorOf(collective->getResult(0).getType()))));
  return llvm::TypeSwitch<Operation *, double>(collective)
      .Case([&](AllReduceOp op) { return cost::allReduceSeconds(links, groupOf(op), bytes); })
      .Case([&](AllGatherOp op) { return cost::allGatherSeconds(links, groupOf(op), bytes); })
      .Case([&](ReduceScatterOp op) { return cost::reduceScatterSeconds(links, groupOf(op), bytes); })
      .Case([&](AllToAllOp op) { return cost::allToAllSeconds(links, groupOf(op), bytes); });
}
