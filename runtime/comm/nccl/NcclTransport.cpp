//===- NcclTransport.cpp - all communicators of a job by NCCL ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks of one process are set up by a thread each: every call of a set-up waits for the
// other ranks.
//
//===----------------------------------------------------------------------===//
#include "runtime/comm/nccl/NcclTransport.h"
#include "runtime/comm/SharedMemoryWorld.h"
#include "runtime/launch/ProcessTeam.h"
#include "runtime/plan/Error.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <set>
#include <thread>

using namespace tgpt;
using namespace tgpt::runtime;

using plan::Instruction;

/// Thread blocks of a channel's kernels: a receive that waits for its message keeps them busy. Some 20 GB/s each by
/// NVLink; an estimate, no GPU has run this.
static constexpr int channelBlocks = 4;

/// For a first exchange over all communicators.
static constexpr auto setUpPatience = std::chrono::seconds(300);

namespace {
/// The communicators that a plan uses, the same seen from every rank.
struct Uses {
  Uses(const plan::Plan &plan, const RankGrid &grid);

  std::set<uint32_t> groups, startedGroups; // of more than one rank
};

/// One rank's end of everything.
struct RankEnds {
  std::unique_ptr<NcclHandle> world;
  std::vector<std::unique_ptr<NcclGroup>> groups;
  std::vector<std::unique_ptr<NcclMessenger>> messengers;
  std::vector<NcclHandle *> handles; // all of them
  DeviceEndpoints ends;
};

class Transport final : public DeviceTransport {
public:
  Transport(const DeviceTransportRequest &request, NcclApi *library);
  ~Transport() override;

  const DeviceEndpoints &of(int64_t rank) const override { return ranks[rank].ends; }
  void check(int64_t rank) override;
  void abort() noexcept override;

private:
  bool isStopped() const;
  NcclUniqueId agreeOnId();
  void setUp(int64_t rank, int device, const NcclUniqueId &id);
  void addGroups(int64_t rank, const std::set<uint32_t> &used, const char *how,
                 std::vector<DeviceCommunicator *> DeviceEndpoints::*slots);
  void addChannels(int64_t rank);
  void useOnce(int64_t rank);
  void use(RankEnds &own, DeviceStream stream, std::byte *word);
  void await(int64_t rank, DeviceStream stream, DeviceEvent event);

  const plan::Plan &plan;
  const RankGrid &grid;
  DeviceRuntime &device;
  SharedMemoryWorld &world;
  ProcessTeam *processes;
  NcclApi *api; // null: one rank
  Uses uses;
  std::atomic<bool> isAborted{false};
  std::vector<RankEnds> ranks; // by rank; of other processes empty
};
} // namespace

Uses::Uses(const plan::Plan &plan, const RankGrid &grid) {
  for (const plan::StageProgram &stage : plan.stages())
    for (const plan::Segment &segment : stage.segments())
      for (const Instruction &instruction : segment.instructions()) {
        bool isCollective =
            instruction.kind() >= Instruction::ALL_REDUCE && instruction.kind() <= Instruction::ALL_TO_ALL;
        if (isCollective && groupSize(grid, plan.groups(static_cast<int>(instruction.group()))) > 1)
          (instruction.event() == 0 ? groups : startedGroups).insert(instruction.group());
      }
}

