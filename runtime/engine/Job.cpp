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
#include "runtime/engine/CrashSite.h"
#include "runtime/engine/FailureRecord.h"
#include "runtime/engine/RankProgram.h"
#include "runtime/engine/RankTeam.h"
#include "runtime/engine/VariableTable.h"
#include "runtime/engine/Watchdog.h"
#include "runtime/launch/ProcessTeam.h"
#include "runtime/plan/BufferExtent.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>
#include <thread>
#include <type_traits>
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
static void checkFits(const plan::Plan &plan, const RankGrid &grid, const std::vector<int64_t> &ranksHere) {
  if (grid.ranks() > mostRanks)
    throw Error("the plan has " + std::to_string(grid.ranks()) + " ranks, one process runs at most " +
                std::to_string(mostRanks));
  double needed = 0;
  for (int64_t rank : ranksHere)
    needed += static_cast<double>(plan.stages(static_cast<int>(grid.stageOf(rank))).arena_bytes());
  double present = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (needed > present)
    throw Error("the plan needs " + std::to_string(static_cast<int64_t>(needed / 1048576)) + " MiB for its " +
                std::to_string(ranksHere.size()) + " ranks, but this machine has " +
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

static std::vector<int64_t> ranksOfThisProcess(const JobOptions &options, int64_t ranks) {
  if (options.processes)
    return {options.processes->rank()};
  std::vector<int64_t> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// What a world keeps beside the transport's state: two waiters a rank, their communication, the failure's text.
static size_t worldBytes(const plan::Plan &plan, const RankGrid &grid) {
  constexpr size_t fixedBytes = 65536, waiterBytes = 512;
  size_t bytes = fixedBytes + 2 * waiterBytes * static_cast<size_t>(grid.ranks()) + Transport::stateBytes(plan, grid);
  return (bytes + 4095) / 4096 * 4096;
}

static std::string encoded(const std::vector<ProfileEntry> &profile) {
  FieldWriter fields;
  for (const ProfileEntry &entry : profile) {
    fields.add(entry.opcode).add(entry.calls).add(static_cast<int64_t>(entry.inFlight));
    for (double value : {entry.seconds, entry.cpuSeconds, entry.flops, entry.bytes})
      fields.add(std::bit_cast<int64_t>(value));
  }
  return fields.bytes();
}

static std::vector<ProfileEntry> decodedProfile(const std::string &bytes) {
  std::vector<ProfileEntry> profile;
  FieldReader fields(bytes);
  while (true) {
    ProfileEntry entry;
    entry.opcode = fields.text();
    entry.calls = fields.number();
    entry.inFlight = fields.number() != 0;
    for (double *value : {&entry.seconds, &entry.cpuSeconds, &entry.flops, &entry.bytes})
      *value = std::bit_cast<double>(fields.number());
    if (!fields.isGood())
      return profile;
    profile.push_back(std::move(entry));
  }
}

// Processes of one program: the bytes mean the same to all.
static std::string encoded(const std::vector<InstructionEvent> &events) {
  static_assert(std::is_trivially_copyable_v<InstructionEvent>);
  return {reinterpret_cast<const char *>(events.data()), events.size() * sizeof(InstructionEvent)};
}

static std::vector<InstructionEvent> decodedEvents(const std::string &bytes) {
  std::vector<InstructionEvent> events(bytes.size() / sizeof(InstructionEvent));
  if (!events.empty())
    std::memcpy(events.data(), bytes.data(), events.size() * sizeof(InstructionEvent));
  return events;
}

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

  JobOptions options;
  plan::Plan plan;
  RankGrid grid;
  std::vector<int64_t> own; // the ranks that this process runs
  bool hasCommunicationThreads;
  std::vector<std::string> metricNames;
  std::span<std::byte> shared; // empty: ranks are threads
  InProcessWorld world;
  FailureRecord failures{world, plan, grid, hasCommunicationThreads};
  /// Where there are ranks on other machines: ways to them, of each thread that needs some.
  struct Links {
    RemoteLinks ranks, started, reading, reporting;
  };
  std::unique_ptr<Links> links; // null: all ranks are here
  std::vector<std::unique_ptr<Arena>> arenas;
  std::unique_ptr<Transport> transport;
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
  void linkMachines();
  void reportPlaces();
  void traceOwn();
  void startCommunication();
  double mostKernelSeconds() const;
  void exchangeMetrics(TaskMonitor &monitor);
  void collectMetrics();
  void noteEnd(const TeamEnd &end);

  std::vector<CrashSite> crashSites;                 // by waiter
  std::vector<int64_t> dpIndices;                    // by rank
  std::vector<std::vector<ReportedMetric>> reported; // by rank, then metric
  StepMetrics metrics;
  std::function<double()> kernelSeconds = [this] { return mostKernelSeconds(); };
  std::function<void()> onCrash = [this] { failures.addCrash(); };
  std::function<void()> onStuck = [this] { failures.addStuck(options.watchdogSeconds); };
  std::unique_ptr<StepTask> step;
  std::unique_ptr<RankTeam> team; // its threads end before what they use
  std::atomic<bool> isReporting{false};
  std::thread reporter; // tells other machines where the rank is
};

/// Rank 0 watches; others come in where it does not.
static constexpr double secondWatchSeconds = 1;

Job::Impl::Impl(plan::Plan given, JobOptions givenOptions)
    : options(completed(std::move(givenOptions))), plan(checked(std::move(given), options.kernels)), grid(plan.mesh()),
      own(ranksOfThisProcess(options, grid.ranks())),
      hasCommunicationThreads(options.communicationThreads > 0 && startsCollectives(plan)),
      metricNames(metricNamesOf(plan)), shared(sharedMemory()),
      world(worldOptions(), shared.empty() ? shared : shared.first(worldBytes(plan, grid))) {
  mapArenas();
  linkMachines();
  transport = std::make_unique<Transport>(plan, grid, world, arenas, hasCommunicationThreads ? grid.ranks() : 0,
                                          options.processes != nullptr, links ? &links->ranks : nullptr,
                                          links ? &links->started : nullptr);
  BindingContext context{plan, grid, options.kernels, metricNames};
  programs.resize(grid.ranks());
  for (int64_t rank : own)
    programs[rank] =
        std::make_unique<RankProgram>(context, rank, arenas[rank]->base(), transport->of(rank), world.placeOf(rank));
  if (options.tracedSteps > 0)
    traceOwn();
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    dpIndices.push_back(grid.dataParallelIndex(rank));
  for (int64_t waiter = 0; waiter < world.waiters(); ++waiter)
    crashSites.push_back({&world, waiter, options.processes != nullptr});
  variables = std::make_unique<VariableTable>(plan, grid, arenas, own);
  if (links)
    variables->refresh = [this](int64_t rank, void *at, size_t bytes) {
      if (RemoteMemory *machine = links->reading.to(rank))
        machine->fetch(at, bytes);
    };
  touchedBytes.resize(grid.ranks());
  elsewhere.resize(grid.ranks());
  eventsElsewhere.resize(grid.ranks());
  reported.assign(grid.ranks(), std::vector<ReportedMetric>(metricNames.size()));
  for (const std::string &name : metricNames)
    metrics.byName.emplace_back(name, std::numeric_limits<double>::quiet_NaN());
  if (hasCommunicationThreads)
    startCommunication();
  step = std::make_unique<StepTask>(*this);
  team = std::make_unique<RankTeam>(own, options.threadsPerRank, options.pinThreads);
  if (options.processes) {
    options.processes->onEnd([this](const TeamEnd &end) { noteEnd(end); });
    try {
      gather(""); // nobody begins before all are there
      if (links) {
        isReporting.store(true);
        reporter = std::thread([this] { reportPlaces(); });
      }
    } catch (...) {
      options.processes->onEnd(nullptr);
      communication.clear();
      forgetCrashSites(world);
      throw;
    }
  }
}

Job::Impl::~Impl() {
  isReporting.store(false);
  if (reporter.joinable())
    reporter.join();
  if (options.processes)
    options.processes->onEnd(nullptr);
  forgetCrashSites(world);
}

std::span<std::byte> Job::Impl::sharedMemory() const {
  checkFits(plan, grid, options.processes ? options.processes->neighbours() : own);
  if (!options.processes)
    return {};
  if (options.processes->ranks() != grid.ranks())
    throw Error("there are " + std::to_string(options.processes->ranks()) + " processes, but the plan has " +
                std::to_string(grid.ranks()) + " ranks");
  size_t bytes = worldBytes(plan, grid);
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    bytes += static_cast<size_t>(Arena::mappedBytes(plan.stages(static_cast<int>(grid.stageOf(rank))).arena_bytes()));
  return options.processes->shareMemory(bytes);
}

void Job::Impl::mapArenas() {
  size_t at = worldBytes(plan, grid);
  for (int64_t rank = 0; rank < grid.ranks(); ++rank) {
    int64_t bytes = plan.stages(static_cast<int>(grid.stageOf(rank))).arena_bytes();
    arenas.push_back(shared.empty() ? std::make_unique<Arena>(bytes, rank)
                                    : std::make_unique<Arena>(bytes, rank, shared.data() + at));
    at += static_cast<size_t>(Arena::mappedBytes(bytes));
  }
}

WorldOptions Job::Impl::worldOptions() const {
  int64_t more = hasCommunicationThreads ? grid.ranks() : 0;
  return {grid.ranks() + more, grid.ranks() * options.threadsPerRank + more};
}

void Job::Impl::startCommunication() {
  communication.resize(grid.ranks());
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    progresses.push_back(std::make_unique<CommunicationProgress>(world, grid.ranks() + rank));
  for (int64_t rank : own)
    communication[rank] = std::make_unique<CommunicationThread>(
        world, *programs[rank], std::max(programs[rank]->mostStarted(), 1), *progresses[rank],
        CommunicationThread::Options{rank, grid.ranks() + rank, options.profile, options.processes != nullptr,
                                     [this, rank](const std::string &what) { failures.add(grid.ranks() + rank, what); },
                                     options.tracedSteps});
}

void Job::Impl::linkMachines() {
  if (!options.processes || options.processes->isOnOneMachine())
    return;
  ProcessTeam &processes = *options.processes;
  processes.serveMemory(shared);
  gather(""); // all have it
  links = std::make_unique<Links>();
  auto isAborted = [this] { return world.aborted(); };
  links->ranks = processes.linkMachines(shared, isAborted);
  if (hasCommunicationThreads)
    links->started = processes.linkMachines(shared, isAborted);
  links->reading = processes.linkMachines(shared, isAborted);
  links->reporting = processes.linkMachines(shared, [this] { return !isReporting.load(); });
  for (int64_t waiter = 0; waiter < world.waiters(); ++waiter)
    if (links->ranks.to(waiter % grid.ranks()))
      world.setElsewhere(waiter);
  failures.announce = [&processes](const std::string &text) { processes.fail(text, TeamEnd::Kind::Told); };
}

/// How often other machines learn of it.
static constexpr auto reportPause = std::chrono::milliseconds(100);

void Job::Impl::reportPlaces() {
  try {
    while (isReporting.load()) {
      for (int64_t waiter = own.front(); waiter < world.waiters(); waiter += grid.ranks()) {
        std::span<const std::byte> bytes = world.report(waiter);
        for (const std::unique_ptr<RemoteMemory> &machine : links->reporting.machines)
          machine->store(bytes.data(), bytes.size());
      }
      std::this_thread::sleep_for(reportPause);
    }
  } catch (const JobAborted &) {
  } catch (const Error &) {
    // Whether a machine is gone, the team finds out.
  }
}

void Job::Impl::traceOwn() {
  events.resize(grid.ranks());
  for (int64_t rank : own) {
    const RankProgram &program = *programs[rank];
    int64_t passed = program.passedInStep() - (hasCommunicationThreads ? program.startedInStep() : 0);
    events[rank] = std::make_unique<EventRing>(passed, options.tracedSteps);
  }
}

/// What the kernels at hand may take by their operations, on the cores that there are for each rank.
double Job::Impl::mostKernelSeconds() const {
  if (!(options.kernels.slowestFlopsPerSecond > 0))
    return 0;
  double flops = 0;
  for (int64_t rank = 0; rank < grid.ranks(); ++rank) {
    if (world.waitsAt(rank) || world.isIdle(rank))
      continue;
    const plan::Instruction *at = instructionAt(plan, grid.stageOf(rank), world.placeOf(rank));
    if (at && at->kind() == plan::Instruction::KERNEL)
      flops = std::max(flops, static_cast<double>(at->cost().flops()));
  }
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
    return failures.addTold(end.rank, grid.describe(end.rank) + ", in its process: " + end.text);
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

/// Lives as long as the job: a thread that is lost may come back to it.
class Job::Impl::StepTask final : public RankTask {
public:
  explicit StepTask(Impl &job) : job(job) {}
  void run(int64_t rank) noexcept override {
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
  if (options.processes)
    gather("");
}

const StepMetrics &Job::Impl::runStep(StepInputs &inputs) {
  failures.throwIfAny();
  for (std::vector<ReportedMetric> &rank : reported)
    std::fill(rank.begin(), rank.end(), ReportedMetric());
  for (int64_t rank : own)
    world.setIdle(rank, false); // until it is through: one that does not even begin is missed as well
  step->inputs = &inputs;
  double patience = options.watchdogSeconds + (own.front() == 0 ? 0 : secondWatchSeconds);
  Watchdog watchdog(world, patience, kernelSeconds, onStuck, options.processes ? nullptr : onCrash);
  bool allReturned = team->run(*step, watchdog);
  if (options.processes && world.aborted())
    failures.awaitRest();
  failures.throwIfAny(/*hasLostThreads=*/!allReturned);
  if (options.processes)
    exchangeMetrics(watchdog);
  collectMetrics();
  return metrics;
}

/// Every process gets what all ranks reported; also the end of the step for all of them.
void Job::Impl::exchangeMetrics(TaskMonitor &monitor) {
  const std::vector<ReportedMetric> &mine = reported[own.front()];
  std::vector<std::string> all =
      gather(std::string(reinterpret_cast<const char *>(mine.data()), mine.size() * sizeof(ReportedMetric)), &monitor);
  for (int64_t rank = 0; rank < grid.ranks(); ++rank)
    std::memcpy(reported[rank].data(), all[rank].data(),
                std::min(all[rank].size(), metricNames.size() * sizeof(ReportedMetric)));
}

void Job::Impl::exchangeReports() {
  for (int64_t rank : own)
    touchedBytes[rank] = programs[rank]->touchedBytes();
  if (!options.processes)
    return;
  FieldWriter mine;
  mine.add(touchedBytes[own.front()]).add(encoded(profileOf(own.front()))).add(encoded(eventsOf(own.front())));
  std::vector<std::string> all = gather(mine.bytes());
  for (int64_t rank = 0; rank < grid.ranks(); ++rank) {
    FieldReader fields(all[rank]);
    touchedBytes[rank] = fields.number();
    elsewhere[rank] = decodedProfile(fields.text());
    eventsElsewhere[rank] = decodedEvents(fields.text());
  }
}

/// Of a rank of this process.
std::vector<ProfileEntry> Job::Impl::profileOf(int64_t rank) const {
  std::vector<ProfileEntry> entries;
  if (!options.profile)
    return entries;
  entries = programs[rank]->profile;
  if (hasCommunicationThreads) {
    const std::vector<ProfileEntry> &started = communication[rank]->profile;
    entries.insert(entries.end(), started.begin(), started.end());
  }
  std::erase_if(entries, [](const ProfileEntry &entry) { return entry.calls == 0; });
  std::stable_sort(entries.begin(), entries.end(),
                   [](const ProfileEntry &a, const ProfileEntry &b) { return a.seconds > b.seconds; });
  return entries;
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
  int64_t touched = impl->programs[rank] ? impl->programs[rank]->touchedBytes() : impl->touchedBytes[rank];
  return (touched + regionGrainBytes - 1) / regionGrainBytes * regionGrainBytes;
}
int64_t Job::plannedBytes(int64_t rank) const {
  return impl->plan.stages(static_cast<int>(impl->grid.stageOf(rank))).arena_bytes();
}
std::string Job::describeRank(int64_t rank) const {
  return impl->grid.describe(rank);
}

std::vector<ProfileEntry> Job::profile(int64_t rank) const {
  return impl->programs[rank] ? impl->profileOf(rank) : impl->elsewhere[rank];
}

void Job::resetProfile() {
  for (int64_t rank : impl->own)
    for (ProfileEntry &entry : impl->programs[rank]->profile)
      entry = ProfileEntry{entry.opcode};
  for (const std::unique_ptr<CommunicationThread> &thread : impl->communication)
    if (thread)
      thread->profile = thread->emptyProfile();
}

void Job::onFirstProcess(const std::function<void()> &body) {
  if (isFirstProcess()) {
    try {
      body();
    } catch (const JobAborted &) { // out of reading from another machine
      impl->failures.awaitRest();
      impl->failures.throwIfAny();
    }
  }
  if (impl->options.processes)
    impl->gather("");
}

bool Job::anySays(bool yes) {
  if (!impl->options.processes)
    return yes;
  std::vector<std::string> all = impl->gather(yes ? "y" : "n");
  return std::find(all.begin(), all.end(), "y") != all.end();
}

void Job::exchangeReports() {
  impl->exchangeReports();
}
bool Job::isFirstProcess() const {
  return !impl->options.processes || impl->options.processes->rank() == 0;
}
bool Job::foundStuck() const {
  return impl->failures.foundStuck();
}

std::vector<InstructionEvent> Job::Impl::eventsOf(int64_t rank) const {
  std::vector<InstructionEvent> list;
  auto stage = static_cast<int>(grid.stageOf(rank));
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
        event.stream = event.instructionIn(plan).stream();
      list.push_back(event);
    });
  };
  if (!events.empty())
    take(*events[rank], false);
  if (hasCommunicationThreads && !events.empty())
    take(communication[rank]->events, true);
  return list;
}

std::vector<InstructionEvent> Job::events(int64_t rank) const {
  return impl->programs[rank] ? impl->eventsOf(rank) : impl->eventsElsewhere[rank];
}
