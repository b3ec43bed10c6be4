//===- GroupTable.h - the groups of ranks that a program names ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_LOWERING_GROUPTABLE_H
#define TGPT_PASSES_LOWERING_GROUPTABLE_H

#include "dialects/plan/Plan.h"
#include "llvm/ADT/StringMap.h"

namespace tgpt {

/// The groups of the program, made as collectives ask for them.
class GroupTable {
public:
  /// The numbers of values that stages make together begin here: a stage has fewer of its own.
  static constexpr int64_t firstShared = 1 << 20;

  GroupTable(planir::ProgramOp program) : program(program) {}
  /// The group over `axes`, among `stages` only where given.
  planir::GroupOp groupOf(mlir::Location location, mlir::ArrayAttr axes, std::optional<llvm::ArrayRef<int64_t>> stages);
  int64_t memberCount(mlir::ArrayAttr axes, std::optional<llvm::ArrayRef<int64_t>> stages);
  /// The number of what the stages of a group make together in its n-th collective: the same at each of them.
  int64_t numberOfShared(llvm::StringRef group, int64_t nth);

private:
  planir::ProgramOp program;
  llvm::StringMap<planir::GroupOp> groups;
  llvm::StringMap<llvm::SmallVector<int64_t>> shared; // by group, then n
  int64_t sharedCount = 0;
};

} // namespace tgpt

#endif // TGPT_PASSES_LOWERING_GROUPTABLE_H
