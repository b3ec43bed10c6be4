//===- StepSimulation.cpp - a step, event by event ---*- C++ -*-===//
//
// Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/StepSimulation.h"
#include "runtime/plan/Error.h"
#include "runtime/plan/PlanText.h"

#include <algorithm>
#include <cmath>

using namespace tgpt;
using namespace tgpt::runtime;
using namespace tgpt::runtime::sim;

StepSimulation::StepSimulation(const plan::Plan &plan, const cost::Cluster &cluster, const SimulationOptions &options)
    : plan(plan), cluster(cluster), options(options), actions(plan, cluster), cores(cluster.coresPerNode),
      stages(plan.stages_size()), channels(plan.channels_size()), arrived(plan.groups_size()) {
  result.stages.resize(plan.stages_size());
  for (Stage &stage : stages) {
    int index = indexOf(stage);
    stage.events.resize(actions.eventCount());
    secondsOf(stage).rank = actions.rankOf(index);
    secondsOf(stage).entries.resize(plan.stages(index).schedule_size());
    ready.push_back(index);
  }
  std::reverse(ready.begin(), ready.end()); // taken from the end
  if (cores > 0)
    findNeighbours();
}

/// Which stages' ranks share the node of a stage's first rank.
void StepSimulation::findNeighbours() {
  const RankGrid &grid = actions.getGrid();
  auto perNode = static_cast<int64_t>(cluster.topology.ranksPerNode);
  if (perNode <= 0) // there is one node
    perNode = grid.ranks();
  for (Stage &stage : stages) {
    int64_t first = actions.rankOf(indexOf(stage)) / perNode * perNode;
    std::vector<int> counts(stages.size());
    for (int64_t rank = first; rank < std::min(first + perNode, grid.ranks()); ++rank)
      ++counts[grid.stageOf(rank)];
    for (size_t other = 0; other < counts.size(); ++other)
      if (counts[other] > 0)
        stage.onNode.emplace_back(static_cast<int>(other), counts[other]);
  }
}

const SegmentActions &StepSimulation::segmentOf(const Stage &stage) const {
  int index = indexOf(stage);
  return actions.of(index, static_cast<int>(plan.stages(index).schedule(stage.entry).segment()));
}

SimulatedStep StepSimulation::run() {
  drain();
  while (!pending.empty()) {
    Moment moment = pending.top();
    pending.pop();
    Stage &stage = stages[moment.stage];
    if (!stage.tasks[moment.queue].isRunning || stage.tasks[moment.queue].version != moment.version)
      continue; // its rate has changed since
    now = moment.time;
    finish(stage, moment.queue);
    drain();
  }
  if (!std::all_of(stages.begin(), stages.end(), [this](const Stage &stage) { return isDone(stage); }))
    failStuck();
  addUp();
  return std::move(result);
}

