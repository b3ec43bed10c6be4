//===- TeamMemory.cpp - memory that the processes of a job share ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a machine by the same pages, between machines through a server of each; and a page on which processes agree who
// reports a failure.
//
//===----------------------------------------------------------------------===//
#include "runtime/launch/ProcessTeam.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace tgpt::runtime;

static constexpr double shareSeconds = 60;
static constexpr double reportSeconds = 1.5;

/// A file without a name.
static int madeMemory(size_t bytes) {
  int file = ::memfd_create("tgpt", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0)
    throw Error("cannot make " + std::to_string(bytes) + " bytes of shared memory: " + std::strerror(errno));
  return file;
}

/// On the first rank of the machine, which makes the memory: the file, once all others have it too.
int ProcessTeam::handOutMemory(size_t bytes, Deadline deadline) {
  int file = madeMemory(bytes);
  for (size_t come = 1; come < localRanks.size();) {
    Socket neighbour = acceptOne(door, std::min(deadline, inSeconds(0.2)));
    come += neighbour && isOfThisUser(neighbour) && sendDescriptor(neighbour, file);
    if (std::optional<TeamEnd> end = ended())
      throw TeamEnded(*end);
    if (std::chrono::steady_clock::now() >= deadline)
      throw Error("a process of this machine did not fetch its shared memory");
  }
  return file;
}

int ProcessTeam::fetchMemory(Deadline deadline) {
  Socket first = connectToName(meeting.members[localRanks.front()].door, deadline);
  int file = receiveDescriptor(first, deadline);
  if (std::optional<TeamEnd> end = ended(); end && file < 0)
    throw TeamEnded(*end);
  if (file < 0)
    throw Error("rank " + std::to_string(localRanks.front()) + " did not hand out the shared memory");
  return file;
}

std::span<std::byte> ProcessTeam::shareMemory(size_t bytes) {
  Deadline deadline = inSeconds(shareSeconds);
  bool isFirst = localRanks.front() == identity.rank;
  int file = isFirst ? handOutMemory(bytes, deadline) : fetchMemory(deadline);
  void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED)
    throw Error("cannot map " + std::to_string(bytes) + " bytes of shared memory: " + std::strerror(errno));
  mappings.push_back({static_cast<std::byte *>(memory), bytes});
  return mappings.back();
}

void ProcessTeam::serveMemory(std::span<std::byte> memory) {
  server = std::make_unique<MemoryServer>(memory, std::move(window), meeting.members[identity.rank].key);
}

/// The processes of a machine spread over those of another.
RemoteLinks ProcessTeam::linkMachines(std::span<std::byte> memory, const std::function<bool()> &isOver) const {
  std::map<std::string, std::vector<const Member *>> machines;
  for (const Member &member : meeting.members)
    machines[member.machine].push_back(&member);
  size_t place = std::find(localRanks.begin(), localRanks.end(), identity.rank) - localRanks.begin();
  RemoteLinks links;
  links.byRank.resize(identity.ranks);
  for (const auto &[machine, members] : machines) {
    if (machine == meeting.members[identity.rank].machine)
      continue;
    const Member &host = *members[place % members.size()];
    links.machines.push_back(
        std::make_unique<RemoteMemory>(memory, host.address, static_cast<uint16_t>(host.port), host.key, isOver));
    for (const Member *member : members)
      links.byRank[member->rank] = links.machines.back().get();
  }
  return links;
}

void ProcessTeam::shareReports() {
  auto *page = reinterpret_cast<ReportPage *>(shareMemory(4096).data());
  if (identity.rank == 0)
    reports = page; // the first to speak, also to those that have learned of the page when another is lost meanwhile
  gather("");       // all have it
  reports = page;
}

bool ProcessTeam::mayReport(bool preferred) {
  // Whoever spawned ranks speaks where rank 0 does not.
  if (!reports)
    return identity.rank == 0 || (preferred && !identity.isSpawned);
  Deadline deadline = inSeconds(preferred ? 0 : reportSeconds);
  while (!reports->taken.load() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return reports->taken.exchange(1) == 0;
}

void ProcessTeam::reported() {
  if (reports)
    reports->done.store(1);
}

void ProcessTeam::awaitReport() {
  Deadline deadline = inSeconds(2 * reportSeconds);
  auto isFirstGone = [&] { return identity.rank != 0 && !streamTo(0).isOpen(); };
  while (reports && !reports->done.load() && !isFirstGone() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}
