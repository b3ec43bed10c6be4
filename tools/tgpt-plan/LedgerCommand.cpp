//===- tools/tgpt-plan/LedgerCommand.cpp - tgpt-plan ledger ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/tgpt-plan/LedgerCommand.h"
#include "compiler/ledger/LedgerJson.h"
#include "runtime/plan/CheckPlan.h"
#include "runtime/plan/PlanFile.h"
#include "tools/tgpt-plan/LedgerFlags.h"

#include <iostream>
#include <memory>

using namespace tgpt;

static void printLedger(const CLI::App &command, const LedgerFlags &flags) {
  if (!flags.plan.empty())
    refuseDegreesBesidePlan(command);
  LedgerRequest request = ledgerRequestOf(flags);
  std::vector<ComparedStage> comparison;
  if (!flags.plan.empty()) {
    plan::Plan plan = runtime::loadPlan(flags.plan);
    runtime::checkPlan(plan);
    request = requestOfPlan(request, plan);
    comparison = comparisonOf(request, memoryReportOf(plan));
  }
  Ledger ledger = ledgerOf(request);
  if (flags.format == "text") {
    std::cout << ledgerText(ledger) << (flags.plan.empty() ? "" : comparisonText(comparison));
    return;
  }
  nlohmann::ordered_json json = ledgerObject(ledger);
  if (!flags.plan.empty())
    json["plan"] = comparisonObject(comparison);
  std::cout << json.dump(2) << "\n";
}

void tgpt::addLedgerCommand(CLI::App &app) {
  CLI::App *command = app.add_subcommand("ledger", "What a model of a shape needs, by closed formulas.");
  auto flags = std::make_shared<LedgerFlags>();
  addLedgerOptions(*command, *flags);
  command->callback([command, flags] { printLedger(*command, *flags); });
}
