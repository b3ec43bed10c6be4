//===- FailingNccl.h - NCCL of which one call fails --------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Around the emulated library: the call of a kind and number, on whichever rank it is,
// does nothing and says that the system failed.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_TEST_UNIT_COMM_NCCL_FAILINGNCCL_H
#define TGPT_TEST_UNIT_COMM_NCCL_FAILINGNCCL_H

#include "runtime/comm/nccl/emulation/EmulatedNccl.h"

#include <atomic>

namespace tgpt::test {

enum class NcclCall {
  UniqueId,
  InitRank,
  Split,
  Members,
  AsyncError,
  AllReduce,
  AllGather,
  Send,
  Receive,
  GroupStart,
  GroupEnd,
  Count
};

class FailingNccl final : public runtime::NcclApi {
public:
  using Result = runtime::NcclResult;
  using Comm = runtime::NcclComm;
  using Type = runtime::NcclType;

  FailingNccl(NcclCall kind, int number) : kind(kind), callsLeft(number) {}
  bool hasFailed() const { return failed; }
  int64_t openCommunicators() const { return nccl.openCommunicators(); }

  Result version(int *version) override { return nccl.version(version); }
  Result uniqueId(runtime::NcclUniqueId *id) override { return of(NcclCall::UniqueId, nccl.uniqueId(id)); }
  Result initRank(Comm *comm, int ranks, const runtime::NcclUniqueId &id, int rank,
                  const runtime::NcclConfig &config) override {
    return fails(NcclCall::InitRank) ? Result::SystemError : nccl.initRank(comm, ranks, id, rank, config);
  }
  Result split(Comm comm, int color, int key, Comm *part, const runtime::NcclConfig &config) override {
    return fails(NcclCall::Split) ? Result::SystemError : nccl.split(comm, color, key, part, config);
  }
  Result members(Comm comm, int *ranks, int *own) override {
    return of(NcclCall::Members, nccl.members(comm, ranks, own));
  }
  Result finalize(Comm comm) override { return nccl.finalize(comm); }
  Result destroy(Comm comm) override { return nccl.destroy(comm); }
  Result abort(Comm comm) override { return nccl.abort(comm); }
  Result asyncError(Comm comm, Result *error) override {
    return of(NcclCall::AsyncError, nccl.asyncError(comm, error));
  }
  Result allReduce(const void *from, void *to, size_t count, Type type, runtime::NcclOperation operation, Comm comm,
                   void *stream) override {
    return fails(NcclCall::AllReduce) ? Result::SystemError
                                      : nccl.allReduce(from, to, count, type, operation, comm, stream);
  }
  Result reduceScatter(const void *from, void *to, size_t count, Type type, runtime::NcclOperation operation, Comm comm,
                       void *stream) override {
    return nccl.reduceScatter(from, to, count, type, operation, comm, stream);
  }
  Result allGather(const void *from, void *to, size_t count, Type type, Comm comm, void *stream) override {
    return fails(NcclCall::AllGather) ? Result::SystemError : nccl.allGather(from, to, count, type, comm, stream);
  }
  Result broadcast(const void *from, void *to, size_t count, Type type, int root, Comm comm, void *stream) override {
    return nccl.broadcast(from, to, count, type, root, comm, stream);
  }
  Result send(const void *from, size_t count, Type type, int peer, Comm comm, void *stream) override {
    return fails(NcclCall::Send) ? Result::SystemError : nccl.send(from, count, type, peer, comm, stream);
  }
  Result receive(void *to, size_t count, Type type, int peer, Comm comm, void *stream) override {
    return fails(NcclCall::Receive) ? Result::SystemError : nccl.receive(to, count, type, peer, comm, stream);
  }
  Result groupStart() override { return of(NcclCall::GroupStart, nccl.groupStart()); }
  Result groupEnd() override { return of(NcclCall::GroupEnd, nccl.groupEnd()); }
  void runEnqueued() override { nccl.runEnqueued(); }
  std::string lastError(Comm) override { return "the switch is on fire"; }

private:
  bool fails(NcclCall at) {
    if (at != kind || callsLeft.fetch_sub(1) != 0)
      return false;
    failed = true;
    return true;
  }
  /// Of a call that does its work whatever it says.
  Result of(NcclCall at, Result result) { return fails(at) ? Result::SystemError : result; }

  runtime::EmulatedNccl nccl;
  NcclCall kind;
  std::atomic<int> callsLeft;
  std::atomic<bool> failed{false};
};

} // namespace tgpt::test

#endif // TGPT_TEST_UNIT_COMM_NCCL_FAILINGNCCL_H
