//===- runtime/training/ProcessMemory.h - what a run takes beside its arenas ------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The resident bytes of a process are those of the plan, and
//
//   kernel workspaces   counted as they are allocated; each thread keeps its own
//   data                pages of the token file that were read
//   constant            by compute dtype: code, libraries, what oneDNN generates; and for
//                       each rank a thread's stack, the bound program, generated code again
//
// Ranks that are processes share their arenas, code and libraries: what is resident of all
// of them together counts such a page once. The constants were measured (docs/memory.md).
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_TRAINING_PROCESSMEMORY_H
#define TGPT_RUNTIME_TRAINING_PROCESSMEMORY_H

#include "runtime/engine/Job.h"
#include "runtime/launch/ProcessTeam.h"

#include <filesystem>
#include <ostream>

namespace tgpt::runtime {

struct ProcessMemory {
  int64_t ranks = 0;
  int64_t processes = 1;
  int64_t plannedBytes = 0;   // of all arenas, but for the workspace that kernels of a device would use
  int64_t workspaceBytes = 0; // of the cpu kernels
  int64_t dataBytes = 0;
  int64_t constantBytes = 0;
  int64_t peakBytes = 0; // resident; of several processes at the end, not the peak; 0 where the system does not say

  int64_t expectedBytes() const { return plannedBytes + workspaceBytes + dataBytes + constantBytes; }
};

/// What a run in this compute dtype takes outside of its plan and workspaces.
int64_t constantProcessBytes(plan::DType compute, int64_t ranks);
/// The same of so many processes of a rank each, code and libraries once.
int64_t constantBytesOfProcesses(plan::DType compute, int64_t processes);
/// Of a rank on a machine with one rank a core: its share.
int64_t reservedRankBytes();

/// Between steps. `data` is the token file; empty: none.
ProcessMemory processMemory(const Job &job, const std::filesystem::path &data);

/// Of all processes of the job together. Collective.
ProcessMemory memoryOfProcesses(const Job &job, const std::filesystem::path &data, ProcessTeam &team);

/// Peaks count from here on, where the system can forget older ones.
void forgetPeakMemory();

/// Prints what is expected, what was measured, and the difference.
void printProcessMemory(const ProcessMemory &memory, std::ostream &out);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_TRAINING_PROCESSMEMORY_H
