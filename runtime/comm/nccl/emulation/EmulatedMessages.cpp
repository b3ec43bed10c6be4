//===- EmulatedMessages.cpp - messages through mailboxes ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A message is a rendezvous: its sender goes on when the receiver has come, as NCCL may
// have it.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/emulation/EmulatedComm.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

using namespace tgpt::runtime;

static size_t bytesOf(const EmulatedCall &call) {
  return call.count * sizeInBytes(dtypeOf(call.type));
}

bool EmulatedComm::advanceSend(EmulatedWork &work) {
  EmulatedSegment::Mailbox &box = segment->mailbox(rank, work.call.peer);
  if (work.message == 0) {
    work.message = ++sent[work.call.peer];
    box.sends = work.call;
    box.offered.store(work.message);
    signal();
    return true;
  }
  if (box.accepted.load() < work.message || box.filled.load() != box.drained.load())
    return false;
  size_t bytes = bytesOf(work.call);
  if (work.moved < bytes) {
    size_t count = std::min(EmulatedSegment::messageBytes, bytes - work.moved);
    std::memcpy(box.staging, work.from + work.moved, count);
    work.moved += count;
    box.filled.fetch_add(1);
    signal();
  } else {
    work.isDone = true; // and the receiver has the last piece
  }
  return true;
}

bool EmulatedComm::advanceReceive(EmulatedWork &work) {
  EmulatedSegment::Mailbox &box = segment->mailbox(work.call.peer, rank);
  if (work.message == 0)
    work.message = ++receivedFrom[work.call.peer];
  if (box.offered.load() < work.message)
    return false;
  if (!work.isMatched) {
    if (box.sends.type != work.call.type || box.sends.count != work.call.count) {
      setError(NcclResult::InvalidUsage, "rank " + std::to_string(work.call.peer) + " of the communicator does " +
                                             box.sends.describe() + ", but rank " + std::to_string(rank) + " does " +
                                             work.call.describe());
      hang();
      return true;
    }
    work.isMatched = true;
    box.accepted.store(work.message);
    signal();
  }
  size_t bytes = bytesOf(work.call);
  if (work.moved == bytes) {
    work.isDone = true;
    return true;
  }
  if (box.filled.load() == box.drained.load())
    return false;
  size_t count = std::min(EmulatedSegment::messageBytes, bytes - work.moved);
  std::memcpy(work.to + work.moved, box.staging, count);
  work.moved += count;
  box.drained.fetch_add(1);
  signal();
  return true;
}

bool EmulatedComm::advance(EmulatedWork &work) {
  return work.call.kind == EmulatedKind::Send ? advanceSend(work) : advanceReceive(work);
}

void EmulatedComm::runMessages(std::vector<EmulatedWork *> &works) {
  while (!works.empty()) {
    EventWord &changed = works.front()->comm->segment->header().changed;
    uint32_t seen = changed.load();
    bool hasMoved = false;
    std::set<std::tuple<EmulatedComm *, EmulatedKind, int32_t>> ways; // messages of one way come one after the other
    for (EmulatedWork *work : works)
      if (ways.emplace(work->comm, work->call.kind, work->call.peer).second && !work->comm->aborted.load())
        hasMoved |= work->comm->advance(*work);
    std::erase_if(works, [](EmulatedWork *work) { return work->isDone || work->comm->aborted.load(); });
    if (!hasMoved && !works.empty())
      changed.waitFor(seen, 0.001); // they may be of several communicators
  }
}
