//===- test/e2e/CompiledModel.cpp - a recipe, compiled by the tools -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/e2e/CompiledModel.h"

#include "runtime/plan/Error.h"
#include "runtime/plan/PlanFile.h"
#include "test/unit/files/TemporaryDirectory.h"

#include <cstdlib>

using namespace tgpt;
using namespace tgpt::runtime;

static std::string quoted(const std::filesystem::path &path) {
  return "'" + path.string() + "'";
}

static void runTool(const TemporaryDirectory &directory, const std::string &command) {
  std::string silenced = command + " > " + quoted(directory / "log") + " 2>&1";
  if (std::system(silenced.c_str()) != 0)
    throw Error(command + "\n" + directory.read("log"));
}

plan::Plan tgpt::runtime::compileRecipe(const std::filesystem::path &recipe, const std::string &flags,
                                        const std::string &importFlags) {
  TemporaryDirectory directory;
  std::filesystem::path model = directory / "model.mlir", compiled = directory / "compiled.bin";
  runTool(directory, TGPT_IMPORT " " + importFlags + " " + quoted(recipe) + " -o " + quoted(model));
  runTool(directory, TGPT_OPT " " + flags + " " + quoted(model) + " -o " + quoted(compiled));
  return loadPlan(compiled);
}
