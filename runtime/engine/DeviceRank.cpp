//===- DeviceRank.cpp - a rank whose arena is device memory -----*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is set up once: memory, streams, events, and how segments are cut for capture.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/DeviceRank.h"
#include "runtime/engine/PlanViews.h"
#include "runtime/plan/Error.h"

#include <algorithm>

using namespace tgpt;
using namespace tgpt::runtime;

static constexpr size_t grainBytes = 256;
static constexpr size_t mostMetricBytes = 8;

static size_t roundedUp(size_t bytes) {
  return (bytes + grainBytes - 1) / grainBytes * grainBytes;
}

static std::string mebibytes(size_t bytes) {
  return std::to_string((bytes + 1048575) / 1048576) + " MiB";
}

static void checkFit(DeviceRuntime &device, int number) {
  if (std::string why = device.whyUnfit(number); !why.empty())
    throw Error("device " + std::to_string(number) + " (" + device.describe(number) +
                ") cannot run the kernels: " + why);
}

/// Takes device memory, or says what it would have been for.
static DeviceBlock take(DeviceRuntime &device, int number, size_t bytes, const char *what) {
  if (size_t free = device.freeBytes(); bytes > free)
    throw Error("its " + std::string(what) + " takes " + mebibytes(bytes) + " of device memory, but device " +
                std::to_string(number) + " (" + device.describe(number) + ") has " + mebibytes(free) + " free");
  return DeviceBlock(device, DeviceBlock::Where::Device, bytes);
}

DeviceRank::DeviceRank(const DeviceRankRequest &request)
    : request(request), backend(*request.options.backend), device(*backend.device),
      stage(request.plan.stages(static_cast<int>(request.grid.stageOf(request.rank)))), number(request.device) {
  checkFit(device, number);
  device.select(number);
  memory = take(device, number, static_cast<size_t>(stage.arena_bytes()), "arena");
  compute = OwnedStream(device, device.createStream("compute"));
  passed = OwnedEvent(device, device.createEvent());
}

DeviceRank::~DeviceRank() = default;

void DeviceRank::bind(RankProgram &boundProgram, SchedulePlace &boundPlace, DeviceTransport &boundTransport) {
  device.select(number);
  program = &boundProgram;
  place = &boundPlace;
  transport = &boundTransport;
  ends = &transport->of(request.rank);
  if (request.startsApart && program->mostStarted() > 0) {
    tensor = OwnedStream(device, device.createStream("tensor"));
    data = OwnedStream(device, device.createStream("data"));
  }
  countTakers();
  for (const BoundEntry &entry : program->entries()) {
    if (!segments.count(entry.segment))
      addSegment(*entry.segment);
    entries.push_back({&segments.at(entry.segment), entry.microBatch, 0, OwnedEvent(device, device.createEvent())});
  }
  layOutInputs();
  addMailboxes();
  takeBeside();
}

static bool isExchangeBetweenStages(const BoundInstruction &instruction) {
  return instruction.source->kind() == plan::Instruction::SEND || instruction.source->kind() == plan::Instruction::RECV;
}

static std::vector<DeviceAccess> accessesOf(std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
  std::vector<DeviceAccess> list;
  for (const TensorView &input : inputs)
    list.push_back({input.data, input.bytes(), false});
  for (const TensorView &output : outputs)
    list.push_back({output.data, output.bytes(), true});
  return list;
}

/// The part of the arena that the plan gives the call; empty where it gives none.
static std::span<std::byte> workspaceOf(const BoundInstruction &instruction) {
  if (instruction.workspace.empty())
    return {};
  return {instruction.workspace[0].as<std::byte>(), instruction.workspace[0].bytes()};
}

/// That of one of the calls, which run on one stream.
static std::span<std::byte> workspaceOf(const std::vector<BoundInstruction> &all, const FusedCalls &fusion) {
  std::span<std::byte> workspace = workspaceOf(all[fusion.first]);
  for (size_t other : fusion.others)
    workspace = workspace.empty() ? workspaceOf(all[other]) : workspace;
  return workspace;
}

void DeviceRank::addSegment(const BoundSegment &bound) {
  DeviceSegment &segment = segments[&bound];
  segment.bound = &bound;
  for (const BoundInstruction &instruction : bound.instructions) {
    segment.workspaces.push_back(workspaceOf(instruction));
    segment.accesses.push_back(accessesOf(instruction.call.inputs, instruction.call.outputs));
    if (instruction.exchange && tensor)
      segment.flights.push_back({OwnedEvent(device, device.createEvent()), OwnedEvent(device, device.createEvent())});
    bool isInput = instruction.source->kind() == plan::Instruction::INPUT;
    segment.inputs.push_back(isInput ? segment.inputBytes : noInput);
    if (isInput)
      segment.inputBytes += roundedUp(instruction.call.outputs[0].bytes());
  }
  addFusions(segment);
  for (size_t i = 0; i < segment.workspaces.size(); ++i)
    if (std::span<std::byte> workspace = segment.workspaces[i]; !workspace.empty())
      segment.accesses[i].push_back({workspace.data(), workspace.size(), true});
  cutIntoPieces(segment);
}

