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
#include "dialects/dist/Dist.h"
#include "dialects/plan/Plan.h"
#include "dialects/tgpt/Tgpt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/lowering/Passes.h"
#include "passes/memory/Passes.h"
#include "passes/model/Passes.h"
#include "passes/pipeline/Passes.h"
#include "passes/sharding/Passes.h"
#include "passes/training/Passes.h"
#include "llvm/Support/InitLLVM.h"

static void registerPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerSymbolDCEPass();
  mlir::registerPrintOpStatsPass();
  tgpt::registerModelPasses();
  tgpt::registerTrainingPasses();
  tgpt::registerShardingPasses();
  tgpt::registerPipelinePasses();
  tgpt::registerLoweringPasses();
  tgpt::registerMemoryPasses();
}

static constexpr llvm::StringLiteral help = R"(tgpt compiler

Compile a model for 8 ranks and print its memory-cost report:
  tgpt-opt --tp=2 --pp=2 --dp=2 --sp --micro-batches=4 model.mlir -o compiled.bin
See the program of one rank, collectives included:
  tgpt-opt --tp=2 --compile-to=partitioned model.mlir
Run one pass:
  tgpt-opt --tgpt-unroll-layers model.mlir
)";

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, tgpt::TgptDialect, tgpt::dist::DistDialect, tgpt::planir::PlanDialect>();
  registerPasses();
  tgpt::registerCompileFlags();

  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, help, registry);
  tgpt::CompileRequest request = tgpt::readCompileFlags();
  if (request.isRequested || llvm::StringRef(output).ends_with(".bin"))
    return mlir::asMainReturnCode(tgpt::compileFile(registry, input, output, request));
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
