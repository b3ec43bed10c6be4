//===- tools/tgpt-plan/SearchCommand.h - tgpt-plan MODEL --cluster=FILE ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TOOLS_TGPT_PLAN_SEARCHCOMMAND_H
#define TGPT_TOOLS_TGPT_PLAN_SEARCHCOMMAND_H

#include "compiler/planner/Planner.h"

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <string>

namespace tgpt {

/// As given.
struct SearchFlags {
  PlannerRequest request;
  std::map<std::string, std::string> pins; ///< by name of the choice
  std::optional<std::string> compare;
  std::optional<int64_t> globalBatch;
  std::string output, format = "text";
  bool json = false, quiet = false;
};

/// Adds the options of a search, which is what tgpt-plan does without a subcommand. `flags` outlives the parsing.
void addSearchOptions(CLI::App &app, SearchFlags &flags);

/// Searches, prints, and writes the best plan where asked to. False where nothing fits. Throws what it refuses.
bool runSearch(SearchFlags flags);

} // namespace tgpt

#endif // TGPT_TOOLS_TGPT_PLAN_SEARCHCOMMAND_H
