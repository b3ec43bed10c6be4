//===- NcclHandle.h - one rank's hold of a communicator ---------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Communicators are non-blocking: a call that needs its peers says "in progress", and is
// asked after until it is through. So a rank whose peers are gone never sits inside the
// library; it ends when the job ends. The watchdog asks for errors and aborts from another
// thread.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_NCCL_NCCLHANDLE_H
#define TGPT_RUNTIME_COMM_NCCL_NCCLHANDLE_H

#include "runtime/comm/nccl/NcclApi.h"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tgpt::runtime {

/// By what, and when it should stop to wait for peers.
struct NcclCaller {
  NcclApi &api;
  std::function<bool()> isStopped = {}; // the job has failed elsewhere; may be empty
  double setUpSeconds = 300;            // after which members of a communicator count as lost
};

class NcclHandle {
public:
  /// All `ranks` members call it with one id; returns when the communicator is there. `name` is for messages
  /// ("group 1 (tp)").
  NcclHandle(const NcclCaller &caller, std::string name, const NcclUniqueId &id, int64_t ranks, int64_t index,
             int mostBlocks = 0);
  /// Destroys the communicator, or, where the job has failed or it is in use, aborts it.
  ~NcclHandle();
  NcclHandle(const NcclHandle &) = delete;
  NcclHandle &operator=(const NcclHandle &) = delete;

  /// Collective over this communicator: a part of it for all that give one color, in the order of `key`. Null for
  /// ncclNoColor.
  std::unique_ptr<NcclHandle> split(std::string name, int64_t color, int64_t key, int mostBlocks = 0);

  /// Enqueues with call(api, comm); returns when the library has taken it. Throws Error, naming the communicator and
  /// `what`, and JobAborted.
  template <typename Call> void issue(const char *what, Call call) {
    settle(locked(call), what, 0);
    caller.api.runEnqueued();
  }
  /// The same for several calls that the library takes as one.
  template <typename Calls> void issueGroup(const char *what, Calls calls) {
    issue(what, [&](NcclApi &api, NcclComm comm) {
      NcclResult result = api.groupStart();
      if (result == NcclResult::Success)
        result = calls(api, comm);
      NcclResult end = api.groupEnd();
      return result == NcclResult::Success || result == NcclResult::InProgress ? end : result;
    });
  }

  const std::string &name() const { return ownName; }
  int64_t size() const { return ranks; }
  int64_t index() const { return own; }

  // From any thread.

  /// What went wrong on it behind everybody's back.
  std::optional<std::string> asyncError();
  /// Ends what is enqueued and every call, here.
  void abort();

private:
  NcclHandle(const NcclCaller &caller, std::string name);
  template <typename Call> NcclResult locked(Call call) {
    std::lock_guard lock(mutex);
    refuseWhenAborted();
    return call(caller.api, comm);
  }
  /// `mostSeconds`, if not 0, is how long it may be in progress.
  void settle(NcclResult result, const char *what, double mostSeconds);
  void learnMembers();
  NcclResult poll();
  void refuseWhenAborted() const;
  [[noreturn]] void fail(NcclResult result, const char *what);

  NcclCaller caller;
  std::string ownName;
  int ranks = 0, own = 0;
  std::mutex mutex; // held while the library is in a call
  NcclComm comm = nullptr;
  bool isAborted = false, isUnfinished = false;
  /// Of splits that failed. A thread of the library fills in `comm` of a part when the communicator that is divided is
  /// no longer in progress, not before ncclCommSplit returns; so a part outlives the abort of this communicator.
  std::vector<std::unique_ptr<NcclHandle>> unfinished;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_NCCL_NCCLHANDLE_H
