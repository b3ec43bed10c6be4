//===- CommunicatorBytes.h - what a plan's communicators take of a device ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_COMPILER_REPORT_COMMUNICATORBYTES_H
#define TGPT_COMPILER_REPORT_COMMUNICATORBYTES_H

#include "compiler/report/MemoryReport.h"
#include "cost/cluster/Cluster.h"
#include "runtime/plan/RankCommunicators.h"

namespace tgpt {

using runtime::communicatorsOf;

/// What the communicators of the rank with most of them take; `source` says where the figures are from.
OutsideBytes communicatorBytes(const plan::Plan &plan, const cost::CommunicatorMemory &memory,
                               const std::string &source);

} // namespace tgpt

#endif // TGPT_COMPILER_REPORT_COMMUNICATORBYTES_H
