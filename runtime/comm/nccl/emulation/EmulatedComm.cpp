//===- EmulatedComm.cpp - one rank's end of an emulated communicator -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective goes through the staging areas piece by piece: write, meet, read, meet. A
// reduction adds as a ring does, each part of the result from another rank on, rounded
// after every addition, so that nothing can rely on the order of the members. A message
// is a rendezvous: its sender goes on when the receiver has come, as NCCL may have it.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/emulation/EmulatedComm.h"
#include "runtime/comm/ReduceRange.h"
#include "runtime/kernels/api/BFloat16.h"
#include "runtime/kernels/api/Float16.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <tuple>

using namespace tgpt::runtime;

/// How long a waiter sleeps before it looks by itself.
static constexpr double lookSeconds = 0.02;

EmulatedComm::~EmulatedComm() {
  join();
}

void EmulatedComm::join() {
  if (beginning.joinable())
    beginning.join();
}

template <typename Ready> bool EmulatedComm::await(Ready ready) {
  EventWord &changed = segment->header().changed;
  while (true) {
    uint32_t seen = changed.load();
    if (aborted.load())
      return false;
    if (ready())
      return true;
    changed.waitFor(seen, lookSeconds);
  }
}

void EmulatedComm::setError(NcclResult result, const std::string &what) {
  {
    std::lock_guard lock(mutex);
    if (text.empty())
      text = what;
  }
  state.store(static_cast<int>(result));
}

std::string EmulatedComm::errorText() const {
  std::lock_guard lock(mutex);
  return text;
}

void EmulatedComm::abort() {
  aborted.store(true);
  if (EmulatedSegment *there = mapped.load())
    there->header().changed.signal();
}

void EmulatedComm::hang() {
  await([] { return false; });
}

void EmulatedComm::beginInit(const NcclUniqueId &id, int allRanks, int own) {
  begun.store(true);
  beginning = std::thread([=, this] {
    init(id, allRanks, own);
    begun.store(false);
  });
}

void EmulatedComm::init(const NcclUniqueId &id, int allRanks, int own) try {
  if (allRanks > mostRanks || own < 0 || own >= allRanks)
    return setError(NcclResult::InvalidArgument,
                    "rank " + std::to_string(own) + " of " + std::to_string(allRanks) + ", at most 64 are emulated");
  ranks = allRanks;
  rank = own;
  segment = std::make_unique<EmulatedSegment>(id, ranks);
  mapped.store(segment.get());
  EmulatedSegment::Header &header = segment->header();
  uint32_t known = 0, asked = static_cast<uint32_t>(ranks);
  if (!header.ranks.compare_exchange_strong(known, asked) && known != asked)
    return setError(NcclResult::InvalidArgument, "a communicator of " + std::to_string(known) +
                                                     " ranks is joined as one of " + std::to_string(ranks));
  if (segment->slot(rank).isTaken.exchange(1))
    return setError(NcclResult::InvalidArgument, "two are rank " + std::to_string(rank) + " of a communicator");
  header.present.fetch_add(1);
  signal();
  if (await([&] { return header.present.load() == header.ranks.load(); }))
    state.store(static_cast<int>(NcclResult::Success));
} catch (const Error &error) {
  setError(NcclResult::SystemError, error.what());
}

void EmulatedComm::beginSplit(int color, int key, EmulatedComm *child, NcclUniqueId ownId) {
  join();
  begun.store(true);
  beginning = std::thread([=, this] {
    split(color, key, child, ownId);
    begun.store(false);
  });
}

void EmulatedComm::split(int color, int key, EmulatedComm *child, NcclUniqueId ownId) {
  EmulatedSegment::Slot &slot = segment->slot(rank);
  slot.color = color;
  slot.key = key;
  slot.splitId = ownId;
  auto counter = &EmulatedSegment::Slot::hostArrivals;
  if (!meet(counter))
    return;
  std::vector<std::pair<int, int>> members; // key, rank
  for (int r = 0; r < ranks; ++r)
    if (color >= 0 && segment->slot(r).color == color)
      members.emplace_back(segment->slot(r).key, r);
  std::sort(members.begin(), members.end());
  NcclUniqueId id = members.empty() ? ownId : segment->slot(members.front().second).splitId;
  if (!meet(counter) || !child)
    return;
  auto own = std::find(members.begin(), members.end(), std::pair(key, rank));
  child->init(id, static_cast<int>(members.size()), static_cast<int>(own - members.begin()));
}

bool EmulatedComm::meet(std::atomic<uint64_t> EmulatedSegment::Slot::*counter) {
  uint64_t number = (segment->slot(rank).*counter).fetch_add(1) + 1;
  signal();
  return await([&] {
    for (int r = 0; r < ranks; ++r)
      if ((segment->slot(r).*counter).load() < number)
        return false;
    return true;
  });
}

/// Whether all members do the same, seen after a meeting at which each has said what it does.
bool EmulatedComm::agree(const EmulatedWork &work) {
  for (int r = 0; r < ranks; ++r)
    if (const EmulatedCall &theirs = segment->slot(r).call; theirs != work.call) {
      setError(NcclResult::InvalidUsage, "rank " + std::to_string(rank) + " of the communicator does " +
                                             work.call.describe() + ", rank " + std::to_string(r) + " does " +
                                             theirs.describe());
      hang();
      return false;
    }
  return true;
}

