//===- EmulatedNccl.cpp - NCCL over host memory, for tests ------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host's side: states of communicators and groups of calls. What runs on streams is
// EmulatedComm's. A handle is the address of a communicator that is never reused, so a call
// on one that is gone is seen.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/emulation/EmulatedNccl.h"
#include "runtime/device/EmulatedDevice.h"
#include "runtime/plan/Error.h"

#include <unistd.h>
#include <utility>

using namespace tgpt::runtime;

/// A non-blocking call says "in progress" when it is asked for the first time.
static constexpr int pollsInProgress = 1;

static EmulatedComm &commOf(NcclComm comm) {
  return *reinterpret_cast<EmulatedComm *>(comm);
}

EmulatedNccl::~EmulatedNccl() {
  for (EmulatedComm &comm : comms)
    comm.abort();
  for (auto &[thread, group] : groups) // whoever enqueued it has failed before it could run
    for (std::vector<EmulatedWork> &works : group.enqueued)
      for (EmulatedWork &work : works)
        work.comm->unfinished.fetch_sub(1);
  for (EmulatedComm &comm : comms) {
    comm.join();
    while (comm.unfinished.load() > 0)
      std::this_thread::yield();
  }
  for (int segment : segments)
    ::close(segment);
}

std::vector<std::string> EmulatedNccl::misuses() const {
  std::lock_guard lock(mutex);
  return misused;
}

int64_t EmulatedNccl::openCommunicators() const {
  std::lock_guard lock(mutex);
  int64_t open = 0;
  for (const EmulatedComm &comm : comms)
    open += !comm.isDestroyed && !comm.isAborted();
  return open;
}

NcclResult EmulatedNccl::misuse(const std::string &what) {
  misused.push_back(what);
  return NcclResult::InvalidUsage;
}

NcclResult EmulatedNccl::version(int *version) {
  *version = 22809;
  return NcclResult::Success;
}

NcclResult EmulatedNccl::uniqueId(NcclUniqueId *id) try {
  std::lock_guard lock(mutex);
  int descriptor = -1;
  *id = EmulatedSegment::make(descriptor);
  segments.push_back(descriptor);
  return NcclResult::Success;
} catch (const Error &error) {
  misused.push_back(error.what());
  return NcclResult::SystemError;
}

EmulatedComm *EmulatedNccl::made(const NcclConfig &config) {
  EmulatedComm &comm = comms.emplace_back();
  comm.isBlocking = config.isBlocking;
  return &comm;
}

static NcclComm handleOf(EmulatedComm *comm) {
  return reinterpret_cast<NcclComm>(comm);
}

/// The caller of a split learns of its part when the call is through, as of the library.
void EmulatedNccl::handOver(EmulatedComm &divided) {
  if (NcclComm *part = std::exchange(divided.partHandle, nullptr))
    *part = handleOf(divided.part);
}

/// After a call that goes on in a thread of the communicator, the mutex not held.
NcclResult EmulatedNccl::begun(EmulatedComm &comm) {
  if (!comm.isBlocking) {
    comm.pollsLeft = pollsInProgress;
    return NcclResult::InProgress;
  }
  comm.join();
  handOver(comm);
  return comm.error();
}

NcclResult EmulatedNccl::initRank(NcclComm *handle, int ranks, const NcclUniqueId &id, int rank,
                                  const NcclConfig &config) {
  EmulatedComm *comm;
  {
    std::lock_guard lock(mutex);
    comm = made(config);
    *handle = handleOf(comm);
    comm->beginInit(id, ranks, rank);
  }
  return begun(*comm);
}

/// Why a call on a communicator cannot be, or success.
NcclResult EmulatedNccl::refuse(EmulatedComm &comm, const char *call) {
  std::string what = call;
  if (comm.isAborted())
    return misuse(what + " on a communicator that was aborted");
  if (comm.isDestroyed)
    return misuse(what + " on a communicator that was destroyed");
  if (comm.isBeginning() || comm.pollsLeft > 0)
    return misuse(what + " on a communicator of which a call is in progress");
  return comm.error(); // success, or what went wrong before
}

