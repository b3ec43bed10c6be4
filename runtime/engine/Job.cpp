//===- Job.cpp - runs a plan on all its ranks -------------------*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts the pieces together: plan check, arenas, transport, bound programs, rank
// threads, watchdog, and the first failure.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Job.h"
#include "runtime/engine/CommunicationThread.h"
#include "runtime/engine/FailureRecord.h"
#include "runtime/engine/RankProgram.h"
#include "runtime/engine/RankTeam.h"
#include "runtime/engine/VariableTable.h"
#include "runtime/engine/Watchdog.h"
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <thread>
#include <unistd.h>

using namespace tgpt;
using namespace tgpt::runtime;

/// Threads of the largest job: ranks of one process.
static constexpr int64_t mostRanks = 4096;

double StepMetrics::value(std::string_view name) const {
  for (const auto &[key, value] : byName)
    if (key == name)
      return value;
  return std::numeric_limits<double>::quiet_NaN();
}

static JobOptions completed(JobOptions options) {
  if (options.threadsPerRank < 1)
    throw Error("threads per rank is " + std::to_string(options.threadsPerRank) + ", it must be at least 1");
  if (options.communicationThreads != 0 && options.communicationThreads != 1)
    throw Error("communication threads per rank is " + std::to_string(options.communicationThreads) +
                ", it must be 0 or 1");
  if (!(options.watchdogSeconds > 0))
    throw Error("the watchdog's bound is " + std::to_string(options.watchdogSeconds) + " s, it must be positive");
  if (options.tracedSteps < 0)
    throw Error("traced steps are " + std::to_string(options.tracedSteps) + ", they must be 0 or more");
  if (!options.kernels.find)
    options.kernels = cpuKernels();
  return options;
}

static plan::Plan checked(plan::Plan plan, const KernelSet &kernels) {
  checkPlan(plan, kernelCheckOf(kernels, plan.mesh()));
  return plan;
}

/// Refuses a plan that cannot fit before the first page of it is touched.
static void checkFits(const plan::Plan &plan, const RankGrid &grid) {
  if (grid.ranks() > mostRanks)
    throw Error("the plan has " + std::to_string(grid.ranks()) + " ranks, one process runs at most " +
                std::to_string(mostRanks));
  double needed = 0;
  for (const plan::StageProgram &stage : plan.stages())
    needed += static_cast<double>(stage.arena_bytes()) * static_cast<double>(grid.ranks() / grid.stages());
  double present = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (needed > present)
    throw Error("the plan needs " + std::to_string(static_cast<int64_t>(needed / 1048576)) + " MiB for its " +
                std::to_string(grid.ranks()) + " ranks, but this machine has " +
                std::to_string(static_cast<int64_t>(present / 1048576)) + " MiB");
}

static std::vector<std::string> metricNamesOf(const plan::Plan &plan) {
  std::set<std::string> names;
  for (const plan::StageProgram &stage : plan.stages())
    for (const plan::Segment &segment : stage.segments())
      for (const plan::Instruction &instruction : segment.instructions())
        if (instruction.kind() == plan::Instruction::OUTPUT)
          names.insert(instruction.opcode());
  return {names.begin(), names.end()};
}

static bool startsCollectives(const plan::Plan &plan) {
  for (const plan::StageProgram &stage : plan.stages())
    for (const plan::Segment &segment : stage.segments())
      for (const plan::Instruction &instruction : segment.instructions())
        if (instruction.event() != 0)
          return true;
  return false;
}

class Job::Impl {
public:
  Impl(plan::Plan given, JobOptions givenOptions);
  void initializeVariables();
  const StepMetrics &runStep(StepInputs &inputs);

  JobOptions options;
  plan::Plan plan;
  RankGrid grid;
  bool hasCommunicationThreads;
  std::vector<std::string> metricNames;
  InProcessWorld world;
  std::vector<std::unique_ptr<Arena>> arenas;
  std::unique_ptr<Transport> transport;
  std::vector<std::unique_ptr<RankProgram>> programs;
  FailureRecord failures{world, grid, programs, communication};
  std::vector<std::unique_ptr<CommunicationThread>> communication; // by rank; empty: no threads
  std::vector<std::unique_ptr<EventRing>> events;                  // by rank; empty: not traced
  std::unique_ptr<VariableTable> variables;

private:
  class InitializeTask;
  class StepTask;

  WorldOptions worldOptions() const;
  void startCommunication();
  double mostKernelSeconds() const;
  void collectMetrics();

  std::vector<int64_t> dpIndices;                    // by rank
  std::vector<std::vector<ReportedMetric>> reported; // by rank, then metric
  StepMetrics metrics;
  std::function<double()> kernelSeconds = [this] { return mostKernelSeconds(); };
  std::function<void()> onStuck = [this] { failures.addStuck(options.watchdogSeconds); };
  std::unique_ptr<StepTask> step;
  std::unique_ptr<RankTeam> team; // last: its threads end before what they use
};

