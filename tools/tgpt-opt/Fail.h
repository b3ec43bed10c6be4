//===- Fail.h - an error of the tool itself ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TOOLS_TGPT_OPT_FAIL_H
#define TGPT_TOOLS_TGPT_OPT_FAIL_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/LogicalResult.h"

namespace tgpt {

/// Prints the message, which names no place in the model.
llvm::LogicalResult fail(const llvm::Twine &message);

} // namespace tgpt

#endif // TGPT_TOOLS_TGPT_OPT_FAIL_H
