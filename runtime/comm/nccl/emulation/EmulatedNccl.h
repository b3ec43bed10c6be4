//===- EmulatedNccl.h - NCCL over host memory, for tests --------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same calls, among rank threads or processes of one machine, and stricter than the
// library is: what NCCL may punish by a hang or by garbage is an error here, and what it
// forgives on some machines only (a send that goes on before its receive has come, a sum in
// the order of the members) does not happen. It refuses
//   - a collective that members call with different kinds, counts, types or operations, or
//     one in a graph and another not;
//   - a send and its receive of different counts or types;
//   - calls on a communicator that is not there yet, still in progress, aborted or destroyed;
//   - work on another stream while the communicator has some under way;
//   - a finalize or destroy with work under way.
// The handle of a part is there when the communicator that is divided is no longer in
// progress, not before: so does the library, whose documentation leaves it open.
// A send without a receive, or a collective that not all members call, waits for ever, as
// it should: the watchdog's case.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_COMM_NCCL_EMULATION_EMULATEDNCCL_H
#define TGPT_RUNTIME_COMM_NCCL_EMULATION_EMULATEDNCCL_H

#include "runtime/comm/nccl/emulation/EmulatedComm.h"

#include <deque>
#include <map>

namespace tgpt::runtime {

/// One for all rank threads of a process; calls may come from any thread. Those that enqueue come on the thread of the
/// stream, at their turn, and runEnqueued() does their work.
class EmulatedNccl final : public NcclApi {
public:
  EmulatedNccl() = default;
  /// Ends what is under way.
  ~EmulatedNccl() override;

  /// Wrong calls so far, a line each. They were refused as well.
  std::vector<std::string> misuses() const;
  /// Communicators of two or more ranks that were made and neither destroyed nor aborted.
  int64_t openCommunicators() const;

  NcclResult version(int *version) override;
  NcclResult uniqueId(NcclUniqueId *id) override;
  NcclResult initRank(NcclComm *comm, int ranks, const NcclUniqueId &id, int rank, const NcclConfig &config) override;
  NcclResult split(NcclComm comm, int color, int key, NcclComm *part, const NcclConfig &config) override;
  NcclResult members(NcclComm comm, int *ranks, int *own) override;
  NcclResult finalize(NcclComm comm) override;
  NcclResult destroy(NcclComm comm) override;
  NcclResult abort(NcclComm comm) override;
  NcclResult asyncError(NcclComm comm, NcclResult *error) override;
  NcclResult allReduce(const void *from, void *to, size_t count, NcclType type, NcclOperation operation, NcclComm comm,
                       void *stream) override;
  NcclResult reduceScatter(const void *from, void *to, size_t countOfPart, NcclType type, NcclOperation operation,
                           NcclComm comm, void *stream) override;
  NcclResult allGather(const void *from, void *to, size_t countOfPart, NcclType type, NcclComm comm,
                       void *stream) override;
  NcclResult broadcast(const void *from, void *to, size_t count, NcclType type, int root, NcclComm comm,
                       void *stream) override;
  NcclResult send(const void *from, size_t count, NcclType type, int peer, NcclComm comm, void *stream) override;
  NcclResult receive(void *to, size_t count, NcclType type, int peer, NcclComm comm, void *stream) override;
  NcclResult groupStart() override;
  NcclResult groupEnd() override;
  void runEnqueued() override;
  std::string lastError(NcclComm comm) override;

private:
  /// What a thread has called since its groupStart().
  struct Group {
    int depth = 0;
    void *stream = nullptr;
    std::vector<EmulatedWork> works;
    std::vector<std::vector<EmulatedWork>> enqueued; // by group
  };
  EmulatedComm *made(const NcclConfig &config);
  static void handOver(EmulatedComm &divided);
  NcclResult begun(EmulatedComm &comm);
  NcclResult misuse(const std::string &what);
  NcclResult refuse(EmulatedComm &comm, const char *call);
  NcclResult add(EmulatedCall call, const void *from, void *to, NcclComm comm, void *stream);
  NcclResult enqueueGroup(Group &group);

  mutable std::mutex mutex;
  std::deque<EmulatedComm> comms; // also those that are gone, to know them
  std::vector<int> segments;      // file descriptors
  std::map<std::thread::id, Group> groups;
  std::vector<std::string> misused;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_COMM_NCCL_EMULATION_EMULATEDNCCL_H
