//===- EmulatedComm.h - one rank's end of an emulated communicator -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_NCCL_EMULATION_EMULATEDCOMM_H
#define TGPT_RUNTIME_COMM_NCCL_EMULATION_EMULATEDCOMM_H

#include "runtime/comm/nccl/emulation/EmulatedSegment.h"

#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace tgpt::runtime {

/// One call as it was enqueued.
struct EmulatedWork {
  class EmulatedComm *comm = nullptr;
  EmulatedCall call;
  const std::byte *from = nullptr;
  std::byte *to = nullptr;

  // Of a send or a receive that is under way.
  uint64_t message = 0;
  size_t moved = 0;
  bool isMatched = false, isDone = false;
};

/// Its methods run on streams, but for those that say otherwise. Waits end when this rank has aborted; then nothing
/// more is done.
class EmulatedComm {
public:
  ~EmulatedComm();

  /// Most ranks of one.
  static constexpr int mostRanks = 64;

  // On the host. Init and split go on in a thread of their own.
  void beginInit(const NcclUniqueId &id, int ranks, int rank);
  /// `child`, null for ncclNoColor, is then there; `ownId` is its id if this rank is its first. Both communicators
  /// outlive the thread.
  void beginSplit(int color, int key, EmulatedComm *child, NcclUniqueId ownId);
  bool isBeginning() const { return begun.load(); }
  void join();
  void setError(NcclResult result, const std::string &text);
  void abort();
  bool isAborted() const { return aborted.load(); }
  NcclResult error() const { return static_cast<NcclResult>(state.load()); }
  std::string errorText() const;
  int size() const { return ranks; }
  int index() const { return rank; }

  void runCollective(const EmulatedWork &work);
  /// Goes on with a send or a receive; whether anything was done.
  bool advance(EmulatedWork &work);
  /// Sends and receives of one group, together.
  static void runMessages(std::vector<EmulatedWork *> &works);
  /// Until this rank aborts: as a kernel of the library that cannot end.
  void hang();

  std::atomic<int> unfinished{0}; // works enqueued
  // On the host, under the library's lock.
  int pollsLeft = 0; // a non-blocking call is in progress for so many further questions
  bool isBlocking = true, isDestroyed = false;
  void *stream = nullptr;         // of the last work
  NcclComm *partHandle = nullptr; // of a split in progress: where its caller will find the part
  EmulatedComm *part = nullptr;   // null: the caller is in none

private:
  void init(const NcclUniqueId &id, int ranks, int rank);
  void split(int color, int key, EmulatedComm *child, NcclUniqueId ownId);
  template <typename Ready> bool await(Ready ready);
  bool meet(std::atomic<uint64_t> EmulatedSegment::Slot::*counter);
  bool agree(const EmulatedWork &work);
  void allReduce(const EmulatedWork &work);
  void reduceScatter(const EmulatedWork &work);
  void allGather(const EmulatedWork &work);
  void broadcast(const EmulatedWork &work);
  void reduceRing(const EmulatedWork &work, size_t part, size_t at, size_t count, std::byte *to);
  bool advanceSend(EmulatedWork &work);
  bool advanceReceive(EmulatedWork &work);
  void signal() { segment->header().changed.signal(); }

  std::unique_ptr<EmulatedSegment> segment;
  std::atomic<EmulatedSegment *> mapped{nullptr};
  int ranks = 0, rank = 0;
  std::atomic<bool> begun{false};
  std::atomic<bool> aborted{false};
  std::atomic<int> state{static_cast<int>(NcclResult::InProgress)};
  mutable std::mutex mutex; // of the text
  std::string text;
  std::thread beginning;
  uint64_t sent[mostRanks] = {}, receivedFrom[mostRanks] = {}; // messages, by peer
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_NCCL_EMULATION_EMULATEDCOMM_H