NcclResult EmulatedNccl::split(NcclComm handle, int color, int key, NcclComm *part, const NcclConfig &config) {
  EmulatedComm &comm = commOf(handle);
  NcclUniqueId id;
  if (NcclResult result = uniqueId(&id); result != NcclResult::Success)
    return result;
  {
    std::lock_guard lock(mutex);
    if (NcclResult refused = refuse(comm, "ncclCommSplit"); refused != NcclResult::Success)
      return refused;
    *part = nullptr;
    comm.partHandle = part;
    comm.part = color == ncclNoColor ? nullptr : made(config);
    comm.beginSplit(color, key, comm.part, id);
  }
  return begun(comm);
}

NcclResult EmulatedNccl::members(NcclComm handle, int *ranks, int *own) {
  std::lock_guard lock(mutex);
  EmulatedComm &comm = commOf(handle);
  if (NcclResult refused = refuse(comm, "ncclCommCount"); refused != NcclResult::Success)
    return refused;
  *ranks = comm.size();
  *own = comm.index();
  return NcclResult::Success;
}

NcclResult EmulatedNccl::finalize(NcclComm handle) {
  std::lock_guard lock(mutex);
  EmulatedComm &comm = commOf(handle);
  NcclResult result = refuse(comm, "ncclCommFinalize");
  if (result == NcclResult::Success && comm.unfinished.load() > 0)
    result = misuse("ncclCommFinalize on a communicator with work under way");
  return result;
}

NcclResult EmulatedNccl::destroy(NcclComm handle) {
  std::lock_guard lock(mutex);
  EmulatedComm &comm = commOf(handle);
  NcclResult result = refuse(comm, "ncclCommDestroy");
  if (result == NcclResult::Success && comm.unfinished.load() > 0)
    result = misuse("ncclCommDestroy on a communicator with work under way");
  comm.isDestroyed = true;
  return result;
}

NcclResult EmulatedNccl::abort(NcclComm handle) {
  std::lock_guard lock(mutex);
  EmulatedComm &comm = commOf(handle);
  if (comm.isAborted() || comm.isDestroyed)
    return misuse("ncclCommAbort on a communicator that is gone");
  comm.abort();
  handOver(comm);
  return NcclResult::Success;
}

NcclResult EmulatedNccl::asyncError(NcclComm handle, NcclResult *error) {
  std::lock_guard lock(mutex);
  EmulatedComm &comm = commOf(handle);
  if (comm.isAborted() || comm.isDestroyed)
    return misuse("ncclCommGetAsyncError on a communicator that is gone");
  *error = comm.error();
  if (*error == NcclResult::Success && (comm.isBeginning() || comm.pollsLeft > 0)) {
    comm.pollsLeft = std::max(comm.pollsLeft - 1, 0);
    *error = NcclResult::InProgress;
  } else {
    handOver(comm);
  }
  return NcclResult::Success;
}

NcclResult EmulatedNccl::add(EmulatedCall call, const void *from, void *to, NcclComm handle, void *stream) {
  std::lock_guard lock(mutex);
  EmulatedComm &comm = commOf(handle);
  call.isCaptured = EmulatedDevice::isReplaying();
  if (NcclResult refused = refuse(comm, call.describe().c_str()); refused != NcclResult::Success)
    return refused;
  if (call.peer < 0 || call.peer >= comm.size())
    return misuse(call.describe() + ": rank " + std::to_string(call.peer) + " of a communicator of " +
                  std::to_string(comm.size()));
  Group &group = groups[std::this_thread::get_id()];
  if (!group.works.empty() && group.stream != stream)
    return misuse(call.describe() + " on another stream than the calls before it in its group");
  group.stream = stream;
  group.works.push_back({&comm, call, static_cast<const std::byte *>(from), static_cast<std::byte *>(to)});
  return group.depth > 0 ? NcclResult::Success : enqueueGroup(group);
}

