//===- JobStep.cpp - a job at work: initial values, steps, and how they end ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/JobImpl.h"
#include "runtime/engine/Watchdog.h"
#include "runtime/plan/Error.h"

#include <algorithm>

using namespace tgpt;
using namespace tgpt::runtime;

/// Rank 0 watches; others come in where it does not.
static constexpr double secondWatchSeconds = 1;

/// Of the kernel that a rank is at; of one on a device, of the whole segment, since that is what it follows.
double Job::Impl::flopsInHand(int64_t rank) const {
  const SchedulePlace &place = world.placeOf(rank);
  const plan::Instruction *at = instructionAt(plan, grid.stageOf(rank), place);
  if (!at)
    return 0;
  if (!isOnDevice())
    return at->kind() == plan::Instruction::KERNEL ? static_cast<double>(at->cost().flops()) : 0;
  const plan::StageProgram &stage = plan.stages(static_cast<int>(grid.stageOf(rank)));
  auto entry = static_cast<int>(place.entry.load(std::memory_order_relaxed));
  double flops = 0;
  for (const plan::Instruction &instruction :
       stage.segments(static_cast<int>(stage.schedule(entry).segment())).instructions())
    flops += static_cast<double>(instruction.cost().flops());
  return flops;
}

/// What the kernels at hand may take by their operations, on the cores that there are for each rank.
double Job::Impl::mostKernelSeconds() const {
  if (!(options.kernels.slowestFlopsPerSecond > 0))
    return 0;
  double flops = 0;
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    if (!world.waitsAt(rank) && !world.isIdle(rank))
      flops = std::max(flops, flopsInHand(rank));
  double ranksPerCore = static_cast<double>(grid.ranks()) / std::max(1u, std::thread::hardware_concurrency());
  return flops / options.kernels.slowestFlopsPerSecond * std::max(1.0, ranksPerCore);
}

/// On the team's thread, or where a gather ends.
void Job::Impl::noteEnd(const TeamEnd &end) {
  switch (end.kind) {
  case TeamEnd::Kind::Lost:
    return failures.addDied(end.rank, "its process has ended without a word (killed, or out of memory)");
  case TeamEnd::Kind::Silent:
    return failures.addDied(end.rank, "its process does not answer (suspended, or its machine is gone)");
  case TeamEnd::Kind::Failed:
    return failures.addTold(end.rank, beginsWithRank(end.text, end.rank)
                                          ? end.text
                                          : grid.describe(end.rank) + ", in its process: " + end.text);
  case TeamEnd::Kind::Told: return failures.addTold(end.rank, end.text);
  }
}

std::vector<std::string> Job::Impl::gather(const std::string &bytes, TaskMonitor *monitor) {
  try {
    auto goOn = [&] { return !world.aborted() && (!monitor || monitor->goOn()); };
    std::vector<std::string> all = options.processes->gather(bytes, monitor ? monitor->pollSeconds() : 0.1, goOn);
    if (!all.empty())
      return all;
  } catch (const TeamEnded &ended) {
    noteEnd(ended.end);
  }
  failures.awaitRest();
  failures.throwIfAny();
  throw Error("the job has ended"); // an abort always comes with its reason
}

class Job::Impl::InitializeTask final : public RankTask {
public:
  explicit InitializeTask(Impl &job) : job(job) {}
  void run(int64_t rank) noexcept override {
    try {
      job.variables->initialize(rank);
    } catch (const std::exception &error) {
      job.failures.add(rank, std::string("initial values: ") + error.what());
    }
  }

private:
  Impl &job;
};

void Job::Impl::StepTask::run(int64_t rank) noexcept {
  enterCrashSite(job.crashSites[rank]);
  RankProgram &program = *job.programs[rank];
  CommunicationThread *communication = job.hasCommunicationThreads ? job.communication[rank].get() : nullptr;
  StepContext context{inputs,
                      job.dpIndices[rank],
                      0,
                      -1,
                      job.reported[rank],
                      communication,
                      job.events.empty() ? nullptr : job.events[rank].get()};
  auto advanced = [&] {
    job.world.noteProgress(rank);
    if (job.world.aborted())
      throw JobAborted();
  };
  try {
    if (job.isOnDevice())
      runOnDevice(rank, context, advanced);
    else
      program.runStep(context, job.options.profile, advanced);
  } catch (const JobAborted &) {
    // Another rank, or the watchdog, carries the message.
  } catch (const Error &error) {
    job.failures.add(rank, program.placeText() + ": " + error.what(), error.details());
  } catch (const std::exception &error) {
    job.failures.add(rank, program.placeText() + ": " + error.what());
  } catch (...) {
    job.failures.add(rank, program.placeText() + ": unknown exception");
  }
  if (communication)
    communication->settle(); // after a failure it may still be in the arenas
  if (job.isOnDevice() && job.world.aborted()) {
    job.deviceTransport->abort();
    job.deviceRanks[rank]->settle();
  }
  job.world.setIdle(rank, true);
}

void Job::Impl::StepTask::runOnDevice(int64_t rank, StepContext &context, const std::function<void()> &advanced) {
  DeviceRank &device = *job.deviceRanks[rank];
  device.rehearse(advanced);
  if (job.newer == Newer::Host)
    device.upload(job.arenas[rank]->base());
  device.runStep(context, job.options.profile, advanced);
}

void Job::Impl::refreshMirrors() {
  failures.throwIfAny(); // ranks may have stopped anywhere in their step
  if (newer != Newer::Device)
    return;
  for (int64_t rank : own)
    naming(rank, "reading the variables of its device", [&] { deviceRanks[rank]->download(arenas[rank]->base()); });
  newer = Newer::Neither;
}

void Job::Impl::initializeVariables() {
  failures.throwIfAny();
  InitializeTask task(*this);
  team->run(task);
  failures.throwIfAny();
  noteWritten();
  if (options.processes)
    gather("");
}

const StepMetrics &Job::Impl::runStep(StepInputs &inputs) {
  failures.throwIfAny();
  for (std::vector<ReportedMetric> &rank : reported)
    std::fill(rank.begin(), rank.end(), ReportedMetric());
  for (int64_t rank : own) {
    world.placeOf(rank).clear();
    world.setIdle(rank, false); // until it is through: one that does not even begin is missed as well
  }
  step->inputs = &inputs;
  double patience = options.watchdogSeconds + (own.front() == 0 ? 0 : secondWatchSeconds);
  Watchdog watchdog(world, patience, kernelSeconds, onStuck, options.processes ? nullptr : onCrash);
  bool allReturned = team->run(*step, watchdog);
  if (options.processes && world.aborted())
    failures.awaitRest();
  failures.throwIfAny(/*hasLostThreads=*/!allReturned);
  if (isOnDevice())
    newer = Newer::Device;
  if (options.processes)
    exchangeMetrics(watchdog);
  collectMetrics();
  return metrics;
}
