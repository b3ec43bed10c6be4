//===- OptionRange.h - is a number given to a pass in its range? ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_PASSES_TRAINING_OPTIONRANGE_H
#define TGPT_PASSES_TRAINING_OPTIONRANGE_H

#include "mlir/IR/Operation.h"
#include "llvm/Support/Format.h"

namespace tgpt {

/// Says on `op` "initial is -1, expected a value above 0" where the option is not legal.
inline llvm::LogicalResult checkOption(mlir::Operation *op, bool isLegal, llvm::StringRef name, double value,
                                       llvm::StringRef range) {
  if (isLegal)
    return llvm::success();
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return op->emitError() << name << " is " << text << ", expected " << range;
}

} // namespace tgpt

#endif // TGPT_PASSES_TRAINING_OPTIONRANGE_H
