//===- SpawnRanks.h - starts a process for every rank -----------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_LAUNCH_SPAWNRANKS_H
#define TGPT_RUNTIME_LAUNCH_SPAWNRANKS_H

#include "runtime/plan/Error.h"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace tgpt::runtime {

/// Runs this program once for each rank, on this machine, with the same arguments, and returns the exit code of the
/// first that ended with another than 0. Output is rank 0's; what others write to stderr goes to `errors`, a line at a
/// time, with their rank before it. SIGINT and SIGTERM are passed on. When a process ends before its time the others
/// are given a few seconds to say so, then killed. None of them outlives this call, or this process.
int spawnRanks(int64_t ranks, const std::vector<std::string> &arguments, std::ostream &errors);

/// Of a process that spawnRanks() started: an error that another rank should print. If none does, and none was killed,
/// spawnRanks() throws that of the first process that ended.
void leaveUnsaid(const Error &error, std::ostream &errors);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_LAUNCH_SPAWNRANKS_H
