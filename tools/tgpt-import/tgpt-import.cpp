//===- tgpt-import.cpp - turns a recipe into model.mlir -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/ModelParameters.h"
#include "compiler/frontend/ModelText.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;

static cl::OptionCategory category("tgpt-import options");
static cl::opt<std::string> recipePath(cl::Positional, cl::Required, cl::desc("<recipe.yaml, or - for stdin>"),
                                       cl::cat(category));
static cl::opt<std::string> outputPath("o", cl::desc("Model file to write; '-' is stdout"), cl::value_desc("file"),
                                       cl::init("-"), cl::cat(category));
static cl::opt<std::string> sequenceLength("sequence-length", cl::desc("Tokens a sequence, instead of the recipe's"),
                                           cl::value_desc("tokens"), cl::cat(category));
static cl::opt<std::string> vocabulary("vocabulary", cl::desc("Token ids, instead of the recipe's"),
                                       cl::value_desc("ids"), cl::cat(category));
static cl::opt<std::string> kvHeads("kv-heads", cl::desc("Key and value heads, instead of the recipe's"),
                                    cl::value_desc("heads"), cl::cat(category));
static cl::opt<std::string> dropout("dropout", cl::desc("Dropout probability, instead of the recipe's"),
                                    cl::value_desc("share"), cl::cat(category));
static cl::opt<std::string> attentionDropout("attention-dropout",
                                             cl::desc("Dropout probability of attention, instead of the recipe's"),
                                             cl::value_desc("share"), cl::cat(category));
static cl::opt<std::string> qkNorm("qk-norm",
                                   cl::desc("Whether to normalise queries and keys, instead of the recipe's"),
                                   cl::value_desc("true|false"), cl::cat(category));
static cl::opt<std::string> fusedQkv("fused-qkv",
                                     cl::desc("Whether query, key and value weights are one, instead of the recipe's"),
                                     cl::value_desc("true|false"), cl::cat(category));
static cl::opt<std::string> fusedGateUp("fused-gate-up",
                                        cl::desc("Whether gate and up weights are one, instead of the recipe's"),
                                        cl::value_desc("true|false"), cl::cat(category));
static cl::opt<bool> printParameterCount("print-parameter-count",
                                         cl::desc("Print the number of trainable elements and write no model"),
                                         cl::cat(category));
static cl::extrahelp examples(R"(
Examples:
  tgpt-import recipes/models/nano.yaml -o nano.mlir
  tgpt-import recipes/models/llama3-8b.yaml --sequence-length=4096 -o model.mlir
  tgpt-import recipes/models/gpt2-124m.yaml --fused-qkv=true -o model.mlir   one weight for c_attn, as GPT-2's
  tgpt-import recipes/models/gpt3-175b.yaml --print-parameter-count

Compile the model with tgpt-opt. The keys of a recipe are explained in recipes/README.md.
)");

static tgpt::RecipeOverrides overrides() {
  tgpt::RecipeOverrides values;
  for (auto [key, option] : {std::pair("sequence_length", &sequenceLength), std::pair("vocabulary", &vocabulary),
                             std::pair("kv_heads", &kvHeads), std::pair("dropout", &dropout),
                             std::pair("attention_dropout", &attentionDropout), std::pair("qk_norm", &qkNorm),
                             std::pair("fused_qkv", &fusedQkv), std::pair("fused_gate_up", &fusedGateUp)})
    if (option->getNumOccurrences())
      values[key] = *option;
  return values;
}

// Whether the text is a valid model; what is not is reported on stderr. Nothing invalid is ever written.
static bool verifies(const std::string &text) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, tgpt::TgptDialect>();
  mlir::MLIRContext context(registry);
  mlir::ParserConfig config(&context);
  return bool(mlir::parseSourceString<mlir::ModuleOp>(text, config, "model.mlir"));
}

static int fail(const Twine &message) {
  WithColor::error(errs(), "tgpt-import") << message << "\n";
  return 1;
}

static int run() {
  tgpt::ModelRecipe recipe = tgpt::readModelRecipe(recipePath.getValue(), overrides());
  if (printParameterCount) {
    outs() << tgpt::parameterCount(recipe) << "\n";
    return 0;
  }
  std::string text = tgpt::modelText(recipe);
  if (!verifies(text))
    return fail("the model of recipe '" + recipe.name + "' does not verify");
  std::string error;
  std::unique_ptr<ToolOutputFile> output = mlir::openOutputFile(outputPath, &error);
  if (!output)
    return fail(error);
  output->os() << text;
  output->os().flush();
  if (std::error_code full = output->os().error()) {
    output->os().clear_error();
    return fail("cannot write '" + outputPath + "': " + full.message());
  }
  output->keep();
  return 0;
}

static void printVersion(raw_ostream &out) {
  out << "tgpt-import " TGPT_VERSION ", MLIR " LLVM_VERSION_STRING "\n";
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter(printVersion);
  cl::ParseCommandLineOptions(argc, argv, "Turns the recipe of a GPT into a model file for tgpt-opt.\n");
  try {
    return run();
  } catch (const tgpt::RecipeError &error) {
    return fail(error.what());
  }
}
