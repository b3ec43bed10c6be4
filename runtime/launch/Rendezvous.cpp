//===- Rendezvous.cpp - all ranks of a job find each other ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/launch/Rendezvous.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdio>
#include <netinet/in.h>
#include <poll.h>
#include <sstream>
#include <sys/socket.h>

using namespace tgpt::runtime;

/// Changes with the messages: processes of different versions do not understand each other.
static constexpr int64_t protocolVersion = 2;
static constexpr size_t mostHelloBytes = 1 << 16;
static constexpr double pollSeconds = 0.2;
/// Ranks give rank 0 the time to say what is wrong.
static constexpr double refusalSeconds = 10;

static std::string encode(const Member &member) {
  FieldWriter fields;
  fields.add(protocolVersion).add(member.rank).add(member.ranks).add(member.plan).add(member.options);
  fields.add(member.host).add(member.machine).add(member.door).add(member.address).add(member.port).add(member.key);
  return fields.bytes();
}

/// A member whose ranks are 0: not one.
static Member decode(const std::string &bytes) {
  FieldReader fields(bytes);
  Member member;
  if (fields.number() != protocolVersion)
    return member;
  member.rank = fields.number(), member.ranks = fields.number();
  member.plan = fields.text(), member.options = fields.text();
  member.host = fields.text(), member.machine = fields.text();
  member.door = fields.text(), member.address = fields.text();
  member.port = fields.number();
  member.key = fields.text();
  return fields.isGood() ? member : Member();
}

static std::string secondsText(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g s", seconds);
  return text;
}

static std::string rankText(const Member &member) {
  return "rank " + std::to_string(member.rank) + " (" + member.host + ")";
}

/// The first option that is different, or was given to one of the two alone.
static std::string differentOption(const Member &first, const Member &other) {
  std::istringstream ours(first.options), theirs(other.options);
  std::string a, b;
  while (true) {
    bool hasA = static_cast<bool>(std::getline(ours, a)), hasB = static_cast<bool>(std::getline(theirs, b));
    if (!hasA && !hasB)
      return {};
    if (!hasA || !hasB || a != b)
      return rankText(other) + " was started with " + (hasB ? b : "fewer options") + ", rank 0 with " +
             (hasA ? a : "fewer options");
  }
}

/// "3, 5-7"
static std::string listText(const std::vector<int64_t> &ranks) {
  std::string text;
  for (size_t i = 0, next; i < ranks.size(); i = next) {
    for (next = i + 1; next < ranks.size() && ranks[next] == ranks[next - 1] + 1;)
      ++next;
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
    if (next > i + 1)
      text += "-" + std::to_string(ranks[next - 1]);
  }
  return text;
}

static Socket listenAt(const RankIdentity &identity) try {
  return identity.listener >= 0 ? Socket(identity.listener) : listenOnPort(identity.port);
} catch (const Error &error) {
  throw Error(std::string(error.what()) + "; set MASTER_PORT to a free port");
}

static Socket connectToFirst(const RankIdentity &identity, double seconds, Deadline deadline) try {
  return connectTo(identity.address, identity.port, deadline);
} catch (const Error &error) {
  throw Refused("rank " + std::to_string(identity.rank) + " did not reach rank 0 within " + secondsText(seconds) +
                    ": " + error.what(),
                !identity.isSpawned);
}

namespace {
/// Rank 0 while the others come.
class Reception {
public:
  Reception(const RankIdentity &identity, const Member &own, const MeetingOptions &options)
      : identity(identity), options(options), deadline(inSeconds(options.seconds)), listener(listenAt(identity)) {
    meeting.members.resize(identity.ranks);
    meeting.streams.resize(identity.ranks);
    meeting.members[0] = own;
  }

