//===- RankIdentity.cpp - which rank a process is ---------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table of the names that each launcher uses. One launcher may start another (srun an
// mpirun, or torchrun): the innermost counts, and it comes first in the table.
//
//===----------------------------------------------------------------------===//
#include "runtime/launch/RankIdentity.h"
#include "runtime/plan/Error.h"

#include <charconv>
#include <cstring>

using namespace tgpt::runtime;

namespace {
struct Launcher {
  LaunchKind kind;
  const char *name;
  const char *rank, *size, *localRank;
  const char *onlyIf; // set by this launcher, and by nothing that merely surrounds it; null: `size`
};
} // namespace

static constexpr Launcher launchers[] = {
    {LaunchKind::Mpi, "mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", nullptr},
    {LaunchKind::Torchrun, "torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_RANK"},
    {LaunchKind::Slurm, "srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_ID"},
};

/// Where ports of jobs that name none begin, and how many there are: below what kernels hand out by themselves.
static constexpr uint32_t firstPort = 20000, portCount = 12000;

bool tgpt::runtime::isSpawned(const Environment &environment) {
  return environment("TGPT_SPAWNED") != nullptr;
}

static int64_t numberOf(const Environment &environment, const char *name, int64_t least, int64_t most) {
  const char *text = environment(name);
  int64_t value = 0;
  const char *end = text + std::strlen(text);
  auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < least || value > most)
    throw Error(std::string(name) + " is '" + text + "' in the environment, expected a number from " +
                std::to_string(least) + " to " + std::to_string(most));
  return value;
}

/// All three of rank, size and local rank, or an error that names what is missing.
static RankIdentity ranksOf(const Launcher &launcher, const Environment &environment) {
  std::string present, missing;
  for (const char *name : {launcher.rank, launcher.size, launcher.localRank}) {
    std::string &list = environment(name) ? present : missing;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  if (!missing.empty())
    throw Error("the environment of " + std::string(launcher.name) + " is " +
                (present.empty() ? "not there: " : "there by half: " + present + ", but not ") + missing +
                (present.empty() ? " are not set" : ""));
  RankIdentity identity;
  identity.sizeSource = launcher.size;
  identity.ranks = numberOf(environment, launcher.size, 1, 1 << 20);
  identity.rank = numberOf(environment, launcher.rank, 0, 1 << 20);
  if (identity.rank >= identity.ranks)
    throw Error(std::string(launcher.rank) + " is " + std::to_string(identity.rank) + ", but " + launcher.size +
                " is " + std::to_string(identity.ranks) + ": ranks count from 0 to " +
                std::to_string(identity.ranks - 1));
  identity.localRank = numberOf(environment, launcher.localRank, 0, identity.ranks - 1);
  return identity;
}

/// RANK and WORLD_SIZE are anybody's names: beside another launcher's they must say the same.
static void checkAgainst(const Launcher &used, const Environment &environment, const RankIdentity &identity) {
  for (auto [name, value, source] :
       {std::tuple("RANK", identity.rank, used.rank), std::tuple("WORLD_SIZE", identity.ranks, used.size)})
    if (used.kind != LaunchKind::Torchrun && environment(name) && numberOf(environment, name, 0, 1 << 20) != value)
      throw Error(std::string(name) + " is " + environment(name) + " in the environment, but " + source + " is " +
                  std::to_string(value) + ": unset one of them, or say which counts with --launch");
}

static uint16_t portFrom(const char *text) {
  uint32_t hash = 2166136261u;
  for (; *text; ++text)
    hash = (hash ^ static_cast<uint8_t>(*text)) * 16777619u;
  return static_cast<uint16_t>(firstPort + hash % portCount);
}

/// A name of the job that all of its ranks have; null: none is known.
static const char *jobName(LaunchKind kind, const Environment &environment) {
  if (kind == LaunchKind::Slurm)
    return environment("SLURM_JOB_ID");
  if (kind == LaunchKind::Mpi)
    for (const char *name : {"OMPI_MCA_orte_hnp_uri", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"})
      if (environment(name))
        return environment(name);
  return nullptr;
}

static std::string defaultAddress(const Launcher &launcher, const Environment &environment) {
  if (launcher.kind == LaunchKind::Slurm)
    for (const char *name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"})
      if (environment(name))
        return firstHost(environment(name));
  const char *local = environment("OMPI_COMM_WORLD_LOCAL_SIZE"), *all = environment("OMPI_COMM_WORLD_SIZE");
  if (launcher.kind == LaunchKind::Mpi && local && all && std::strcmp(local, all) == 0)
    return "127.0.0.1";
  return "";
}

static void addMeetingPoint(const Launcher &launcher, const Environment &environment, RankIdentity &identity) {
  const char *address = environment("MASTER_ADDR"), *port = environment("MASTER_PORT");
  identity.address = address ? address : defaultAddress(launcher, environment);
  const char *job = jobName(launcher.kind, environment);
  if (identity.address.empty() || (!port && !job))
    throw Error("the environment of " + std::string(launcher.name) + " does not say where ranks meet: set " +
                (identity.address.empty() ? "MASTER_ADDR (the host of rank 0)" : "") +
                (identity.address.empty() && !port && !job ? " and " : "") +
                (!port && !job ? "MASTER_PORT (a free port there)" : ""));
  identity.port = port ? static_cast<uint16_t>(numberOf(environment, "MASTER_PORT", 1, 65535)) : portFrom(job);
  // torchrun keeps a store of its own on that port.
  const char *agent = environment("TORCHELASTIC_USE_AGENT_STORE");
  if (launcher.kind == LaunchKind::Torchrun && agent && std::strcmp(agent, "True") == 0)
    identity.port = static_cast<uint16_t>(identity.port == 65535 ? 65534 : identity.port + 1);
  identity.isSpawned = isSpawned(environment);
  if (const char *listener = environment("TGPT_LISTENER"); listener && isSpawned(environment) && identity.rank == 0)
    identity.listener = static_cast<int>(numberOf(environment, "TGPT_LISTENER", 0, 1 << 20));
}

std::optional<RankIdentity> tgpt::runtime::identifyRank(LaunchKind kind, const Environment &environment) {
  if (kind == LaunchKind::Threads)
    return std::nullopt;
  if (isSpawned(environment))
    kind = LaunchKind::Torchrun;
  for (const Launcher &launcher : launchers) {
    if (kind == LaunchKind::Detect && !environment(launcher.onlyIf ? launcher.onlyIf : launcher.size))
      continue;
    if (kind != LaunchKind::Detect && kind != launcher.kind)
      continue;
    RankIdentity identity = ranksOf(launcher, environment);
    if (kind == LaunchKind::Detect)
      checkAgainst(launcher, environment, identity);
    addMeetingPoint(launcher, environment, identity);
    return identity;
  }
  if (kind == LaunchKind::Detect && environment("RANK") && environment("WORLD_SIZE"))
    throw Error("the environment of torchrun is there by half: RANK, WORLD_SIZE, but not LOCAL_RANK; set it, or run "
                "ranks as threads with --launch=threads");
  return std::nullopt;
}

std::string tgpt::runtime::firstHost(const std::string &list) {
  size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket)
    return list.substr(0, comma);
  size_t end = list.find_first_of(",-]", bracket + 1);
  size_t close = list.find(']', bracket);
  if (close == std::string::npos)
    return list.substr(0, bracket);
  size_t after = list.find(',', close);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1) +
         list.substr(close + 1, after == std::string::npos ? after : after - close - 1);
}
