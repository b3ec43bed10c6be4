//===- runtime/training/ProcessMemory.cpp - what a run takes beside its arenas --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/training/ProcessMemory.h"

#include "runtime/kernels/api/Registry.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

using namespace tgpt::runtime;
using namespace tgpt;

static constexpr int64_t kibibyte = 1024, mebibyte = 1024 * 1024;

int64_t tgpt::runtime::constantProcessBytes(plan::DType compute, int64_t ranks) {
  // Products in f64 are our own; the others are oneDNN's, whose code for f32 is larger than that for bf16.
  int64_t process = compute == plan::F64 ? 10 * mebibyte : compute == plan::BF16 ? 18 * mebibyte : 21 * mebibyte;
  return process + ranks * 320 * kibibyte;
}

int64_t tgpt::runtime::reservedRankBytes() {
  return constantProcessBytes(plan::F32, 1);
}

/// The number of kB behind `key` in a line of a file of /proc; 0 where it is not there.
static int64_t kilobytesOf(const std::string &line, const std::string &key) {
  return line.rfind(key, 0) == 0 ? std::atoll(line.c_str() + key.size()) : 0;
}

static int64_t peakResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (int64_t kilobytes = kilobytesOf(line, "VmHWM:"))
      return kilobytes * kibibyte;
  return 0;
}

/// Of the mappings of a file, what is resident.
static int64_t residentBytesOf(const std::filesystem::path &file) {
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
      bytes += kilobytesOf(line, "Rss:") * kibibyte;
  }
  return bytes;
}

ProcessMemory tgpt::runtime::processMemory(const Job &job, const std::filesystem::path &data) {
  ProcessMemory memory;
  memory.ranks = job.ranks();
  for (int64_t rank = 0; rank < job.ranks(); ++rank)
    memory.plannedBytes += job.plannedBytes(rank);
  memory.workspaceBytes = cpuWorkspaceBytes();
  memory.dataBytes = data.empty() ? 0 : residentBytesOf(data);
  memory.constantBytes = constantProcessBytes(job.plan().training().compute_dtype(), job.ranks());
  memory.peakBytes = peakResidentBytes();
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
  out << "bytes of the process\n";
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
  printLine(out, "peak resident (RSS)", memory.peakBytes, difference);
}
