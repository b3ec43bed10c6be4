//===- CheckRequest.h - whether the flags make sense together ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TOOLS_TGPT_OPT_CHECKREQUEST_H
#define TGPT_TOOLS_TGPT_OPT_CHECKREQUEST_H

#include "CompileFlags.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"

namespace tgpt {

/// Refuses flags with values that none of the phases takes, with the nearest legal ones.
llvm::LogicalResult checkRequest(const CompileRequest &request, llvm::StringRef output);

} // namespace tgpt

#endif // TGPT_TOOLS_TGPT_OPT_CHECKREQUEST_H
