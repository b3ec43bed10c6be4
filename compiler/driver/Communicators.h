//===- Communicators.h - the communicators that a configuration needs ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before there is a plan: where the model is cut depends on the memory that is left beside
// them. A plan's own count (compiler/report/CommunicatorBytes.h) is no more, but for two
// where tp ranks share key-value heads, which options don't tell.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_DRIVER_COMMUNICATORS_H
#define TGPT_COMPILER_DRIVER_COMMUNICATORS_H

#include "compiler/driver/CompileOptions.h"
#include "cost/cluster/Cluster.h"

namespace tgpt {

/// Of the rank that has most.
cost::CommunicatorCount communicatorsOf(const CompileOptions &options);

} // namespace tgpt

#endif // TGPT_COMPILER_DRIVER_COMMUNICATORS_H
