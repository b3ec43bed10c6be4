//===- tools/tgpt-plan/tgpt-plan.cpp - what a model needs, and how to train it ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each subcommand has a file of its own that adds its options; its callback does the work.
//
//===----------------------------------------------------------------------===//

#include "tools/tgpt-plan/LedgerCommand.h"
#include "tools/tgpt-plan/SearchCommand.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <stdexcept>

/// "Could not convert: --gpus = 8.5", as an error that says what is accepted.
static std::string conversionText(const CLI::App &app, const std::string &message) {
  std::size_t name = message.find("--"), equals = message.find(" = ");
  if (name == std::string::npos || equals == std::string::npos || equals < name)
    return message;
  std::string flag = message.substr(name, equals - name);
  const CLI::App *command = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
  const CLI::Option *option = command->get_option_no_throw(flag);
  std::string type = option ? option->get_type_name() : "";
  return flag + " is '" + message.substr(equals + 3) + "', expected " +
         (type.starts_with("INT") ? "a whole number"
          : type == "BOOLEAN"     ? "true or false"
                                  : "a number");
}

static int run(int argc, char **argv) {
  CLI::App app("Finds the best plan to train a model on a cluster; says what a model needs.", "tgpt-plan");
  app.set_version_flag("--version", "tgpt-plan " TGPT_VERSION);
  tgpt::addLedgerCommand(app);
  tgpt::SearchFlags search;
  tgpt::addSearchOptions(app, search);
  app.require_subcommand(0, 1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &asked) { // help or version
    return app.exit(asked);
  } catch (const CLI::ConversionError &error) {
    throw std::runtime_error(conversionText(app, error.what()) + " (see tgpt-plan --help)");
  } catch (const CLI::ParseError &error) {
    throw std::runtime_error(std::string(error.what()) + " (see tgpt-plan --help)");
  }
  bool isDone = true;
  if (app.get_subcommands().empty()) {
    if (search.request.modelPath.empty())
      throw std::runtime_error("no model is given (see tgpt-plan --help)");
    isDone = tgpt::runSearch(std::move(search));
  }
  if (!std::cout.flush())
    throw std::runtime_error("cannot write to stdout");
  return isDone ? 0 : 1;
}

int main(int argc, char **argv) try { return run(argc, argv); } catch (const std::exception &error) {
  std::cout << std::flush;
  std::cerr << "tgpt-plan: error: " << error.what() << "\n";
  return 1;
}