void EmulatedComm::runCollective(const EmulatedWork &work) {
  if (aborted.load())
    return;
  segment->slot(rank).call = work.call;
  if (!meet(&EmulatedSegment::Slot::arrivals) || !agree(work))
    return;
  switch (work.call.kind) {
  case EmulatedKind::AllReduce: return allReduce(work);
  case EmulatedKind::ReduceScatter: return reduceScatter(work);
  case EmulatedKind::AllGather: return allGather(work);
  case EmulatedKind::Broadcast: return broadcast(work);
  default: return;
  }
}

static double valueOf(float x) {
  return x;
}
static double valueOf(double x) {
  return x;
}
static double valueOf(int32_t x) {
  return x;
}
static double valueOf(BFloat16 x) {
  return toFloat(x);
}
static double valueOf(Float16 x) {
  return toFloat(x);
}

/// A number is more than a NaN, as fmax has it.
template <typename T> static void keepMax(std::byte *most, const std::byte *others, size_t count) {
  auto *to = reinterpret_cast<T *>(most);
  auto *from = reinterpret_cast<const T *>(others);
  for (size_t i = 0; i < count; ++i)
    if (double value = valueOf(from[i]); value > valueOf(to[i]) || std::isnan(valueOf(to[i])))
      to[i] = from[i];
}

static void keepMaxOf(DType dtype, std::byte *most, const std::byte *others, size_t count) {
  switch (dtype) {
  case DType::F64: return keepMax<double>(most, others, count);
  case DType::F32: return keepMax<float>(most, others, count);
  case DType::BF16: return keepMax<BFloat16>(most, others, count);
  case DType::F16: return keepMax<Float16>(most, others, count);
  case DType::I32: return keepMax<int32_t>(most, others, count);
  }
}

/// Reduces `count` elements at element `at` of everybody's staging area into `to`, from the rank after `part` on.
void EmulatedComm::reduceRing(const EmulatedWork &work, size_t part, size_t at, size_t count, std::byte *to) {
  DType dtype = dtypeOf(work.call.type);
  size_t element = sizeInBytes(dtype);
  auto stagedBy = [&](size_t r) { return segment->slot(static_cast<int64_t>(r % ranks)).staging + at * element; };
  std::memcpy(to, stagedBy(part + 1), count * element);
  void *output = to;
  for (size_t i = 2; i <= static_cast<size_t>(ranks); ++i) {
    const void *inputs[] = {to, stagedBy(part + i)};
    if (work.call.operation == NcclOperation::Max)
      keepMaxOf(dtype, to, stagedBy(part + i), count);
    else
      reduceRange(dtype, Reduction::Sum, inputs, 0, {&output, 1}, 0, static_cast<int64_t>(count));
  }
}

void EmulatedComm::allReduce(const EmulatedWork &work) {
  size_t element = sizeInBytes(dtypeOf(work.call.type)), all = work.call.count;
  size_t piece = EmulatedSegment::stagingBytes / element, part = (all + ranks - 1) / ranks;
  for (size_t at = 0; at < all; at += piece) {
    size_t count = std::min(piece, all - at);
    std::memcpy(segment->slot(rank).staging, work.from + at * element, count * element);
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
    for (size_t begin = at; begin < at + count;) { // parts begin at other ranks
      size_t end = std::min(at + count, (begin / part + 1) * part);
      reduceRing(work, begin / part, begin - at, end - begin, work.to + begin * element);
      begin = end;
    }
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
  }
}

void EmulatedComm::reduceScatter(const EmulatedWork &work) {
  size_t element = sizeInBytes(dtypeOf(work.call.type)), all = work.call.count;
  size_t piece = EmulatedSegment::stagingBytes / element / ranks;
  for (size_t at = 0; at < all; at += piece) {
    size_t count = std::min(piece, all - at);
    for (int r = 0; r < ranks; ++r)
      std::memcpy(segment->slot(rank).staging + r * count * element, work.from + (r * all + at) * element,
                  count * element);
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
    reduceRing(work, rank, rank * count, count, work.to + at * element);
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
  }
}

void EmulatedComm::allGather(const EmulatedWork &work) {
  size_t bytes = work.call.count * sizeInBytes(dtypeOf(work.call.type));
  for (size_t at = 0; at < bytes; at += EmulatedSegment::stagingBytes) {
    size_t count = std::min(EmulatedSegment::stagingBytes, bytes - at);
    std::memcpy(segment->slot(rank).staging, work.from + at, count);
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
    for (int r = 0; r < ranks; ++r)
      std::memcpy(work.to + r * bytes + at, segment->slot(r).staging, count);
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
  }
}

void EmulatedComm::broadcast(const EmulatedWork &work) {
  size_t bytes = work.call.count * sizeInBytes(dtypeOf(work.call.type));
  for (size_t at = 0; at < bytes; at += EmulatedSegment::stagingBytes) {
    size_t count = std::min(EmulatedSegment::stagingBytes, bytes - at);
    if (rank == work.call.peer)
      std::memcpy(segment->slot(rank).staging, work.from + at, count);
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
    std::memcpy(work.to + at, segment->slot(work.call.peer).staging, count);
    if (!meet(&EmulatedSegment::Slot::arrivals))
      return;
  }
}

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