void DeviceRank::countTakers() {
  for (const plan::Segment &segment : stage.segments())
    for (const plan::Instruction &instruction : segment.instructions())
      if (instruction.values_size() >= instruction.inputs_size())
        for (int i = 0; i < instruction.inputs_size(); ++i)
          ++takers[instruction.values(i)];
}

/// Of each output, by the numbers of values; empty where a plan has none that were checked.
std::vector<bool> DeviceRank::takenOnce(const BoundInstruction &instruction) const {
  const plan::Instruction &source = *instruction.source;
  std::vector<bool> once;
  bool isChecked = request.plan.layouts_size() > 0; // CheckLayouts: every instruction says what it takes
  if (isChecked && source.values_size() == source.inputs_size() + source.outputs_size())
    for (int i = source.inputs_size(); i < source.values_size(); ++i) {
      auto found = takers.find(source.values(i));
      once.push_back(source.values(i) != 0 && found != takers.end() && found->second == 1);
    }
  return once;
}

/// Sends and receives are no calls, but they are between some: all that they use counts. Calls that together need a
/// larger workspace than one of them has stay apart.
void DeviceRank::addFusions(DeviceSegment &segment) {
  const std::vector<BoundInstruction> &all = segment.bound->instructions;
  segment.fusedAt.resize(all.size());
  segment.isLeftOut.resize(all.size());
  if (!backend.fuse)
    return;
  std::vector<SegmentCall> calls;
  for (const BoundInstruction &instruction : all) {
    bool isKernel = instruction.source->kind() == plan::Instruction::KERNEL;
    calls.push_back({isKernel ? std::string_view(instruction.source->opcode()) : std::string_view(), instruction.call,
                     takenOnce(instruction)});
  }
  segment.fusions = backend.fuse(calls);
  std::erase_if(segment.fusions,
                [&](const FusedCalls &fusion) { return fusion.workspaceBytes > workspaceOf(all, fusion).size(); });
  for (const FusedCalls &fusion : segment.fusions) {
    segment.workspaces[fusion.first] = workspaceOf(all, fusion);
    segment.fusedAt[fusion.first] = &fusion;
    for (size_t other : fusion.others) {
      segment.workspaces[other] = {};
      segment.isLeftOut[other] = true;
    }
    FusedCount &count = fused[fusion.name];
    ++count.calls;
    count.instructions += 1 + static_cast<int64_t>(fusion.others.size());
    segment.accesses[fusion.first] = accessesOf(fusion.inputs, fusion.outputs);
  }
}

/// Where a message is exchanged while a started collective is in flight, nothing of the segment is captured: its two
/// ends would be in different captures.
void DeviceRank::cutIntoPieces(DeviceSegment &segment) const {
  const std::vector<BoundInstruction> &all = segment.bound->instructions;
  int inFlight = 0, begin = 0, count = static_cast<int>(all.size());
  bool isCapturable = true;
  auto add = [&](int from, int to, bool capturable) {
    if (from < to)
      segment.pieces.push_back({from, to, capturable, {}});
  };
  for (int i = 0; i < count; ++i) {
    inFlight += all[i].exchange ? 1 : 0;
    inFlight -= all[i].source->kind() == plan::Instruction::WAIT ? 1 : 0;
    if (!isExchangeBetweenStages(all[i]))
      continue;
    isCapturable = isCapturable && inFlight == 0;
    add(begin, i, true);
    add(i, i + 1, false);
    begin = i + 1;
  }
  add(begin, count, true);
  if (!isCapturable)
    segment.pieces.clear(), add(0, count, false);
}

