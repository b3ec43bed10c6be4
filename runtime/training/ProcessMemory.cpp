//===- runtime/training/ProcessMemory.cpp - what a run takes beside its arenas --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/ProcessMemory.h"

#include "runtime/kernels/api/Registry.h"
#include "runtime/plan/RankGrid.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

using namespace tgpt::runtime;
using namespace tgpt;

static constexpr int64_t kibibyte = 1024, mebibyte = 1024 * 1024;

int64_t tgpt::runtime::constantProcessBytes(plan::DType compute, int64_t ranks) {
  // Products in f64 are our own; the others are oneDNN's, whose code for f32 is larger than that for bf16.
  int64_t process = compute == plan::F64    ? 23 * mebibyte / 2
                    : compute == plan::BF16 ? 41 * mebibyte / 2
                                            : 23 * mebibyte;
  return process + ranks * 320 * kibibyte;
}

int64_t tgpt::runtime::constantBytesOfProcesses(plan::DType compute, int64_t processes) {
  // Beside its own code and libraries, which all share, a process has what oneDNN generates.
  int64_t shared = compute == plan::F64 ? 13 * mebibyte : 33 * mebibyte / 2;
  int64_t own = compute == plan::F64 ? 100 * kibibyte : compute == plan::BF16 ? 3450 * kibibyte : 6750 * kibibyte;
  return shared + processes * own;
}

int64_t tgpt::runtime::reservedRankBytes() {
  return constantProcessBytes(plan::F32, 1);
}

/// The number of kB behind `key` in a line of a file of /proc; 0 where it is not there.
static int64_t kilobytesOf(const std::string &line, const std::string &key) {
  return line.rfind(key, 0) == 0 ? std::atoll(line.c_str() + key.size()) : 0;
}

/// The first figure behind `key` in a file of /proc/self, in bytes.
static int64_t ownBytes(const std::string &file, const std::string &key) {
  std::ifstream lines("/proc/self/" + file);
  for (std::string line; std::getline(lines, line);)
    if (int64_t kilobytes = kilobytesOf(line, key))
      return kilobytes * kibibyte;
  return 0;
}

/// Of the mappings of a file, what is resident: `key` is "Rss:", or "Pss:" for this process' part of shared pages.
static int64_t residentBytesOf(const std::filesystem::path &file, const std::string &key) {
  std::error_code error;
  std::string path = std::filesystem::canonical(file, error).string();
  if (error)
    return 0;
  int64_t bytes = 0;
  bool isOfFile = false;
  std::ifstream maps("/proc/self/smaps");
  for (std::string line; std::getline(maps, line);) {
    bool isHead = line.find(':') == std::string::npos || line.find(':') > line.find(' ');
    if (isHead)
      isOfFile = line.size() > path.size() && line.compare(line.size() - path.size(), path.size(), path) == 0;
    else if (isOfFile)
      bytes += kilobytesOf(line, key) * kibibyte;
  }
  return bytes;
}

/// Of the arena of a rank: kernels of this process have workspaces of their own, and touch none of it.
static int64_t deviceWorkspaceBytes(const Job &job, int64_t rank) {
  int64_t bytes = 0;
  for (const plan::Region &region :
       job.plan().stages(static_cast<int>(RankGrid(job.plan().mesh()).stageOf(rank))).regions())
    if (region.kind() == plan::Region::WORKSPACE)
      bytes += region.slot_bytes();
  return bytes;
}

ProcessMemory tgpt::runtime::processMemory(const Job &job, const std::filesystem::path &data) {
  ProcessMemory memory;
  memory.ranks = job.ranks();
  for (int64_t rank = 0; rank < job.ranks(); ++rank)
    memory.plannedBytes += job.plannedBytes(rank) - deviceWorkspaceBytes(job, rank);
  memory.workspaceBytes = cpuWorkspaceBytes();
  memory.dataBytes = data.empty() ? 0 : residentBytesOf(data, "Rss:");
  memory.constantBytes = constantProcessBytes(job.plan().training().compute_dtype(), job.ranks());
  memory.peakBytes = ownBytes("status", "VmHWM:");
  return memory;
}

ProcessMemory tgpt::runtime::memoryOfProcesses(const Job &job, const std::filesystem::path &data, ProcessTeam &team) {
  ProcessMemory memory;
  memory.ranks = memory.processes = job.ranks();
  for (int64_t rank = 0; rank < job.ranks(); ++rank)
    memory.plannedBytes += job.plannedBytes(rank) - deviceWorkspaceBytes(job, rank);
  memory.constantBytes = constantBytesOfProcesses(job.plan().training().compute_dtype(), job.ranks());
  team.gather(""); // shared pages are divided among those that have touched them: all have, when all are here
  // Pages of code are divided among all processes of the machine, those of another run too. All ranks have the same.
  std::array<int64_t, 4> own = {cpuWorkspaceBytes(), data.empty() ? 0 : residentBytesOf(data, "Pss:"),
                                ownBytes("smaps_rollup", "Pss_Anon:") + ownBytes("smaps_rollup", "Pss_Shmem:"),
                                ownBytes("status", "RssFile:") - (data.empty() ? 0 : residentBytesOf(data, "Rss:"))};
  bool isKnown = true;
  int64_t codeBytes = 0;
  for (const std::string &bytes : team.gather(std::string(reinterpret_cast<const char *>(own.data()), sizeof own))) {
    std::memcpy(own.data(), bytes.data(), std::min(bytes.size(), sizeof own));
    memory.workspaceBytes += own[0];
    memory.dataBytes += own[1];
    memory.peakBytes += own[1] + own[2];
    codeBytes = std::max(codeBytes, own[3]);
    isKnown &= own[2] > 0;
  }
  memory.peakBytes = isKnown ? memory.peakBytes + codeBytes : 0;
  return memory;
}

void tgpt::runtime::forgetPeakMemory() {
  std::ofstream("/proc/self/clear_refs") << "5\n"; // proc(5); not everywhere allowed
}

static void printLine(std::ostream &out, const std::string &what, int64_t bytes, const std::string &behind = "") {
  char line[160];
  std::snprintf(line, sizeof line, "  %-45s%18lld%s\n", what.c_str(), static_cast<long long>(bytes), behind.c_str());
  out << line;
}

void tgpt::runtime::printProcessMemory(const ProcessMemory &memory, std::ostream &out) {
  bool isOne = memory.processes == 1;
  out << (isOne ? "bytes of the process" : "bytes of " + std::to_string(memory.processes) + " processes") << "\n";
  printLine(out, memory.ranks == 1 ? "planned: the arena" : "planned: " + std::to_string(memory.ranks) + " arenas",
            memory.plannedBytes);
  printLine(out, "kernel workspaces", memory.workspaceBytes);
  if (memory.dataBytes > 0)
    printLine(out, "data that was read", memory.dataBytes);
  printLine(out, "constant: code, libraries, threads", memory.constantBytes);
  printLine(out, "together", memory.expectedBytes());
  if (memory.peakBytes == 0)
    return;
  char difference[32];
  std::snprintf(difference, sizeof difference, "  %+.1f%%",
                100.0 * static_cast<double>(memory.peakBytes - memory.expectedBytes()) /
                    static_cast<double>(memory.expectedBytes()));
  printLine(out, isOne ? "peak resident (RSS)" : "resident, shared pages once", memory.peakBytes, difference);
}
