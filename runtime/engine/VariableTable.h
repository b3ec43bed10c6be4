//===- VariableTable.h - variables across all ranks -------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes variables as logical tensors, between steps: whole, without padding,
// put together from the windows that the plan has on them.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_VARIABLETABLE_H
#define TGPT_RUNTIME_ENGINE_VARIABLETABLE_H

#include "runtime/engine/Arena.h"
#include "runtime/engine/Initializer.h"
#include "runtime/engine/LogicalTensor.h"
#include "runtime/plan/RankGrid.h"
#include "runtime/plan/plan.pb.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tgpt::runtime {

class VariableTable {
public:
  /// Writes go to the ranks `own`.
  VariableTable(const plan::Plan &plan, const RankGrid &grid, const std::vector<std::unique_ptr<Arena>> &arenas,
                const std::vector<int64_t> &own);

  /// Brings what a rank of another machine holds here, before it is read. Empty: all ranks are here.
  std::function<void(int64_t rank, void *at, size_t bytes)> refresh;

  std::vector<std::string> names() const;
  const plan::Variable &entry(std::string_view name) const;
  LogicalTensor read(std::string_view name) const;
  void write(std::string_view name, const LogicalTensor &value) const;
  void verifyCopiesEqual() const;

  /// Sets all variables of one rank to their first values.
  void initialize(int64_t rank) const;

private:
  /// A stage's copy of a variable.
  struct Copy {
    int64_t stage;
    const plan::Variable *variable;
  };
  /// The owner stage's copy first.
  using Copies = std::vector<Copy>;
  /// A logical tensor: what the plan would say of it, and the variables that are windows on it.
  struct Logical {
    plan::Variable entry;
    std::vector<Copies> parts;
  };

  const Logical &find(std::string_view name) const;
  const plan::Buffer &bufferOf(const Copy &copy) const;
  ShardRun runOf(const Copy &copy, int64_t rank) const;
  std::vector<int64_t> holders(const Copy &copy) const;
  bool isFirstReplica(const Copy &copy, int64_t rank) const;
  LogicalTensor emptyTensor(const Logical &logical) const;
  void gatherShard(const Copy &copy, int64_t rank, LogicalTensor &into) const;
  std::vector<Copy> nodesOf(const Copy &copy, int64_t &addends) const;
  void verifyPartial(const Copy &copy) const;
  void verifyAgainst(const LogicalTensor &expected, const Copy &copy, int64_t ownerStage) const;
  [[noreturn]] void failDifferent(const Copy &copy, const std::string &source, const std::byte *expected,
                                  int64_t rank) const;

  const plan::Plan &plan;
  const RankGrid &grid;
  const std::vector<std::unique_ptr<Arena>> &arenas;
  const std::vector<int64_t> &own;
  std::map<std::string, Logical, std::less<>> variables;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_VARIABLETABLE_H
