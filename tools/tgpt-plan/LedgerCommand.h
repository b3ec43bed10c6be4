//===- tools/tgpt-plan/LedgerCommand.h - tgpt-plan ledger ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TOOLS_TGPT_PLAN_LEDGERCOMMAND_H
#define TGPT_TOOLS_TGPT_PLAN_LEDGERCOMMAND_H

#include <CLI/CLI.hpp>

namespace tgpt {

/// Adds the subcommand `ledger`, which prints to stdout as it is parsed. Throws what it refuses as std::runtime_error.
void addLedgerCommand(CLI::App &app);

} // namespace tgpt

#endif // TGPT_TOOLS_TGPT_PLAN_LEDGERCOMMAND_H
