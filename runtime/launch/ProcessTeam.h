//===- ProcessTeam.h - the processes of a job, seen from one of them -*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ranks that are processes need beside the transport of tensors: memory that the
// processes of a machine share, small gathers that are barriers too, and news of whoever
// is lost or has failed. Every process has a connection to rank 0, served by a thread.
// (TeamMemory.cpp shares memory and says who reports, ProcessTeam.cpp does the rest.)
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_LAUNCH_PROCESSTEAM_H
#define TGPT_RUNTIME_LAUNCH_PROCESSTEAM_H

#include "runtime/comm/RemoteMemory.h"
#include "runtime/launch/Rendezvous.h"
#include "runtime/plan/Error.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <span>
#include <thread>

namespace tgpt::runtime {

/// Why the others cannot go on. Lost: a process is gone. Failed: it says why. Silent: it does not answer. Told: what a
/// job on another machine says of any of its ranks.
struct TeamEnd {
  enum class Kind { Lost, Failed, Silent, Told };
  Kind kind = Kind::Lost;
  int64_t rank = 0;
  std::string text;
};

/// Thrown out of a gather that cannot complete.
class TeamEnded : public Error {
public:
  explicit TeamEnded(const TeamEnd &end);
  TeamEnd end;
};

class ProcessTeam {
public:
  /// Meets the other processes. `own` says what is run, and perhaps where; the rest is filled in. A process that is
  /// not heard of for `silenceSeconds` counts as lost.
  ProcessTeam(const RankIdentity &identity, Member own, const MeetingOptions &options, double silenceSeconds);
  ~ProcessTeam();
  ProcessTeam(const ProcessTeam &) = delete;
  ProcessTeam &operator=(const ProcessTeam &) = delete;

  int64_t rank() const { return identity.rank; }
  int64_t ranks() const { return identity.ranks; }
  int64_t localRank() const { return identity.localRank; }
  const std::vector<Member> &members() const { return meeting.members; }
  /// The ranks whose processes are on this machine, in order.
  const std::vector<int64_t> &neighbours() const { return localRanks; }

  // Collective: every process calls the same in the same order.

  /// Memory of zeros that the processes of this machine share; each machine has its own. It goes when they go.
  std::span<std::byte> shareMemory(size_t bytes);
  /// Serves the shared memory to processes of other machines. Not collective, but before any of them asks.
  void serveMemory(std::span<std::byte> memory);
  bool isOnOneMachine() const { return neighbours().size() == members().size(); }
  /// Connects to a process of every other machine. `isOver`: see RemoteMemory.
  RemoteLinks linkMachines(std::span<std::byte> memory, const std::function<bool()> &isOver) const;
  /// What every rank gave, by rank, when all have. Throws TeamEnded, or returns nothing when `goOn` says false, which
  /// is asked every `pollSeconds`.
  std::vector<std::string> gather(const std::string &own, double pollSeconds = 1,
                                  const std::function<bool()> &goOn = {});
  /// Of the gather at hand: the ranks whose part has not come. Rank 0 knows that; all others wait for rank 0.
  std::vector<int64_t> missing() const;

  /// Ends the job for all others: this process has failed, or a rank has as `kind` says.
  void fail(const std::string &text, TeamEnd::Kind kind = TeamEnd::Kind::Failed);
  /// Called once, on another thread, when another process ends the job; at once where one has. Null: no more.
  void onEnd(std::function<void(const TeamEnd &)> callback);
  std::optional<TeamEnd> ended() const;

  /// Of the processes of a machine one reports a failure. Those that are not preferred give the others a moment.
  bool mayReport(bool preferred);
  void reported();
  /// Before that: makes the processes of a machine know who reports. Collective. Until then those that are preferred
  /// do.
  void shareReports();
  /// For those that do not: returns when the report is out. A launcher that sees one process end may kill the rest.
  void awaitReport();

private:
  struct ReportPage {
    std::atomic<uint32_t> taken, done;
  };

  void findNeighbours();
  int handOutMemory(size_t bytes, Deadline deadline);
  int fetchMemory(Deadline deadline);
  void serve();
  void readFrom(int64_t rank, FrameStream &stream);
  void handle(int64_t rank, const Frame &frame);
  void takePart(int64_t rank, int64_t number, std::string part);
  void end(const TeamEnd &end);
  void checkSigns();
  FrameStream &streamTo(int64_t rank) { return *meeting.streams[identity.rank == 0 ? rank : 0]; }

  RankIdentity identity;
  double silenceSeconds;
  Socket door;   // where neighbours fetch shared memory
  Socket window; // where other machines reach it
  std::unique_ptr<MemoryServer> server;
  Meeting meeting;
  std::vector<int64_t> localRanks;
  std::vector<std::span<std::byte>> mappings;
  ReportPage *reports = nullptr;

  mutable std::mutex mutex;
  std::mutex calling; // held while the callback runs
  std::condition_variable changed;
  int64_t gathers = 0; // begun by this process
  struct Gather {
    std::vector<std::string> parts;
    std::vector<bool> hasCome; // by rank
    int64_t come = 0;
    bool isWhole = false;
  };
  std::map<int64_t, Gather> open;
  std::optional<TeamEnd> theEnd;
  std::function<void(const TeamEnd &)> callback;
  std::vector<bool> hasLeft; // by rank

  int wake = -1;
  std::atomic<bool> stopping{false};
  std::chrono::steady_clock::time_point lastLook;
  std::thread thread; // last: it uses the rest
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_LAUNCH_PROCESSTEAM_H
