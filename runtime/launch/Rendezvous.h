//===- Rendezvous.h - all ranks of a job find each other --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rank 0 listens; every other rank connects and says who it is, what it runs and how it is
// reached. When all are there each is told about all. Whatever does not fit ends the
// rendezvous everywhere with one error; strangers on the port are shown out.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_LAUNCH_RENDEZVOUS_H
#define TGPT_RUNTIME_LAUNCH_RENDEZVOUS_H

#include "runtime/launch/Frames.h"
#include "runtime/launch/RankIdentity.h"
#include "runtime/plan/Error.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tgpt::runtime {

/// What a process says about itself.
struct Member {
  int64_t rank = 0;
  int64_t ranks = 0;
  std::string plan;    // a hash of the plan
  std::string options; // that must be those of rank 0, a line each
  std::string host;    // for messages
  std::string machine; // equal for processes that can share memory
  std::string door;    // a name to connect to, within the machine
  std::string address; // and from other machines
  int64_t port = 0;
  std::string key; // for that port
};

struct Meeting {
  std::vector<Member> members; // by rank
  /// Rank 0: to each other rank, by rank. Others: one, to rank 0.
  std::vector<std::unique_ptr<FrameStream>> streams;
};

struct MeetingOptions {
  double seconds = 60;
  std::function<bool()> stopRequested = {}; // may be empty
};

/// What rank 0 tells those who came when ranks do not fit together. It says so itself; a process that is to blame does
/// as well.
class Refused : public Error {
public:
  Refused(const std::string &text, bool isToBlame) : Error(text), isToBlame(isToBlame) {}
  bool isToBlame;
};

/// MeetingOptions::stopRequested said so.
class Interrupted : public Error {
public:
  Interrupted() : Error("interrupted while ranks came together") {}
};

/// Throws Error on rank 0, Refused on every other rank that came.
Meeting meet(const RankIdentity &identity, Member own, const MeetingOptions &options);

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_LAUNCH_RENDEZVOUS_H
