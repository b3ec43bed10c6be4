//===- StageHomes.cpp - which stages a parameter or state lives on ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/StageHomes.h"
#include "dialects/tgpt/Tgpt.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tgpt;

StringAttr tgpt::changedSymbol(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringAttr>(op)
      .Case<WriteOp, AccumulateOp>([](auto change) { return change.getSymbolAttr().getAttr(); })
      .Default([](Operation *) { return StringAttr(); });
}

StringAttr tgpt::usedSymbol(Operation *op) {
  if (auto read = dyn_cast<ReadOp>(op))
    return read.getSymbolAttr().getAttr();
  return changedSymbol(op);
}

void StageHomes::addUse(StringAttr symbol, int64_t stage) {
  StageSet &home = homes.try_emplace(symbol, stageCount).first->second;
  home.set(stage);
}

StageSet StageHomes::of(StringAttr symbol) const {
  auto found = homes.find(symbol);
  return found == homes.end() ? StageSet(stageCount) : found->second;
}

// Members of a bucket live where one of them or the bucket is used.
void StageHomes::shareWithMembers(ModuleOp module) {
  for (auto bucket : module.getOps<BucketOp>()) {
    StageSet shared = of(bucket.getSymNameAttr());
    for (auto member : bucket.getMembers().getAsRange<FlatSymbolRefAttr>())
      shared |= of(member.getAttr());
    for (auto member : bucket.getMembers().getAsRange<FlatSymbolRefAttr>())
      homes[member.getAttr()] = shared;
  }
}

// Members have found their homes: their bucket's is the same.
LogicalResult StageHomes::settleBuckets(ModuleOp module) {
  for (auto bucket : module.getOps<BucketOp>()) {
    StringAttr first = cast<FlatSymbolRefAttr>(bucket.getMembers()[0]).getAttr();
    for (auto member : bucket.getMembers().getAsRange<FlatSymbolRefAttr>())
      if (of(member.getAttr()) != of(first))
        return bucket.emitError() << "members @" << first.getValue() << " and " << member
                                  << " live on different stages";
    homes[bucket.getSymNameAttr()] = of(first);
    if (gradients.contains(first))
      gradients.insert(bucket.getSymNameAttr());
  }
  return success();
}

LogicalResult StageHomes::settle(ModuleOp module) {
  shareWithMembers(module);
  for (auto state : module.getOps<StateOp>()) {
    if (state.getRole() == StateRole::Gradient)
      gradients.insert(state.getSymNameAttr());
    if (state.getRole() == StateRole::Metric)
      metrics.insert(state.getSymNameAttr());
    FlatSymbolRefAttr parameter = state.getParameterAttr();
    if (!parameter) {
      StageSet home = of(state.getSymNameAttr());
      if (state.getRole() == StateRole::Scaling)
        home.set(); // every stage adjusts its own copy
      if (home.none())
        home.set(stageCount - 1);
      homes[state.getSymNameAttr()] = home;
      continue;
    }
    StageSet shared = of(parameter.getAttr());
    shared |= of(state.getSymNameAttr());
    homes[parameter.getAttr()] = shared;
  }
  for (auto parameter : module.getOps<ParameterOp>()) {
    StageSet home = of(parameter.getSymNameAttr());
    if (home.none())
      home.set(0);
    tiedParameters += home.count() > 1;
    homes[parameter.getSymNameAttr()] = home;
  }
  for (auto state : module.getOps<StateOp>())
    if (FlatSymbolRefAttr parameter = state.getParameterAttr())
      homes[state.getSymNameAttr()] = of(parameter.getAttr());
  return settleBuckets(module);
}