void StepSimulation::drain() {
  while (!ready.empty()) {
    Stage &stage = stages[ready.back()];
    ready.pop_back();
    advance(stage);
  }
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void StepSimulation::advance(Stage &stage) {
  while (!stage.tasks[0].isRunning && !isDone(stage)) {
    const SegmentActions &segment = segmentOf(stage);
    if (stage.index == static_cast<int>(segment.size())) { // an empty segment
      next(stage, 0);
      continue;
    }
    if (!stage.isBlocked)
      stage.reached = now;
    stage.isBlocked = !begin(stage, segment[stage.index]);
    if (stage.isBlocked)
      return;
  }
}

bool StepSimulation::begin(Stage &stage, const Action &action) {
  switch (action.kind) {
  case ActionKind::Compute:
    beginWork(stage);
    beginTask(stage, 0, options.recordsEvents ? action.seconds : action.runSeconds, /*isKernel=*/true);
    return true;
  case ActionKind::Exchange:
    beginWork(stage);
    beginTask(stage, 0, action.seconds, /*isKernel=*/false);
    return true;
  case ActionKind::Start: {
    beginWork(stage);
    int queue = queueOf(action.stream);
    stage.events[action.partner].hasHappened = false;
    stage.flights[queue].push_back({&action, stage.entry, stage.index});
    next(stage, 1);
    if (!stage.tasks[queue].isRunning)
      startFlight(stage, queue);
    return true;
  }
  case ActionKind::Wait: {
    const Event &event = stage.events[action.partner];
    if (!event.hasHappened)
      return false;
    secondsOf(stage).exposed[event.traffic] += now - stage.reached;
    record(stage, stage.entry, stage.index, plan::Instruction::COMPUTE, stage.reached);
    next(stage, 1);
    return true;
  }
  case ActionKind::Send: return beginSend(stage, action);
  case ActionKind::Receive: return beginReceive(stage, action);
  case ActionKind::Meet: return beginMeeting(stage, action);
  }
  return false;
}

bool StepSimulation::beginSend(Stage &stage, const Action &action) {
  Channel &channel = channels[action.partner];
  int64_t depth = plan.channels(action.partner).depth();
  if (depth == 0) { // the receiver does it
    if (!channel.isOffered && !channel.isMoving) {
      channel.isOffered = true;
      ready.push_back(static_cast<int>(plan.channels(action.partner).to_stage()));
    }
    return false;
  }
  if (channel.sent - channel.received >= depth)
    return false;
  secondsOf(stage).idle += now - stage.reached;
  beginWork(stage);
  beginTask(stage, 0, action.seconds, /*isKernel=*/false);
  return true;
}

bool StepSimulation::beginReceive(Stage &stage, const Action &action) {
  Channel &channel = channels[action.partner];
  RankSeconds &seconds = secondsOf(stage);
  if (plan.channels(action.partner).depth() == 0) {
    if (!channel.isOffered)
      return false;
    Stage &sender = stages[plan.channels(action.partner).from_stage()];
    seconds.idle += now - stage.reached;
    secondsOf(sender).idle += now - sender.reached;
    sender.reached = now; // from here on the message is on its way
    channel.isOffered = false;
    channel.isMoving = true;
  } else {
    if (channel.arrived.empty())
      return false;
    Interval flight = channel.arrived.front();
    channel.arrived.pop_front();
    double onItsWay = std::max(0.0, std::min(flight.end, now) - std::max(flight.begin, stage.reached));
    seconds.exposed[Traffic::Pipeline] += onItsWay;
    seconds.idle += now - stage.reached - onItsWay;
  }
  beginWork(stage);
  beginTask(stage, 0, action.seconds, /*isKernel=*/false);
  return true;
}

bool StepSimulation::beginMeeting(Stage &stage, const Action &action) {
  std::vector<int> &present = arrived[action.partner];
  if (!stage.isBlocked)
    present.push_back(indexOf(stage));
  if (present.size() < actions.membersOf(action.partner).size())
    return false;
  for (int member : present) {
    Stage &other = stages[member];
    other.isBlocked = false;
    secondsOf(other).idle += now - other.reached;
    beginWork(other);
    beginTask(other, 0, segmentOf(other)[other.index].seconds, /*isKernel=*/false);
  }
  present.clear();
  return true;
}

/// The entry has begun, now that its first instruction waits no longer.
void StepSimulation::beginWork(Stage &stage) {
  if (!stage.hasBegun)
    secondsOf(stage).entries[stage.entry].begin = now;
  stage.hasBegun = true;
}

void StepSimulation::startFlight(Stage &stage, int queue) {
  if (!stage.flights[queue].empty())
    beginTask(stage, queue, stage.flights[queue].front().action->seconds, /*isKernel=*/false);
}

void StepSimulation::finish(Stage &stage, int queue) {
  Task &task = stage.tasks[queue];
  task.isRunning = false;
  if (queue > 0)
    finishFlight(stage, queue);
  else
    finishInstruction(stage);
  setRates(stage);
  ready.push_back(indexOf(stage));
}

void StepSimulation::finishFlight(Stage &stage, int queue) {
  Flight flight = stage.flights[queue].front();
  stage.flights[queue].pop_front();
  double begin = stage.tasks[queue].begin;
  stage.events[flight.action->partner] = {true, flight.action->traffic};
  secondsOf(stage).beside[flight.action->traffic] += now - begin;
  record(stage, flight.entry, flight.index, flight.action->stream, begin);
  startFlight(stage, queue);
}

void StepSimulation::finishInstruction(Stage &stage) {
  const Action &action = segmentOf(stage)[stage.index];
  const Task &task = stage.tasks[0];
  RankSeconds &seconds = secondsOf(stage);
  record(stage, stage.entry, stage.index, plan::Instruction::COMPUTE, stage.reached);
  if (action.kind == ActionKind::Compute) {
    seconds.computing += now - task.begin;
    seconds.slowedDown += now - task.begin - task.alone;
    return next(stage, options.recordsEvents ? 1 : action.runEnd - stage.index);
  }
  seconds.exposed[action.traffic] += now - task.begin;
  next(stage, 1);
  if (action.kind != ActionKind::Send && action.kind != ActionKind::Receive)
    return;
  Channel &channel = channels[action.partner];
  const plan::Channel &ends = plan.channels(action.partner);
  if (action.kind == ActionKind::Send) {
    ++channel.sent;
    channel.arrived.push_back({task.begin, now});
    ready.push_back(static_cast<int>(ends.to_stage()));
    return;
  }
  ++channel.received;
  channel.isMoving = false;
  Stage &sender = stages[ends.from_stage()];
  if (ends.depth() == 0) {
    secondsOf(sender).exposed[Traffic::Pipeline] += now - sender.reached;
    record(sender, sender.entry, sender.index, plan::Instruction::COMPUTE, sender.reached);
    sender.isBlocked = false;
    beginWork(sender);
    next(sender, 1);
  }
  ready.push_back(indexOf(sender));
}

void StepSimulation::next(Stage &stage, int count) {
  RankSeconds &seconds = secondsOf(stage);
  bool isEmpty = segmentOf(stage).empty();
  beginWork(stage);
  stage.index += count;
  if (!isEmpty && stage.index < static_cast<int>(segmentOf(stage).size()))
    return;
  seconds.entries[stage.entry].end = now;
  seconds.end = now;
  ++stage.entry;
  stage.index = 0;
  stage.hasBegun = false;
}

void StepSimulation::record(const Stage &stage, int entry, int index, plan::Instruction::Stream stream, double begin) {
  if (!options.recordsEvents)
    return;
  InstructionEvent event;
  event.stage = indexOf(stage);
  event.rank = actions.rankOf(event.stage);
  event.step = 1;
  event.entry = entry;
  event.instruction = index;
  event.stream = stream;
  event.beginSeconds = begin;
  event.endSeconds = now;
  result.events.push_back(event);
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

void StepSimulation::beginTask(Stage &stage, int queue, double seconds, bool isKernel) {
  Task &task = stage.tasks[queue];
  task.isRunning = true;
  task.isKernel = isKernel;
  task.remaining = task.alone = seconds;
  task.begin = task.since = now;
  task.rate = 0; // set, with the moment of its end, by setRates
  setRates(stage);
}

double StepSimulation::rateOf(const Stage &stage, int queue) const {
  if (cores > 0) {
    double running = 0;
    for (auto [other, count] : stage.onNode)
      for (const Task &task : stages[other].tasks)
        running += task.isRunning ? count : 0;
    double rate = std::min(1.0, cores / std::max(running, 1.0));
    bool isSlowed = stage.tasks[queue].isKernel && cluster.measured; // exchanges are measured with all ranks at work
    return isSlowed ? rate * cluster.measured->rateOfBusyCores(running, cores) : rate;
  }
  bool communicates = stage.tasks[1].isRunning || stage.tasks[2].isRunning;
  bool isSlowed = queue == 0 && stage.tasks[0].isKernel && communicates;
  return isSlowed ? 1 - cluster.software.overlapSlowdown : 1;
}

void StepSimulation::setRates(Stage &changed) {
  auto set = [this](Stage &stage) {
    for (int queue = 0; queue < queues; ++queue)
      if (stage.tasks[queue].isRunning)
        setRate(stage, queue, rateOf(stage, queue));
  };
  if (cores <= 0)
    return set(changed);
  for (Stage &stage : stages)
    set(stage);
}

void StepSimulation::setRate(Stage &stage, int queue, double rate) {
  Task &task = stage.tasks[queue];
  if (rate == task.rate)
    return;
  task.remaining = std::max(0.0, task.remaining - (now - task.since) * task.rate);
  task.since = now;
  task.rate = rate;
  pending.push({now + task.remaining / rate, moments++, indexOf(stage), queue, ++task.version});
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

static cost::Dtype matrixDtype(const plan::Plan &plan) {
  switch (plan.training().compute_dtype()) {
  case plan::F64: return cost::Dtype::F64;
  case plan::BF16: return cost::Dtype::BF16;
  case plan::F16: return cost::Dtype::F16;
  default: return cost::Dtype::F32;
  }
}

void StepSimulation::addUp() {
  const RankGrid &grid = actions.getGrid();
  const plan::TrainingShape &shape = plan.training();
  double end = 0;
  for (const RankSeconds &stage : result.stages)
    end = std::max(end, stage.end);
  for (RankSeconds &stage : result.stages)
    stage.idle += end - stage.end;
  result.ranks = grid.ranks();
  result.ranksPerStage = grid.ranks() / plan.stages_size();
  result.overheadSeconds = cluster.software.stepSeconds;
  if (cluster.measured)
    result.overheadSeconds += cluster.measured->secondsOfStep(static_cast<double>(actions.getGrid().ranks()));
  result.seconds = end + result.overheadSeconds;
  double devices = static_cast<double>(result.ranks);
  if (cores > 0) {
    double perNode = cluster.topology.ranksPerNode;
    devices = std::min(devices, cores * (perNode > 0 ? std::ceil(devices / perNode) : 1));
  }
  double samples = static_cast<double>(grid.dataParallelRanks() * shape.micro_batches() * shape.micro_batch_samples());
  if (shape.global_batch() > 0)
    samples = static_cast<double>(shape.global_batch());
  if (result.seconds <= 0)
    return;
  result.modelFlopsShare = shape.model_flops_per_step() /
                           (devices * cluster.device.matrixFlopsPerSecond[matrixDtype(plan)] * result.seconds);
  result.tokensPerSecond = samples * static_cast<double>(shape.sequence_length()) / result.seconds;
}

void StepSimulation::failStuck() const {
  std::string places;
  for (const Stage &stage : stages)
    if (!isDone(stage)) {
      const plan::StageProgram &program = plan.stages(indexOf(stage));
      places +=
          (places.empty() ? "  " : "\n  ") +
          instructionPlace(plan, program, static_cast<int>(program.schedule(stage.entry).segment()), stage.index) +
          " in entry " + std::to_string(stage.entry);
    }
  throw Error("the step never ends: stages wait for each other", places);
}
