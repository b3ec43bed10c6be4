//===- ReadCluster.h - the device and links to compile for ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TOOLS_TGPT_OPT_READCLUSTER_H
#define TGPT_TOOLS_TGPT_OPT_READCLUSTER_H

#include "CompileFlags.h"
#include "llvm/Support/LogicalResult.h"

namespace tgpt {

/// The device, its links and the limit of memory, from the cluster file and the flags.
llvm::FailureOr<CompileRequest> withCluster(CompileRequest request);

} // namespace tgpt

#endif // TGPT_TOOLS_TGPT_OPT_READCLUSTER_H
