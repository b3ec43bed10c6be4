//===- tools/tgpt-plan/LedgerCommand.cpp - tgpt-plan ledger ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/tgpt-plan/LedgerCommand.h"
#include "compiler/ledger/LedgerJson.h"
#include "tools/tgpt-plan/LedgerFlags.h"

#include <iostream>
#include <memory>

using namespace tgpt;

static void printLedger(const LedgerFlags &flags) {
  Ledger ledger = ledgerOf(ledgerRequestOf(flags));
  if (flags.format == "json")
    std::cout << ledgerObject(ledger).dump(2) << "\n";
  else
    std::cout << ledgerText(ledger);
}

void tgpt::addLedgerCommand(CLI::App &app) {
  CLI::App *command = app.add_subcommand("ledger", "What a model of a shape needs, by closed formulas.");
  auto flags = std::make_shared<LedgerFlags>();
  addLedgerOptions(*command, *flags);
  command->callback([flags] { printLedger(*flags); });
}
