//===- GroupTable.cpp - the groups of ranks that a program names ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/lowering/GroupTable.h"

using namespace mlir;
using namespace tgpt;

planir::GroupOp GroupTable::groupOf(Location location, ArrayAttr axes, std::optional<ArrayRef<int64_t>> stages) {
  SmallVector<int64_t> members;
  if (stages && static_cast<int64_t>(stages->size()) < program.stageCount())
    members.assign(stages->begin(), stages->end());
  llvm::sort(members);
  std::string name;
  for (StringRef axis : axes.getAsValueRange<StringAttr>())
    name += (name.empty() ? "" : "_") + axis.str();
  for (auto [i, member] : llvm::enumerate(members))
    name += (i == 0 ? "_of_" : "_") + std::to_string(member);
  planir::GroupOp &group = groups[name];
  if (group)
    return group;
  // Groups come first in the program, in the order of their first use.
  Block &body = program.getBody().front();
  auto place = llvm::find_if(body, [](Operation &op) { return !isa<planir::GroupOp>(op); });
  OpBuilder builder(program.getContext());
  builder.setInsertionPoint(&body, place);
  group = planir::GroupOp::create(builder, location, name, axes,
                                  members.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(members));
  return group;
}

int64_t GroupTable::memberCount(ArrayAttr axes, std::optional<ArrayRef<int64_t>> stages) {
  int64_t count = 1;
  for (StringRef axis : axes.getAsValueRange<StringAttr>())
    count *= axis == "pp" && stages ? static_cast<int64_t>(stages->size()) : program.sizeOf(axis);
  return count;
}

int64_t GroupTable::numberOfShared(StringRef group, int64_t nth) {
  SmallVector<int64_t> &numbers = shared[group];
  while (static_cast<int64_t>(numbers.size()) <= nth)
    numbers.push_back(firstShared + sharedCount++);
  return numbers[nth];
}