Job::Impl::Impl(plan::Plan given, JobOptions givenOptions)
    : options(completed(std::move(givenOptions))), plan(checked(std::move(given), options.kernels)), grid(plan.mesh()),
      hasCommunicationThreads(options.communicationThreads > 0 && startsCollectives(plan)),
      metricNames(metricNamesOf(plan)), world(worldOptions()) {
  checkFits(plan, grid);
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    arenas.push_back(std::make_unique<Arena>(plan.stages(static_cast<int>(grid.stageOf(rank))).arena_bytes(), rank));
  transport = std::make_unique<Transport>(plan, grid, world, arenas, hasCommunicationThreads ? grid.ranks() : 0);
  BindingContext context{plan, grid, options.kernels, metricNames};
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    programs.push_back(std::make_unique<RankProgram>(context, rank, arenas[rank]->base(), transport->of(rank)));
  for (int64_t rank = 0; rank < grid.ranks() && options.tracedSteps > 0; ++rank)
    events.push_back(std::make_unique<EventRing>(programs[rank]->passedInStep() -
                                                     (hasCommunicationThreads ? programs[rank]->startedInStep() : 0),
                                                 options.tracedSteps));
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    dpIndices.push_back(grid.dataParallelIndex(rank));
  variables = std::make_unique<VariableTable>(plan, grid, arenas);
  reported.assign(grid.ranks(), std::vector<ReportedMetric>(metricNames.size()));
  for (const std::string &name : metricNames)
    metrics.byName.emplace_back(name, std::numeric_limits<double>::quiet_NaN());
  if (hasCommunicationThreads)
    startCommunication();
  step = std::make_unique<StepTask>(*this);
  team = std::make_unique<RankTeam>(grid.ranks(), options.threadsPerRank, options.pinThreads);
}

WorldOptions Job::Impl::worldOptions() const {
  int64_t more = hasCommunicationThreads ? grid.ranks() : 0;
  return {grid.ranks() + more, grid.ranks() * options.threadsPerRank + more};
}

void Job::Impl::startCommunication() {
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    communication.push_back(std::make_unique<CommunicationThread>(
        world, *programs[rank], std::max(programs[rank]->mostStarted(), 1),
        CommunicationThread::Options{
            rank, grid.ranks() + rank, options.profile,
            [this, rank](const std::string &what) { failures.add(grid.ranks() + rank, what); }, options.tracedSteps}));
}

