//===- NcclHandle.cpp - one rank's hold of a communicator -------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/NcclHandle.h"
#include "runtime/comm/Communicator.h"
#include "runtime/plan/Error.h"

#include <chrono>
#include <thread>

using namespace tgpt::runtime;

/// Most calls are through at once; those that make connections take milliseconds.
static constexpr int quickPolls = 100;
static constexpr auto pollPause = std::chrono::microseconds(50);

NcclHandle::NcclHandle(const NcclCaller &caller, std::string name) : caller(caller), ownName(std::move(name)) {}

NcclHandle::NcclHandle(const NcclCaller &caller, std::string name, const NcclUniqueId &id, int64_t ranks, int64_t index,
                       int mostBlocks)
    : NcclHandle(caller, std::move(name)) {
  NcclConfig config{.mostBlocks = mostBlocks, .name = ownName.c_str()};
  auto init = [&](NcclApi &api, NcclComm) {
    return api.initRank(&comm, static_cast<int>(ranks), id, static_cast<int>(index), config);
  };
  settle(locked(init), "ncclCommInitRankConfig", caller.setUpSeconds);
  learnMembers();
}

NcclHandle::~NcclHandle() {
  std::lock_guard lock(mutex);
  if (!comm || isAborted)
    return;
  if (isUnfinished || (caller.isStopped && caller.isStopped())) {
    caller.api.abort(comm);
    return;
  }
  // What is enqueued is waited for by whoever owns the streams; a finalize that its peers do not join is given up.
  constexpr auto patience = std::chrono::seconds(2);
  NcclResult result = caller.api.finalize(comm);
  auto end = std::chrono::steady_clock::now() + patience;
  while (result == NcclResult::InProgress && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(pollPause);
    if (caller.api.asyncError(comm, &result) != NcclResult::Success)
      result = NcclResult::InternalError;
  }
  if (result == NcclResult::Success)
    caller.api.destroy(comm);
  else
    caller.api.abort(comm);
}

std::unique_ptr<NcclHandle> NcclHandle::split(std::string name, int64_t color, int64_t key, int mostBlocks) {
  std::unique_ptr<NcclHandle> part(new NcclHandle(caller, std::move(name)));
  NcclConfig config{.mostBlocks = mostBlocks, .name = part->ownName.c_str()};
  std::string what = "ncclCommSplit for " + part->ownName;
  auto divide = [&](NcclApi &api, NcclComm whole) {
    return api.split(whole, static_cast<int>(color), static_cast<int>(key), &part->comm, config);
  };
  try {
    settle(locked(divide), what.c_str(), caller.setUpSeconds);
  } catch (...) {
    part->isUnfinished = true;
    unfinished.push_back(std::move(part));
    throw;
  }
  if (!part->comm)
    return nullptr;
  part->settle(NcclResult::InProgress, "ncclCommSplit", caller.setUpSeconds);
  part->learnMembers();
  return part;
}

void NcclHandle::learnMembers() {
  auto ask = [this](NcclApi &api, NcclComm comm) { return api.members(comm, &ranks, &own); };
  settle(locked(ask), "ncclCommCount", 0);
}

NcclResult NcclHandle::poll() {
  std::lock_guard lock(mutex);
  refuseWhenAborted();
  NcclResult state = NcclResult::Success;
  NcclResult result = caller.api.asyncError(comm, &state);
  return result == NcclResult::Success ? state : result;
}

void NcclHandle::settle(NcclResult result, const char *what, double mostSeconds) {
  auto begin = std::chrono::steady_clock::now();
  for (int polls = 0; result == NcclResult::InProgress; ++polls) {
    if (caller.isStopped && caller.isStopped())
      throw JobAborted();
    if (std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
        mostSeconds > 0 && passed.count() > mostSeconds)
      throw Error(ownName + ": " + what + " is still in progress after " +
                  std::to_string(static_cast<int64_t>(mostSeconds)) +
                  " s: some rank is not there or cannot be reached (NCCL_DEBUG=INFO says more)");
    if (polls >= quickPolls)
      std::this_thread::sleep_for(pollPause);
    result = poll();
  }
  if (result != NcclResult::Success)
    fail(result, what);
}

void NcclHandle::refuseWhenAborted() const {
  if (isAborted)
    throw JobAborted();
}

static std::string textOf(NcclResult result, const std::string &more) {
  return std::string(name(result)) + (more.empty() ? "" : " (" + more + ")");
}

void NcclHandle::fail(NcclResult result, const char *what) {
  std::lock_guard lock(mutex);
  refuseWhenAborted();
  throw Error(ownName + ": " + what + " says " + textOf(result, caller.api.lastError(comm)));
}

std::optional<std::string> NcclHandle::asyncError() {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock || !comm || isAborted)
    return std::nullopt;
  NcclResult state = NcclResult::Success;
  NcclResult result = caller.api.asyncError(comm, &state);
  if (result == NcclResult::Success)
    result = state;
  if (result == NcclResult::Success || result == NcclResult::InProgress)
    return std::nullopt;
  return ownName + ": NCCL says " + textOf(result, caller.api.lastError(comm));
}

void NcclHandle::abort() {
  std::lock_guard lock(mutex);
  if (!comm || isAborted)
    return;
  isAborted = true;
  caller.api.abort(comm);
}
