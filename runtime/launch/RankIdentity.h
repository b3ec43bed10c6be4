//===- RankIdentity.h - which rank a process is -----------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launchers say it in the environment: torchrun, srun of Slurm, mpirun of OpenMPI, and
// tgpt-run itself, which speaks as torchrun does.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_LAUNCH_RANKIDENTITY_H
#define TGPT_RUNTIME_LAUNCH_RANKIDENTITY_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tgpt::runtime {

/// How ranks are started. Detect: as processes where the environment is a launcher's, else as threads.
enum class LaunchKind { Detect, Threads, Spawn, Mpi, Torchrun, Slurm };

struct RankIdentity {
  int64_t rank = 0;
  int64_t ranks = 1;
  int64_t localRank = 0;    // among those of its machine
  std::string address = {}; // where rank 0 listens
  uint16_t port = 0;
  bool isSpawned = false;      // by spawnRanks()
  int listener = -1;           // rank 0: a socket that listens there already; -1: none
  std::string sizeSource = {}; // what `ranks` is from, for messages: "WORLD_SIZE", "SLURM_NTASKS"
};

/// The value of an environment variable, or null.
using Environment = std::function<const char *(const char *name)>;

/// Nothing: ranks are threads. Throws Error where the environment says it by half, against itself, or not at all
/// though `kind` asks for it. Spawn is for the processes that were spawned.
std::optional<RankIdentity> identifyRank(LaunchKind kind, const Environment &environment);

/// Whether this process was started by spawnRanks().
bool isSpawned(const Environment &environment);

/// The first host of a Slurm list: "node[07-09,12],login" is node07.
std::string firstHost(const std::string &list);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_LAUNCH_RANKIDENTITY_H
