//===- EmulatedComm.cpp - one rank's end of an emulated communicator -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks join a communicator and split it; EmulatedCollectives.cpp and EmulatedMessages.cpp
// do what they are asked.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/emulation/EmulatedComm.h"
#include "runtime/plan/Error.h"

#include <algorithm>

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
