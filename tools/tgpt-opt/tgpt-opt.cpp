//===- tgpt-opt.cpp - run single passes, or compile a model into a plan ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without compile flags an opt tool like mlir-opt: passes by flag, IR to stdout.
// With --tp, --pp, --dp, ... it runs the whole pipeline.
//
//===----------------------------------------------------------------------===//

#include "Compile.h"
#include "CompileFlags.h"
#include "WrapHelp.h"
#include "dialects/dist/Dist.h"
#include "dialects/plan/Plan.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/AllPasses.h"
#include "passes/PassStatistic.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

static void registerPasses() {
  tgpt::registerAllPasses();
  mlir::registerSymbolDCEPass();
  mlir::registerPrintOpStatsPass();
}

static constexpr llvm::StringLiteral help = R"(compiles a GPT into a plan for many ranks, or runs single passes on IR

Compile a model for 8 ranks and print the memory that each of them needs:
  tgpt-opt --tp=2 --pp=2 --dp=2 --sp --micro-batches=4 model.mlir -o compiled.bin
See the program of one rank, collectives included:
  tgpt-opt --tp=2 --compile-to=partitioned model.mlir
See which pipeline stage does what when:
  tgpt-opt --pp=4 --schedule=zero-bubble --micro-batches=8 --print-schedule model.mlir
Watch every pass at work:
  tgpt-opt --tp=2 --mlir-print-ir-after-all model.mlir -o compiled.bin
Run one pass:
  tgpt-opt --tgpt-unroll-layers model.mlir

A file named *.bin gets the compiled plan, *.mlirbc bytecode, any other name (and stdout) the IR as text.
Models come from tgpt-import; compiled.bin is trained by tgpt-run.
)";

/// What libLLVM brings along (code generators, debug info, Polly) is of no use here: only --help-hidden lists it.
/// Call before the options of tgpt-opt are registered.
static void hideOptionsOfLLVM() {
  for (auto &entry : llvm::cl::getRegisteredOptions())
    if (entry.first != "help" && entry.first != "version")
      entry.second->setHiddenFlag(llvm::cl::Hidden);
}

static void printVersion(llvm::raw_ostream &out) {
  out << "tgpt-opt " TGPT_VERSION ", MLIR " LLVM_VERSION_STRING "\n";
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  hideOptionsOfLLVM();
  llvm::cl::SetVersionPrinter(printVersion);
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, tgpt::TgptDialect, tgpt::dist::DistDialect, tgpt::planir::PlanDialect>();
  registerPasses();
  tgpt::registerCompileFlags();
  llvm::cl::opt<bool> printStatistics("tgpt-pass-statistics",
                                      llvm::cl::desc("Print what each pass did and declined, to stderr"));

  std::string header = mlir::registerCLIOptions(help, registry);
  tgpt::wrapHelp();
  auto [input, output] = mlir::parseCLIOptions(argc, argv, header);
  tgpt::CompileRequest request = tgpt::readCompileFlags();
  bool isCompilation = request.isRequested || llvm::StringRef(output).ends_with(".bin");
  mlir::LogicalResult result = isCompilation ? tgpt::compileFile(registry, input, output, request)
                                             : mlir::MlirOptMain(argc, argv, input, output, registry);
  if (printStatistics)
    tgpt::printPassStatistics(llvm::errs());
  return mlir::asMainReturnCode(result);
}