/// One work for all calls of the group.
NcclResult EmulatedNccl::enqueueGroup(Group &group) {
  NcclResult result = NcclResult::Success;
  std::vector<EmulatedWork> works = std::move(group.works);
  group.works.clear();
  for (EmulatedWork &work : works)
    if (work.comm->stream != group.stream && work.comm->unfinished.load() > 0)
      return misuse(work.call.describe() + " on one stream while its communicator has work under way on another");
  for (EmulatedWork &work : works) {
    work.comm->stream = group.stream;
    work.comm->unfinished.fetch_add(1);
    if (!work.comm->isBlocking) {
      work.comm->pollsLeft = pollsInProgress;
      result = NcclResult::InProgress;
    }
  }
  group.enqueued.push_back(std::move(works));
  return result;
}

void EmulatedNccl::runEnqueued() {
  std::vector<std::vector<EmulatedWork>> all;
  {
    std::lock_guard lock(mutex);
    all.swap(groups[std::this_thread::get_id()].enqueued);
  }
  for (std::vector<EmulatedWork> &works : all) {
    std::vector<EmulatedWork *> messages;
    for (EmulatedWork &work : works)
      if (work.call.kind == EmulatedKind::Send || work.call.kind == EmulatedKind::Receive)
        messages.push_back(&work);
      else
        work.comm->runCollective(work);
    EmulatedComm::runMessages(messages);
    for (EmulatedWork &work : works)
      work.comm->unfinished.fetch_sub(1);
  }
}

NcclResult EmulatedNccl::groupStart() {
  std::lock_guard lock(mutex);
  ++groups[std::this_thread::get_id()].depth;
  return NcclResult::Success;
}

NcclResult EmulatedNccl::groupEnd() {
  std::lock_guard lock(mutex);
  Group &group = groups[std::this_thread::get_id()];
  if (group.depth == 0)
    return misuse("ncclGroupEnd without ncclGroupStart");
  if (--group.depth > 0 || group.works.empty())
    return NcclResult::Success;
  return enqueueGroup(group);
}

std::string EmulatedNccl::lastError(NcclComm handle) {
  std::lock_guard lock(mutex);
  std::string text = handle ? commOf(handle).errorText() : "";
  return text.empty() && !misused.empty() ? misused.back() : text;
}

NcclResult EmulatedNccl::allReduce(const void *from, void *to, size_t count, NcclType type, NcclOperation operation,
                                   NcclComm comm, void *stream) {
  return add({EmulatedKind::AllReduce, type, operation, 0, count}, from, to, comm, stream);
}

NcclResult EmulatedNccl::reduceScatter(const void *from, void *to, size_t countOfPart, NcclType type,
                                       NcclOperation operation, NcclComm comm, void *stream) {
  return add({EmulatedKind::ReduceScatter, type, operation, 0, countOfPart}, from, to, comm, stream);
}

NcclResult EmulatedNccl::allGather(const void *from, void *to, size_t countOfPart, NcclType type, NcclComm comm,
                                   void *stream) {
  return add({EmulatedKind::AllGather, type, {}, 0, countOfPart}, from, to, comm, stream);
}

NcclResult EmulatedNccl::broadcast(const void *from, void *to, size_t count, NcclType type, int root, NcclComm comm,
                                   void *stream) {
  return add({EmulatedKind::Broadcast, type, {}, root, count}, from, to, comm, stream);
}

NcclResult EmulatedNccl::send(const void *from, size_t count, NcclType type, int peer, NcclComm comm, void *stream) {
  return add({EmulatedKind::Send, type, {}, peer, count}, from, nullptr, comm, stream);
}

NcclResult EmulatedNccl::receive(void *to, size_t count, NcclType type, int peer, NcclComm comm, void *stream) {
  return add({EmulatedKind::Receive, type, {}, peer, count}, nullptr, to, comm, stream);
}
