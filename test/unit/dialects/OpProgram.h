//===- OpProgram.h - a program in which every op occurs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_DIALECTS_OPPROGRAM_H
#define TGPT_TEST_UNIT_DIALECTS_OPPROGRAM_H

#include "dialects/tgpt/Tgpt.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tgpt::test {

/// One function with every computing op of the dialect once, on the sizes below,
/// all of them different so that no formula can mistake one for another.
class OpProgram {
public:
  static constexpr int64_t batch = 2, sequence = 5, width = 24, features = 7, vocabulary = 11;
  static constexpr int64_t headDim = 4, queryHeads = 6, keyHeads = 3, tokens = batch * sequence;

  OpProgram();

  mlir::MLIRContext *context() { return &mlirContext; }
  mlir::ModuleOp module() { return *parsed; }
  /// The op `tgpt.<mnemonic>` whose `label` attribute is `label`.
  mlir::Operation *find(llvm::StringRef mnemonic, llvm::StringRef label = "");
  /// All ops of the interface, in program order.
  template <typename Interface> llvm::SmallVector<Interface> all() {
    llvm::SmallVector<Interface> ops;
    module()->walk([&](Interface op) { ops.push_back(op); });
    return ops;
  }

private:
  mlir::MLIRContext mlirContext;
  mlir::OwningOpRef<mlir::ModuleOp> parsed;
};

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_DIALECTS_OPPROGRAM_H
