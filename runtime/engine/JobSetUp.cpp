//===- JobSetUp.cpp - puts a job together ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plan check, arenas, transport, bound programs, rank threads; where ranks are processes,
// the memory that they share and the ways to other machines.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/JobImpl.h"
#include "runtime/launch/ChooseDevice.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>
#include <unistd.h>

using namespace tgpt;
using namespace tgpt::runtime;

/// Threads of the largest job: ranks of one process.
static constexpr int64_t mostRanks = 4096;

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
    options.kernels = options.device.backend ? options.device.backend->kernels : cpuKernels();
  if (options.profile || options.tracedSteps > 0) // what the thread issues takes no time, so it waits for each
    options.device.waitsForEach = true;
  return options;
}

static plan::Plan checked(plan::Plan plan, const KernelSet &kernels) {
  checkPlan(plan, kernelCheckOf(kernels, plan.mesh()));
  return plan;
}

/// What the host holds of a rank's arena: all of it, or, of one on a device, what outlives a step.
static double hostBytes(const plan::StageProgram &stage, bool isOnDevice) {
  double persistent = 0;
  for (const plan::Region &region : stage.regions())
    if (isPersistent(region))
      persistent += static_cast<double>(region.slot_bytes());
  return isOnDevice ? persistent : static_cast<double>(stage.arena_bytes());
}

/// Refuses a plan that cannot fit before the first page of it is touched.
static void checkFits(const plan::Plan &plan, const RankGrid &grid, const std::vector<int64_t> &ranksHere,
                      bool isOnDevice) {
  if (grid.ranks() > mostRanks)
    throw Error("the plan has " + std::to_string(grid.ranks()) + " ranks, one process runs at most " +
                std::to_string(mostRanks));
  double needed = 0;
  for (int64_t rank : ranksHere)
    needed += hostBytes(plan.stages(static_cast<int>(grid.stageOf(rank))), isOnDevice);
  double present = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (needed > present)
    throw Error("the plan needs " + std::to_string(static_cast<int64_t>(needed / 1048576)) + " MiB for " +
                (isOnDevice ? "the variables of its " : "its ") + std::to_string(ranksHere.size()) +
                " ranks, but this machine has " + std::to_string(static_cast<int64_t>(present / 1048576)) + " MiB");
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

Job::Impl::Impl(plan::Plan given, JobOptions givenOptions)
    : options(completed(std::move(givenOptions))), plan(checked(std::move(given), options.kernels)), grid(plan.mesh()),
      own(ranksOfThisProcess(options, grid.ranks())),
      hasCommunicationThreads(!isOnDevice() && options.communicationThreads > 0 && startsCollectives(plan)),
      metricNames(metricNamesOf(plan)), shared(sharedMemory()),
      world(worldOptions(), shared.empty() ? shared : shared.first(worldBytes(plan, grid))) {
  mapArenas();
  linkMachines();
  if (isOnDevice())
    takeDevices();
  else
    transport = std::make_unique<Transport>(plan, grid, world, arenas, hasCommunicationThreads ? grid.ranks() : 0,
                                            options.processes != nullptr, links ? &links->ranks : nullptr,
                                            links ? &links->started : nullptr);
  bindPrograms();
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
  checkFits(plan, grid, options.processes ? options.processes->neighbours() : own, isOnDevice());
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

/// The collectives of ranks on devices are not the host's.
static RankEndpoints noEndpoints(const plan::Plan &plan) {
  RankEndpoints none;
  none.groups.resize(static_cast<size_t>(plan.groups_size()));
  none.startedGroups = none.groups;
  none.senders.resize(static_cast<size_t>(plan.channels_size()));
  none.receivers.resize(static_cast<size_t>(plan.channels_size()));
  return none;
}

void Job::Impl::bindPrograms() {
  BindingContext context{plan, grid, options.kernels, metricNames};
  hostless = noEndpoints(plan);
  programs.resize(grid.ranks());
  for (int64_t rank : own)
    programs[rank] =
        std::make_unique<RankProgram>(context, rank, isOnDevice() ? deviceRanks[rank]->arena() : arenas[rank]->base(),
                                      isOnDevice() ? hostless : transport->of(rank), world.placeOf(rank));
  if (isOnDevice())
    bindDevices();
}

/// CUDA_VISIBLE_DEVICES, for messages: what it leaves is what is counted.
static std::optional<std::string> visibleDevices() {
  const char *text = std::getenv("CUDA_VISIBLE_DEVICES");
  return text ? std::optional<std::string>(text) : std::nullopt;
}

/// The numbers of the devices of this process's ranks; processes tell each other.
std::vector<int> Job::Impl::deviceNumbers() {
  DeviceRuntime &device = *options.device.backend->device;
  if (!options.processes)
    return chooseDevices(static_cast<int64_t>(own.size()), device.count(), visibleDevices());
  ProcessTeam &processes = *options.processes;
  int number = chooseDevice(
      {processes.localRank(), static_cast<int64_t>(processes.neighbours().size()), device.count(), visibleDevices()});
  std::vector<std::string> addresses = gather(device.address(number));
  std::vector<DeviceClaim> claims;
  for (const Member &member : processes.members())
    claims.push_back({member.rank, member.machine, member.host, addresses[static_cast<size_t>(member.rank)]});
  checkClaims(claims);
  return {number};
}

static constexpr const char *setUpText = "setting up its device";

void Job::Impl::naming(int64_t rank, const char *what, const std::function<void()> &body) const {
  try {
    body();
  } catch (const Error &error) {
    throw Error(grid.describe(rank) + ", " + what + ": " + error.what(), error.details());
  }
}

void Job::Impl::takeDevices() {
  std::vector<int> numbers = deviceNumbers();
  deviceRanks.resize(grid.ranks());
  for (size_t i = 0; i < own.size(); ++i)
    naming(own[i], setUpText, [&, rank = own[i], number = numbers[i]] {
      deviceRanks[rank] = std::make_unique<DeviceRank>(DeviceRankRequest{plan, grid, options.device, rank, number,
                                                                         options.communicationThreads > 0,
                                                                         [this] { return world.aborted(); }});
    });
}

void Job::Impl::bindDevices() {
  DeviceTransportRequest request{plan, grid, *options.device.backend->device, own, {}, world, options.processes};
  for (int64_t rank : own)
    request.devices.push_back(deviceRanks[rank]->deviceNumber());
  deviceTransport = options.device.backend->connect(request);
  for (int64_t rank : own)
    naming(rank, setUpText, [&] { deviceRanks[rank]->bind(*programs[rank], world.placeOf(rank), *deviceTransport); });
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