/// What the kernels at hand may take by their operations, on the cores that there are for each rank.
double Job::Impl::mostKernelSeconds() const {
  if (!(options.kernels.slowestFlopsPerSecond > 0))
    return 0;
  double flops = 0;
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    if (!world.waitsAt(rank) && !world.isIdle(rank))
      flops = std::max(flops, programs[rank]->currentFlops());
  double ranksPerCore = static_cast<double>(grid.ranks()) / std::max(1u, std::thread::hardware_concurrency());
  return flops / options.kernels.slowestFlopsPerSecond * std::max(1.0, ranksPerCore);
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

/// Lives as long as the job: a thread that is lost may come back to it.
class Job::Impl::StepTask final : public RankTask {
public:
  explicit StepTask(Impl &job) : job(job) {}
  void run(int64_t rank) noexcept override {
    RankProgram &program = *job.programs[rank];
    CommunicationThread *communication = job.hasCommunicationThreads ? job.communication[rank].get() : nullptr;
    StepContext context{inputs,
                        job.dpIndices[rank],
                        0,
                        -1,
                        job.reported[rank],
                        communication,
                        job.events.empty() ? nullptr : job.events[rank].get()};
    try {
      program.runStep(context, job.options.profile, [&] {
        job.world.noteProgress(rank);
        if (job.world.aborted())
          throw JobAborted();
      });
    } catch (const JobAborted &) {
      // Another rank, or the watchdog, carries the message.
    } catch (const std::exception &error) {
      job.failures.add(rank, program.placeText() + ": " + error.what());
    } catch (...) {
      job.failures.add(rank, program.placeText() + ": unknown exception");
    }
    if (communication)
      communication->settle(); // after a failure it may still be in the arenas
    job.world.setIdle(rank, true);
  }

  StepInputs *inputs = nullptr; // of the step that runs

private:
  Impl &job;
};

void Job::Impl::initializeVariables() {
  failures.throwIfAny();
  InitializeTask task(*this);
  team->run(task);
  failures.throwIfAny();
}

const StepMetrics &Job::Impl::runStep(StepInputs &inputs) {
  failures.throwIfAny();
  for (std::vector<ReportedMetric> &rank : reported)
    std::fill(rank.begin(), rank.end(), ReportedMetric());
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    world.setIdle(rank, false); // until it is through: one that does not even begin is missed as well
  step->inputs = &inputs;
  Watchdog watchdog(world, options.watchdogSeconds, kernelSeconds, onStuck);
  bool allReturned = team->run(*step, watchdog);
  failures.throwIfAny(/*hasLostThreads=*/!allReturned);
  collectMetrics();
  return metrics;
}

/// Takes each metric from the first rank that reported it; all others must agree.
void Job::Impl::collectMetrics() {
  for (size_t m = 0; m < metricNames.size(); ++m) {
    int64_t first = -1;
    for (int64_t rank = 0; rank < grid.ranks(); ++rank) {
      const ReportedMetric &metric = reported[rank][m];
      if (!metric.reported)
        continue;
      if (first < 0) {
        first = rank;
        metrics.byName[m].second = metric.value;
      } else if (std::bit_cast<uint64_t>(metric.value) != std::bit_cast<uint64_t>(reported[first][m].value)) {
        failures.add(rank, "metric '" + metricNames[m] + "': it is " + std::to_string(metric.value) + " here, but " +
                               std::to_string(reported[first][m].value) + " on " + grid.describe(first));
        failures.throwIfAny();
      }
    }
  }
  metrics.loss = metrics.value("loss");
  metrics.gradNorm = metrics.value("grad_norm");
  metrics.tokenCount = metrics.value("token_count");
}

Job::Job(plan::Plan plan, JobOptions options) : impl(std::make_unique<Impl>(std::move(plan), std::move(options))) {}

/// A thread that is lost goes on using its arena and program, so these outlive the job.
Job::~Job() {
  static auto &kept = *new std::vector<std::unique_ptr<Impl>>;
  if (impl->failures.hasLostThreads())
    kept.push_back(std::move(impl));
}

const plan::Plan &Job::plan() const {
  return impl->plan;
}
int64_t Job::ranks() const {
  return impl->grid.ranks();
}
void Job::initializeVariables() {
  impl->initializeVariables();
}
const StepMetrics &Job::runStep(StepInputs &inputs) {
  return impl->runStep(inputs);
}

std::vector<std::string> Job::variableNames() const {
  return impl->variables->names();
}
const plan::Variable &Job::variable(std::string_view name) const {
  return impl->variables->entry(name);
}
LogicalTensor Job::readVariable(std::string_view name) const {
  return impl->variables->read(name);
}
void Job::writeVariable(std::string_view name, const LogicalTensor &value) {
  impl->variables->write(name, value);
}
void Job::verifyCopiesEqual() const {
  impl->variables->verifyCopiesEqual();
}

int64_t Job::highWaterBytes(int64_t rank) const {
  return (impl->programs[rank]->touchedBytes() + regionGrainBytes - 1) / regionGrainBytes * regionGrainBytes;
}
int64_t Job::plannedBytes(int64_t rank) const {
  return impl->plan.stages(static_cast<int>(impl->grid.stageOf(rank))).arena_bytes();
}
std::string Job::describeRank(int64_t rank) const {
  return impl->grid.describe(rank);
}

std::vector<ProfileEntry> Job::profile(int64_t rank) const {
  std::vector<ProfileEntry> entries;
  if (!impl->options.profile)
    return entries;
  entries = impl->programs[rank]->profile;
  if (impl->hasCommunicationThreads) {
    const std::vector<ProfileEntry> &started = impl->communication[rank]->profile;
    entries.insert(entries.end(), started.begin(), started.end());
  }
  std::erase_if(entries, [](const ProfileEntry &entry) { return entry.calls == 0; });
  std::stable_sort(entries.begin(), entries.end(),
                   [](const ProfileEntry &a, const ProfileEntry &b) { return a.seconds > b.seconds; });
  return entries;
}

void Job::resetProfile() {
  for (const std::unique_ptr<RankProgram> &program : impl->programs)
    for (ProfileEntry &entry : program->profile)
      entry = ProfileEntry{entry.opcode};
  for (const std::unique_ptr<CommunicationThread> &thread : impl->communication)
    thread->profile = thread->emptyProfile();
}

std::vector<InstructionEvent> Job::events(int64_t rank) const {
  std::vector<InstructionEvent> list;
  auto stage = static_cast<int>(impl->grid.stageOf(rank));
  auto take = [&](const EventRing &ring, bool isBeside) {
    ring.forEach([&](const EventRing::Record &record, int64_t step) {
      InstructionEvent event{.rank = rank,
                             .step = step,
                             .stage = stage,
                             .entry = record.entry,
                             .instruction = record.instruction,
                             .beginSeconds = static_cast<double>(record.beginNanoseconds) * 1e-9,
                             .endSeconds = static_cast<double>(record.endNanoseconds) * 1e-9};
      if (isBeside)
        event.stream = event.instructionIn(impl->plan).stream();
      list.push_back(event);
    });
  };
  if (!impl->events.empty())
    take(*impl->events[rank], false);
  if (impl->hasCommunicationThreads && !impl->events.empty())
    take(impl->communication[rank]->events, true);
  return list;
}
