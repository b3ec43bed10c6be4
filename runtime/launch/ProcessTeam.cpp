//===- ProcessTeam.cpp - the processes of a job, seen from one of them -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/launch/ProcessTeam.h"

#include <climits>
#include <cstdio>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <random>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace tgpt::runtime;

/// How often processes say that they are alive.
static constexpr double signSeconds = 1;

static std::string endText(const TeamEnd &end) {
  std::string who = "rank " + std::to_string(end.rank) + ": ";
  switch (end.kind) {
  case TeamEnd::Kind::Lost: return who + "its process has ended without a word (killed, or out of memory)";
  case TeamEnd::Kind::Silent: return who + "its process does not answer (suspended, or its machine is gone)";
  case TeamEnd::Kind::Failed: return who + end.text;
  case TeamEnd::Kind::Told: return end.text;
  }
  return who;
}

TeamEnded::TeamEnded(const TeamEnd &end) : Error(endText(end)), end(end) {}

static std::string hostName() {
  char name[HOST_NAME_MAX + 1] = "";
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

/// Processes with the same running kernel and the same network name space reach each other by name.
static std::string machineName() {
  char boot[64] = "", space[64] = "";
  if (int file = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC); file >= 0) {
    ssize_t ignored = ::read(file, boot, sizeof(boot) - 1);
    static_cast<void>(ignored);
    ::close(file);
  }
  ssize_t ignored = ::readlink("/proc/self/ns/net", space, sizeof(space) - 1);
  static_cast<void>(ignored);
  return std::string(boot) + space;
}

static std::string doorName() {
  std::random_device random;
  char name[64];
  std::snprintf(name, sizeof(name), "tgpt-%d-%08x%08x", static_cast<int>(::getpid()), random(), random());
  return name;
}

ProcessTeam::ProcessTeam(const RankIdentity &given, Member own, const MeetingOptions &options, double silenceSeconds)
    : identity(given), silenceSeconds(silenceSeconds), hasLeft(given.ranks) {
  own.host = hostName();
  own.door = doorName();
  if (own.machine.empty())
    own.machine = machineName();
  door = listenOnName(own.door);
  window = listenOnPort(0);
  own.port = portOf(window);
  own.key = doorName();
  meeting = meet(identity, own, options);
  findNeighbours();
  wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  lastLook = std::chrono::steady_clock::now();
  thread = std::thread([this] { serve(); });
}

ProcessTeam::~ProcessTeam() {
  stopping.store(true);
  uint64_t one = 1;
  ssize_t ignored = ::write(wake, &one, sizeof(one));
  static_cast<void>(ignored);
  thread.join();
  server.reset();
  for (std::unique_ptr<FrameStream> &stream : meeting.streams)
    if (stream && stream->isOpen())
      stream->send(FrameKind::Leave, "");
  ::close(wake);
  for (std::span<std::byte> mapping : mappings)
    ::munmap(mapping.data(), mapping.size());
}

void ProcessTeam::findNeighbours() {
  const std::string &machine = meeting.members[identity.rank].machine;
  for (const Member &member : meeting.members)
    if (member.machine == machine)
      localRanks.push_back(member.rank);
  if (isOnOneMachine())
    window.close();
}

std::vector<std::string> ProcessTeam::gather(const std::string &own, double pollSeconds,
                                             const std::function<bool()> &goOn) {
  int64_t number = gathers++;
  if (identity.rank == 0)
    takePart(0, number, own);
  else
    streamTo(0).send(FrameKind::Part, FieldWriter().add(number).add(own).bytes());
  std::unique_lock lock(mutex);
  while (!open[number].isWhole) {
    if (theEnd)
      throw TeamEnded(*theEnd);
    auto seconds = std::chrono::duration<double>(pollSeconds);
    if (changed.wait_for(lock, seconds) != std::cv_status::timeout || !goOn)
      continue;
    lock.unlock();
    if (!goOn())
      return {};
    lock.lock();
  }
  std::vector<std::string> all = std::move(open[number].parts);
  open.erase(number);
  return all;
}

std::vector<int64_t> ProcessTeam::missing() const {
  if (identity.rank != 0)
    return {0};
  std::lock_guard lock(mutex);
  std::vector<int64_t> ranks;
  if (auto found = open.find(gathers - 1); found != open.end())
    for (int64_t rank = 0; rank < identity.ranks; ++rank)
      if (!found->second.hasCome[rank])
        ranks.push_back(rank);
  return ranks;
}

/// On rank 0, from any thread.
void ProcessTeam::takePart(int64_t rank, int64_t number, std::string part) {
  FieldWriter all;
  {
    std::lock_guard lock(mutex);
    Gather &gather = open[number];
    gather.parts.resize(identity.ranks);
    gather.hasCome.resize(identity.ranks);
    gather.parts[rank] = std::move(part);
    gather.hasCome[rank] = true;
    if (++gather.come < identity.ranks)
      return;
    all.add(number);
    for (const std::string &bytes : gather.parts)
      all.add(bytes);
    gather.isWhole = true;
  }
  for (int64_t other = 1; other < identity.ranks; ++other)
    streamTo(other).send(FrameKind::All, all.bytes());
  changed.notify_all();
}