  Meeting receiveAll() {
    while (come + 1 < identity.ranks) {
      if (std::chrono::steady_clock::now() >= deadline)
        refuse(lateText());
      if (options.stopRequested && options.stopRequested())
        tellAll(Interrupted().what()), throw Interrupted();
      look();
    }
    welcome();
    return std::move(meeting);
  }

private:
  void look();
  void take(std::unique_ptr<FrameStream> stream, const Member &member);
  std::string problemWith(const Member &member) const;
  std::string lateText() const;
  void welcome();
  void tellAll(const std::string &text, FrameStream *toBlame = nullptr);
  [[noreturn]] void noteGone(const Member &member);
  [[noreturn]] void refuse(const std::string &text, FrameStream *toBlame = nullptr);

  const RankIdentity &identity;
  const MeetingOptions &options;
  Deadline deadline;
  Socket listener;
  Meeting meeting;
  int64_t come = 0;
  std::vector<std::unique_ptr<FrameStream>> unknown; // connected, and yet to say who they are
};
} // namespace

/// Waits a moment for whatever happens next.
void Reception::look() {
  std::vector<pollfd> entries = {{listener.get(), POLLIN, 0}};
  for (const std::unique_ptr<FrameStream> &stream : unknown)
    entries.push_back({stream->descriptor(), POLLIN, 0});
  for (const std::unique_ptr<FrameStream> &stream : meeting.streams)
    if (stream)
      entries.push_back({stream->descriptor(), POLLIN, 0});
  ::poll(entries.data(), entries.size(), pollMilliseconds(std::min(deadline, inSeconds(pollSeconds))));

  while (Socket connection = acceptOne(listener, Deadline()))
    unknown.push_back(std::make_unique<FrameStream>(std::move(connection), mostHelloBytes));
  for (std::unique_ptr<FrameStream> &stream : unknown) {
    bool isOpen = stream->receive();
    std::optional<Frame> frame = stream->next();
    Member member = frame && frame->kind == FrameKind::Hello ? decode(frame->body) : Member();
    if (member.ranks > 0)
      take(std::move(stream), member);
    else if (frame || !isOpen)
      stream.reset(); // a stranger
  }
  std::erase(unknown, nullptr);
  for (int64_t rank = 1; rank < identity.ranks; ++rank)
    if (meeting.streams[rank] && !meeting.streams[rank]->receive())
      noteGone(meeting.members[rank]);
}

std::string Reception::problemWith(const Member &member) const {
  const Member &first = meeting.members[0];
  if (member.ranks != identity.ranks)
    return rankText(member) + " was started as one of " + std::to_string(member.ranks) + " ranks, rank 0 as one of " +
           std::to_string(identity.ranks);
  if (member.rank < 0 || member.rank >= identity.ranks)
    return rankText(member) + " is not one of the ranks 0 to " + std::to_string(identity.ranks - 1);
  if (member.rank == 0 || meeting.streams[member.rank])
    return "there are two processes of rank " + std::to_string(member.rank) + ": on " +
           meeting.members[member.rank].host + " and on " + member.host;
  if (member.plan != first.plan)
    return rankText(member) + " runs another plan than rank 0 (checksum " + member.plan + ", not " + first.plan + ")";
  return differentOption(first, member);
}

void Reception::take(std::unique_ptr<FrameStream> stream, const Member &member) {
  std::string problem = problemWith(member);
  if (!problem.empty())
    refuse(problem, stream.get());
  meeting.members[member.rank] = member;
  stream->allow(size_t(1) << 30);
  meeting.streams[member.rank] = std::move(stream);
  ++come;
}

std::string Reception::lateText() const {
  std::vector<int64_t> missing;
  for (int64_t rank = 1; rank < identity.ranks; ++rank)
    if (!meeting.streams[rank])
      missing.push_back(rank);
  return (missing.size() == 1 ? "rank " : "ranks ") + listText(missing) + " of " + std::to_string(identity.ranks) +
         " did not come to rank 0 (" + meeting.members[0].host + ", port " + std::to_string(portOf(listener)) +
         ") within " + secondsText(options.seconds);
}