/// Of a segment once on the device, since its entries follow each other; of every entry in pinned memory.
void DeviceRank::layOutInputs() {
  size_t onDevice = 0, pinned = 0;
  for (auto &[bound, segment] : segments) {
    segment.inputBase = onDevice;
    onDevice += segment.inputBytes;
  }
  for (Entry &entry : entries) {
    entry.inputBase = pinned;
    pinned += entry.segment->inputBytes;
  }
  inputs = take(device, number, std::max<size_t>(onDevice, 1), "block of inputs");
  fault = DeviceBlock(device, DeviceBlock::Where::Device, sizeof(int32_t));
  pinnedInputs = DeviceBlock(device, DeviceBlock::Where::Host, std::max<size_t>(pinned, 1));
  pinnedFaults = DeviceBlock(device, DeviceBlock::Where::Host, (entries.size() + 1) * sizeof(int32_t));
  int last = -1;
  for (const auto &[bound, segment] : segments)
    for (const BoundInstruction &instruction : bound->instructions)
      if (instruction.source->kind() == plan::Instruction::OUTPUT)
        last = std::max(last, instruction.metric);
  metrics.resize(static_cast<size_t>(last + 1));
  pinnedMetrics = DeviceBlock(device, DeviceBlock::Where::Host, (metrics.size() + 1) * mostMetricBytes);
  for (const auto &[bound, segment] : segments)
    for (const BoundInstruction &instruction : bound->instructions)
      if (instruction.source->kind() == plan::Instruction::OUTPUT) {
        TensorView &view = metrics[static_cast<size_t>(instruction.metric)].view;
        view = instruction.call.inputs[0];
        view.data = pinnedMetrics.base() + static_cast<size_t>(instruction.metric) * mostMetricBytes;
      }
}

void DeviceRank::addMailboxes() {
  size_t channels = static_cast<size_t>(request.plan.channels_size());
  mailboxes.resize(channels);
  ownMessages.resize(channels);
  sentToItself.resize(channels);
  receivedFromItself.resize(channels);
  std::map<uint32_t, std::pair<const BoundInstruction *, int64_t>> arrivals; // a RECV, and how many in a step
  for (const Entry &entry : entries)
    for (const BoundInstruction &instruction : entry.segment->bound->instructions)
      if (instruction.source->kind() == plan::Instruction::RECV) {
        auto &[receive, count] = arrivals[instruction.source->channel()];
        receive = &instruction;
        ++count;
      }
  for (const auto &[channel, arrival] : arrivals) {
    const plan::Channel &planned = request.plan.channels(static_cast<int>(channel));
    std::span<const TensorView> buffers = arrival.first->messages;
    if (planned.from_stage() == planned.to_stage())
      ownMessages[channel] = {buffers.begin(), buffers.end()};
    else if (!buffers.empty())
      mailboxes[channel] = std::make_unique<DeviceMailbox>(device, *ends->receivers[channel], buffers, arrival.second,
                                                           "channel " + std::to_string(channel));
  }
}

/// What libraries need at most, where the workspace of their call has less.
void DeviceRank::takeBeside() {
  auto forEachLack = [&](const auto &body) {
    for (auto &[bound, segment] : segments)
      for (size_t i = 0; i < bound->instructions.size(); ++i)
        if (size_t bytes = bound->instructions[i].libraryBytes; bytes > segment.workspaces[i].size())
          body(segment.accesses[i], bytes);
  };
  size_t most = 0;
  forEachLack([&](const std::vector<DeviceAccess> &, size_t bytes) { most = std::max(most, bytes); });
  if (most == 0)
    return;
  beside = take(device, number, roundedUp(most), "workspace of libraries");
  forEachLack([&](std::vector<DeviceAccess> &accesses, size_t bytes) {
    accesses.push_back({beside.base(), bytes, true});
  });
}

/// Calls body(offset, bytes) for what outlives a step.
static void forEachPersistentRegion(const plan::StageProgram &stage, const auto &body) {
  for (const plan::Region &region : stage.regions())
    if (isPersistent(region) && region.slot_bytes() > 0)
      body(static_cast<size_t>(region.offset_bytes()), static_cast<size_t>(region.slot_bytes()));
}

void DeviceRank::upload(const std::byte *mirror) {
  device.select(number);
  forEachPersistentRegion(
      stage, [&](size_t offset, size_t bytes) { device.copyNow(arena() + offset, mirror + offset, bytes); });
}

void DeviceRank::download(std::byte *mirror) {
  device.select(number);
  forEachPersistentRegion(
      stage, [&](size_t offset, size_t bytes) { device.copyNow(mirror + offset, arena() + offset, bytes); });
}

std::string DeviceRank::memoryText() const {
  return std::to_string(memory.bytes()) + " bytes of arena, " + std::to_string(inputs.bytes()) + " of inputs" +
         (beside.bytes() ? ", " + std::to_string(beside.bytes()) + " beside for libraries" : "");
}

void DeviceRank::settle() noexcept {
  if (isCapturing)
    device.abandonCapture(compute);
  isCapturing = false;
  for (DeviceStream stream : {DeviceStream(compute), DeviceStream(tensor), DeviceStream(data)})
    if (stream.handle)
      device.drain(stream);
  for (const std::unique_ptr<DeviceMailbox> &mailbox : mailboxes)
    if (mailbox)
      device.drain(mailbox->stream());
}
