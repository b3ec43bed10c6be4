//===- tools/tgpt-plan/LedgerCommand.cpp - tgpt-plan ledger ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/tgpt-plan/LedgerCommand.h"
#include "compiler/ledger/Ledger.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

using namespace tgpt;

static constexpr const char *examples = R"(
Examples:
  tgpt-plan ledger --parameters=7e9 --dp=8
)";

namespace {
struct LedgerFlags {
  double parameters = 0, dp = 1;
};
} // namespace

/// A count of something: a whole number of at least one.
static void requireCount(const std::string &flag, double value, double most) {
  if (std::isfinite(value) && value >= 1 && value <= most && value == std::floor(value))
    return;
  double nearest = std::isfinite(value) ? std::min(std::max(std::round(value), 1.0), most) : 1;
  char text[160];
  std::snprintf(text, sizeof text, "%s is %g, expected a whole number from 1 to %.0f; nearest legal value: %.0f",
                flag.c_str(), value, most, nearest);
  throw std::runtime_error(text);
}

static void printLedger(const LedgerFlags &flags) {
  requireCount("--parameters", flags.parameters, 1e15);
  requireCount("--dp", flags.dp, 1e6);
  std::cout << statesText(flags.parameters, flags.dp, {});
}

void tgpt::addLedgerCommand(CLI::App &app) {
  CLI::App *command = app.add_subcommand("ledger", "What a model of a shape needs, by closed formulas.");
  command->footer(examples);
  auto flags = std::make_shared<LedgerFlags>();
  command->add_option("--parameters", flags->parameters, "parameters of the model: 7e9")->required();
  command->add_option("--dp", flags->dp, "data-parallel ranks")->capture_default_str();
  command->callback([flags] { printLedger(*flags); });
}