void ProcessTeam::handle(int64_t rank, const Frame &frame) {
  FieldReader fields(frame.body);
  if (frame.kind == FrameKind::Part && identity.rank == 0) {
    int64_t number = fields.number();
    return takePart(rank, number, fields.text());
  }
  if (frame.kind == FrameKind::All && identity.rank != 0) {
    std::lock_guard lock(mutex);
    Gather &gather = open[fields.number()];
    for (int64_t i = 0; i < identity.ranks; ++i)
      gather.parts.push_back(fields.text());
    gather.isWhole = true;
    changed.notify_all();
  }
  if (frame.kind == FrameKind::End) {
    TeamEnd told;
    told.kind = static_cast<TeamEnd::Kind>(fields.number());
    told.rank = fields.number();
    told.text = fields.text();
    end(told);
  }
  if (frame.kind == FrameKind::Leave) {
    std::lock_guard lock(mutex);
    hasLeft[rank] = true;
  }
}

/// The first end counts; rank 0 tells all others.
void ProcessTeam::end(const TeamEnd &end) {
  {
    std::lock_guard lock(mutex);
    if (theEnd)
      return;
    theEnd = end;
    changed.notify_all();
  }
  std::string body = FieldWriter().add(static_cast<int64_t>(end.kind)).add(end.rank).add(end.text).bytes();
  if (identity.rank == 0)
    for (int64_t other = 1; other < identity.ranks; ++other)
      if (streamTo(other).isOpen())
        streamTo(other).send(FrameKind::End, body);
  std::lock_guard lock(calling);
  if (callback)
    std::exchange(callback, nullptr)(end);
}

void ProcessTeam::fail(const std::string &text, TeamEnd::Kind kind) {
  TeamEnd own{kind, identity.rank, text};
  {
    std::lock_guard lock(mutex);
    if (theEnd)
      return;
  }
  onEnd(nullptr); // it knows
  if (identity.rank == 0)
    return end(own);
  streamTo(0).send(FrameKind::End, FieldWriter().add(static_cast<int64_t>(own.kind)).add(own.rank).add(text).bytes());
}

void ProcessTeam::onEnd(std::function<void(const TeamEnd &)> given) {
  std::lock_guard lock(calling);
  callback = std::move(given);
  std::optional<TeamEnd> already = ended();
  if (already && callback)
    std::exchange(callback, nullptr)(*already);
}

std::optional<TeamEnd> ProcessTeam::ended() const {
  std::lock_guard lock(mutex);
  return theEnd;
}

void ProcessTeam::readFrom(int64_t rank, FrameStream &stream) {
  bool isOpen = stream.receive();
  while (std::optional<Frame> frame = stream.next())
    handle(rank, *frame);
  if (isOpen)
    return;
  stream.close();
  bool left;
  {
    std::lock_guard lock(mutex);
    left = hasLeft[rank];
  }
  if (!left)
    end({TeamEnd::Kind::Lost, rank, ""});
}

/// Says that this process is alive, and looks who has not said so.
void ProcessTeam::checkSigns() {
  using Seconds = std::chrono::duration<double>;
  auto now = std::chrono::steady_clock::now();
  bool wasSuspended = Seconds(now - lastLook).count() > 3 * signSeconds; // perhaps with all others
  lastLook = now;
  for (int64_t rank = 0; rank < identity.ranks; ++rank) {
    if (rank == identity.rank || (identity.rank != 0 && rank != 0) || !streamTo(rank).isOpen())
      continue;
    FrameStream &stream = streamTo(rank);
    if (wasSuspended)
      stream.lastHeard = now;
    else if (Seconds(now - stream.lastHeard).count() > silenceSeconds)
      end({TeamEnd::Kind::Silent, rank, ""});
    stream.send(FrameKind::Sign, "");
  }
}

void ProcessTeam::serve() {
  ::pthread_setname_np(::pthread_self(), "team");
  std::vector<pollfd> entries;
  while (!stopping.load()) {
    entries.assign(1, {wake, POLLIN, 0});
    for (std::unique_ptr<FrameStream> &stream : meeting.streams)
      entries.push_back({stream && stream->isOpen() ? stream->descriptor() : -1, POLLIN, 0});
    ::poll(entries.data(), entries.size(), static_cast<int>(1e3 * signSeconds / 2));
    for (size_t i = 0; i < meeting.streams.size(); ++i)
      if (entries[i + 1].revents)
        readFrom(static_cast<int64_t>(i), *meeting.streams[i]);
    if (std::chrono::steady_clock::now() - lastLook > std::chrono::duration<double>(signSeconds))
      checkSigns();
  }
}
