//===- JobImpl.h - what a job is made of ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// JobSetUp.cpp puts it together, JobStep.cpp runs it, JobReports.cpp brings together what
// its ranks have measured.
//
//===----------------------------------------------------------------------===//
#ifndef TGPT_RUNTIME_ENGINE_JOBIMPL_H
#define TGPT_RUNTIME_ENGINE_JOBIMPL_H

#include "runtime/engine/CommunicationThread.h"
#include "runtime/engine/CrashSite.h"
#include "runtime/engine/DeviceRank.h"
#include "runtime/engine/FailureRecord.h"
#include "runtime/engine/Job.h"
#include "runtime/engine/RankProgram.h"
#include "runtime/engine/RankTeam.h"
#include "runtime/engine/VariableTable.h"
#include "runtime/launch/ProcessTeam.h"

#include <thread>

namespace tgpt::runtime {

class Job::Impl {
public:
  Impl(plan::Plan given, JobOptions givenOptions);
  ~Impl();
  void initializeVariables();
  const StepMetrics &runStep(StepInputs &inputs);
  /// As ProcessTeam::gather, but another process's end is this job's.
  std::vector<std::string> gather(const std::string &own, TaskMonitor *monitor = nullptr);
  void exchangeReports();
  std::vector<ProfileEntry> profileOf(int64_t rank) const;
  std::vector<InstructionEvent> eventsOf(int64_t rank) const;
  bool isOnDevice() const { return options.device.backend != nullptr; }
  /// Before variables are read or written: throws where the job has failed; where ranks are on devices, brings those of
  /// this process to the host.
  void refreshMirrors();
  /// After variables were written.
  void noteWritten() { newer = Newer::Host; }

  JobOptions options;
  plan::Plan plan;
  RankGrid grid;
  std::vector<int64_t> own; // the ranks that this process runs
  bool hasCommunicationThreads;
  std::vector<std::string> metricNames;
  std::span<std::byte> shared; // empty: ranks are threads
  SharedMemoryWorld world;
  FailureRecord failures{world, plan, grid, hasCommunicationThreads};
  /// Where there are ranks on other machines: ways to them, of each thread that needs some.
  struct Links {
    RemoteLinks ranks, started, reading, reporting;
  };
  std::unique_ptr<Links> links;               // null: all ranks are here
  std::vector<std::unique_ptr<Arena>> arenas; // of ranks on devices: their variables as the host sees them
  std::unique_ptr<Transport> transport;       // null: ranks are on devices
  std::unique_ptr<DeviceTransport> deviceTransport;
  std::vector<std::unique_ptr<DeviceRank>> deviceRanks;            // by rank; null: of another process, or on the host
  RankEndpoints hostless;                                          // of ranks on devices
  std::vector<std::unique_ptr<RankProgram>> programs;              // by rank; null: of another process
  std::vector<std::unique_ptr<CommunicationProgress>> progresses;  // by rank; empty: no threads
  std::vector<std::unique_ptr<CommunicationThread>> communication; // the same
  std::vector<std::unique_ptr<EventRing>> events;                  // the same, of threads that are traced
  std::unique_ptr<VariableTable> variables;
  std::vector<int64_t> touchedBytes;                // by rank, of the last report
  std::vector<std::vector<ProfileEntry>> elsewhere; // by rank: profiles of other processes
  std::vector<std::vector<InstructionEvent>> eventsElsewhere;

private:
  class InitializeTask;
  class StepTask;

  WorldOptions worldOptions() const;
  std::span<std::byte> sharedMemory() const;
  void mapArenas();
  std::vector<int> deviceNumbers();
  void takeDevices();
  /// Runs what is not within a step: an error names the rank, and what was to be done.
  void naming(int64_t rank, const char *what, const std::function<void()> &body) const;
  void bindPrograms();
  void bindDevices();
  void linkMachines();
  void reportPlaces();
  void traceOwn();
  void startCommunication();
  double mostKernelSeconds() const;
  double flopsInHand(int64_t rank) const;
  void exchangeMetrics(TaskMonitor &monitor);
  void collectMetrics();
  void noteEnd(const TeamEnd &end);

  /// Which holds variables that the other one does not have yet.
  enum class Newer { Neither, Host, Device } newer = Newer::Neither;
  std::vector<CrashSite> crashSites;                 // by waiter
  std::vector<int64_t> dpIndices;                    // by rank
  std::vector<std::vector<ReportedMetric>> reported; // by rank, then metric
  StepMetrics metrics;
  std::function<double()> kernelSeconds = [this] { return mostKernelSeconds(); };
  std::function<void()> onCrash = [this] { failures.addCrash(); };
  std::function<void()> onStuck = [this] {
    failures.addStuck(options.watchdogSeconds,
                      options.processes ? options.processes->missing() : std::vector<int64_t>());
  };
  std::unique_ptr<StepTask> step;
  std::unique_ptr<RankTeam> team; // its threads end before what they use
  std::atomic<bool> isReporting{false};
  std::thread reporter; // tells other machines where the rank is
};

/// Lives as long as the job: a thread that is lost may come back to it.
class Job::Impl::StepTask final : public RankTask {
public:
  explicit StepTask(Impl &job) : job(job) {}
  void run(int64_t rank) noexcept override;

  StepInputs *inputs = nullptr; // of the step that runs

private:
  void runOnDevice(int64_t rank, StepContext &context, const std::function<void()> &advanced);

  Impl &job;
};

} // namespace tgpt::runtime

#endif // TGPT_RUNTIME_ENGINE_JOBIMPL_H