void Reception::welcome() {
  FieldWriter all;
  for (const Member &member : meeting.members)
    all.add(encode(member));
  for (int64_t rank = 1; rank < identity.ranks; ++rank)
    meeting.streams[rank]->send(FrameKind::Welcome, all.bytes()); // who is gone by now will be missed soon
}

void Reception::tellAll(const std::string &text, FrameStream *toBlame) {
  if (toBlame)
    toBlame->send(FrameKind::Refusal, FieldWriter().add(text).add(1).bytes());
  for (const std::unique_ptr<FrameStream> &stream : meeting.streams)
    if (stream)
      stream->send(FrameKind::Refusal, FieldWriter().add(text).add(0).bytes());
  // Perhaps ranks as well, that were about to say so.
  for (const std::unique_ptr<FrameStream> &stream : unknown)
    if (stream)
      stream->send(FrameKind::Refusal, FieldWriter().add(text).add(0).bytes());
}

/// Whoever spawned ranks knows which ended first, and how.
void Reception::noteGone(const Member &member) {
  std::string text = rankText(member) + " has ended before all ranks had come";
  tellAll(text);
  if (identity.isSpawned)
    throw Refused(text, false);
  throw Error(text);
}

void Reception::refuse(const std::string &text, FrameStream *toBlame) {
  tellAll(text, toBlame);
  throw Error(text);
}

static std::string ownAddress(const FrameStream &stream) {
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  char text[INET_ADDRSTRLEN] = "";
  ::getsockname(stream.descriptor(), reinterpret_cast<sockaddr *>(&address), &length);
  ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text));
  return text;
}

static Meeting come(const RankIdentity &identity, Member own, const MeetingOptions &options) {
  Deadline deadline = inSeconds(options.seconds);
  std::string where = "rank 0 at " + identity.address + ":" + std::to_string(identity.port);
  Meeting meeting;
  meeting.streams.push_back(std::make_unique<FrameStream>(connectToFirst(identity, options.seconds, deadline)));
  FrameStream &stream = *meeting.streams[0];
  own.address = ownAddress(stream);
  bool sent = stream.send(FrameKind::Hello, encode(own));
  std::optional<Frame> frame;
  // Rank 0 waits for others as long, and then has to say so.
  Deadline last = deadline + std::chrono::milliseconds(static_cast<int64_t>(1e3 * refusalSeconds));
  while (sent && !frame && std::chrono::steady_clock::now() < last) {
    if (options.stopRequested && options.stopRequested())
      throw Interrupted();
    Deadline soon = inSeconds(pollSeconds);
    frame = stream.wait(soon);
    if (!frame && std::chrono::steady_clock::now() < soon)
      break; // it is gone
  }
  if (frame && frame->kind == FrameKind::Refusal) {
    FieldReader fields(frame->body);
    std::string text = fields.text();
    throw Refused(text, fields.number() != 0);
  }
  // Of ranks that were spawned whoever spawned them knows more.
  if (!frame || frame->kind != FrameKind::Welcome)
    throw Refused(where + (std::chrono::steady_clock::now() < last
                               ? " has ended before all ranks had come, or is no tgpt-run of this version"
                               : " does not answer"),
                  !identity.isSpawned);
  FieldReader all(frame->body);
  for (int64_t rank = 0; rank < identity.ranks; ++rank)
    meeting.members.push_back(decode(all.text()));
  if (!all.isGood())
    throw Error(where + " sent what is no list of " + std::to_string(identity.ranks) + " ranks");
  return meeting;
}

Meeting tgpt::runtime::meet(const RankIdentity &identity, Member own, const MeetingOptions &options) {
  own.rank = identity.rank;
  own.ranks = identity.ranks;
  if (identity.rank > 0)
    return come(identity, std::move(own), options);
  own.address = identity.address;
  return Reception(identity, own, options).receiveAll();
}