/// Runs body(i) on a thread each and throws what the first that failed threw; an error rather than JobAborted, which
/// is what the others throw then.
static void onThreads(size_t count, const std::function<void(size_t)> &body) {
  std::vector<std::exception_ptr> thrown(count);
  std::vector<std::thread> threads;
  std::exception_ptr first, aborted;
  for (size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      try {
        body(i);
      } catch (...) {
        thrown[i] = std::current_exception();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::exception_ptr &error : thrown)
    try {
      if (error)
        std::rethrow_exception(error);
    } catch (const JobAborted &) {
      aborted = error;
    } catch (...) {
      first = first ? first : error;
    }
  if (first || aborted)
    std::rethrow_exception(first ? first : aborted);
}

Transport::Transport(const DeviceTransportRequest &request, NcclApi *library)
    : plan(request.plan), grid(request.grid), device(request.device), world(request.world),
      processes(request.processes), api(library), uses(plan, grid), ranks(grid.ranks()) {
  checkNcclPlan(plan, grid);
  if (grid.ranks() == 1) {
    setUp(0, request.devices.front(), {});
    return;
  }
  NcclUniqueId id = agreeOnId();
  onThreads(request.ranks.size(), [&](size_t i) {
    try {
      setUp(request.ranks[i], request.devices[i], id);
    } catch (const Error &error) {
      isAborted.store(true); // the others need not wait
      throw Error(grid.describe(request.ranks[i]) + ", setting up its communicators: " + error.what());
    } catch (...) {
      isAborted.store(true);
      throw;
    }
  });
}

/// What is to be destroyed on all ranks is destroyed together.
Transport::~Transport() {
  std::vector<RankEnds *> own;
  for (RankEnds &rank : ranks)
    if (rank.world)
      own.push_back(&rank);
  onThreads(own.size(), [&](size_t i) { *own[i] = RankEnds(); });
}

bool Transport::isStopped() const {
  return isAborted.load() || world.aborted() || (processes && processes->ended());
}

NcclUniqueId Transport::agreeOnId() {
  NcclUniqueId id{};
  bool isFirst = !processes || processes->rank() == 0;
  std::string problem;
  if (NcclResult result = isFirst ? api->uniqueId(&id) : NcclResult::Success; result != NcclResult::Success)
    problem = "ncclGetUniqueId says " + std::string(tgpt::runtime::name(result)) + " (" + api->lastError(nullptr) + ")";
  if (processes) {
    std::string bytes = processes->gather(problem.empty() ? std::string(id.bytes, sizeof(id.bytes)) : "").front();
    if (problem.empty() && bytes.size() != sizeof(id.bytes))
      problem = "rank 0 has no NCCL id";
    std::memcpy(id.bytes, bytes.data(), std::min(bytes.size(), sizeof(id.bytes)));
  }
  if (!problem.empty())
    throw Error(problem);
  return id;
}

void Transport::setUp(int64_t rank, int deviceNumber, const NcclUniqueId &id) {
  device.select(deviceNumber);
  RankEnds &own = ranks[rank];
  own.ends.groups.resize(plan.groups_size());
  own.ends.startedGroups.resize(plan.groups_size());
  own.ends.senders.resize(plan.channels_size());
  own.ends.receivers.resize(plan.channels_size());
  if (grid.ranks() > 1) {
    NcclCaller caller{*api, [this] { return isStopped(); }};
    own.world = std::make_unique<NcclHandle>(caller, "all ranks", id, grid.ranks(), rank);
    own.handles.push_back(own.world.get());
  }
  addGroups(rank, uses.groups, "", &DeviceEndpoints::groups);
  addGroups(rank, uses.startedGroups, ", started", &DeviceEndpoints::startedGroups);
  addChannels(rank);
  if (grid.ranks() > 1)
    useOnce(rank);
}

static std::string nameOf(const plan::Plan &plan, uint32_t number, const char *how) {
  std::string axes;
  for (const std::string &axis : plan.groups(static_cast<int>(number)).axes())
    axes += (axes.empty() ? "" : ", ") + axis;
  return "group " + std::to_string(number) + " (" + axes + ")" + how;
}

void Transport::addGroups(int64_t rank, const std::set<uint32_t> &used, const char *how,
                          std::vector<DeviceCommunicator *> DeviceEndpoints::*slots) {
  RankEnds &own = ranks[rank];
  for (uint32_t g = 0; g < static_cast<uint32_t>(plan.groups_size()); ++g) {
    const plan::Group &group = plan.groups(static_cast<int>(g));
    bool isIn = group.stages_size() == 0 ||
                std::find(group.stages().begin(), group.stages().end(), grid.stageOf(rank)) != group.stages().end();
    std::unique_ptr<NcclHandle> handle;
    if (used.count(g)) {
      std::vector<int64_t> members = isIn ? grid.groupMembers(group, rank) : std::vector<int64_t>();
      int64_t color = isIn ? members.front() : ncclNoColor;
      int64_t key = std::find(members.begin(), members.end(), rank) - members.begin();
      handle = own.world->split(nameOf(plan, g, how), color, key);
    } else if (groupSize(grid, group) > 1) {
      continue; // nothing uses it so
    }
    if (!isIn)
      continue;
    if (handle)
      own.handles.push_back(handle.get());
    own.groups.push_back(std::make_unique<NcclGroup>(std::move(handle), device));
    (own.ends.*slots)[g] = own.groups.back().get();
  }
}

/// One split a channel for all pairs of ranks of its stages.
void Transport::addChannels(int64_t rank) {
  RankEnds &own = ranks[rank];
  for (int c = 0; c < plan.channels_size(); ++c) {
    const plan::Channel &channel = plan.channels(c);
    if (channel.from_stage() == channel.to_stage())
      continue; // a rank's copies to itself
    bool sends = grid.stageOf(rank) == channel.from_stage(), receives = grid.stageOf(rank) == channel.to_stage();
    int64_t color = sends || receives ? grid.sameButStage(rank, channel.from_stage()) : ncclNoColor;
    auto handle = own.world->split("channel " + std::to_string(c), color, receives ? 1 : 0, channelBlocks);
    if (!handle)
      continue;
    own.handles.push_back(handle.get());
    own.messengers.push_back(std::make_unique<NcclMessenger>(std::move(handle), device));
    (sends ? own.ends.senders : own.ends.receivers)[c] = own.messengers.back().get();
  }
}

/// A word through every communicator, in the same order on all ranks.
void Transport::use(RankEnds &own, DeviceStream stream, std::byte *word) {
  TensorView view;
  view.data = word;
  view.dtype = DType::I32;
  for (const std::unique_ptr<NcclGroup> &group : own.groups)
    if (group->communicator())
      group->allReduce(stream, view, view, Reduction::Max);
  for (const std::unique_ptr<NcclMessenger> &messenger : own.messengers)
    if (messenger->communicator()->index() == 0)
      messenger->send(stream, view);
    else
      messenger->receive(stream, view);
}

/// As a synchronize() that ends when a peer does not come.
void Transport::await(int64_t rank, DeviceStream stream, DeviceEvent event) {
  device.record(event, stream);
  auto begin = std::chrono::steady_clock::now();
  while (!device.isDone(event)) {
    check(rank);
    if (isStopped())
      throw JobAborted();
    if (std::chrono::steady_clock::now() - begin > setUpPatience)
      throw Error("it cannot exchange a word with all others within " + std::to_string(setUpPatience.count()) +
                  " s (NCCL_DEBUG=INFO says more)");
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Transport::useOnce(int64_t rank) {
  DeviceStream stream = device.createStream("communicators");
  DeviceEvent event = device.createEvent();
  auto *word = static_cast<std::byte *>(device.allocate(sizeof(int32_t)));
  std::exception_ptr error;
  try {
    device.fill(stream, word, 0, sizeof(int32_t));
    use(ranks[rank], stream, word);
    await(rank, stream, event);
  } catch (...) {
    error = std::current_exception();
  }
  if (error) {
    for (NcclHandle *handle : ranks[rank].handles)
      handle->abort();
    device.drain(stream);
  }
  device.destroy(event);
  device.destroy(stream);
  device.release(word);
  if (error)
    std::rethrow_exception(error);
}

void Transport::check(int64_t rank) {
  for (NcclHandle *handle : ranks[rank].handles)
    if (std::optional<std::string> error = handle->asyncError())
      throw Error(*error);
}

void Transport::abort() noexcept {
  isAborted.store(true);
  for (RankEnds &rank : ranks)
    for (NcclHandle *handle : rank.handles)
      handle->abort();
}

std::unique_ptr<DeviceTransport> tgpt::runtime::makeNcclTransport(const DeviceTransportRequest &request,
                                                                  NcclApi *library) {
  return std::make_unique<Transport>(request, library);
}
